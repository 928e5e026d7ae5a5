"""Addresses and keys: where they are read from, where they are sent, and how models are asked there."""

import asyncio
import json
from importlib.util import find_spec

import pytest
from pydantic_ai.exceptions import UserError

from sgi.kernel.environment import Service
from sgi.kernel.errors import JudgeMalformedError, JudgeRejectedError, MissingExtraError, UsageError
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.llm.calls import Finish
from sgi.llm.chat import _encodable
from sgi.llm.judge_spec import JudgeSpec, ModelName
from sgi.llm.open_judge import open_chat, open_judge
from sgi.store.cache import MemoryCache
from support.judge_server import JudgeServer, ServerReply, call, error_reply

pytestmark = pytest.mark.usefixtures("no_remote_settings")


def complete(model, **settings):
    async def work():
        async with open_chat(JudgeSpec(model=model, timeout=20, **settings)) as chat:
            return await chat.complete(call()), chat.fingerprint

    return asyncio.run(work())


def service(text):
    name = ModelName.of(text)
    return Service.of(name.kind, name.url)


def test_azure_is_addressed_by_deployment_version_and_its_own_header(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-1")
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT"):
        service("azure:m")
    with JudgeServer(replies=ServerReply("{}"), key="azure-key-1") as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1") + "/")
        _, fingerprint = complete("azure:my-gpt")
        monkeypatch.setenv("AZURE_OPENAI_API_VERSION", "2025-01-01-preview")
        complete("azure:my-gpt")
    paths = [request.path for request in server.requests]
    assert paths == [
        f"/openai/deployments/my-gpt/chat/completions?api-version={version}"
        for version in ("2024-10-21", "2025-01-01-preview")
    ]
    assert fingerprint.startswith("azure:my-gpt@127.0.0.1:")
    assert server.requests[0].headers["api-key"] == "azure-key-1"
    assert "authorization" not in server.requests[0].headers
    assert server.requests[0].body["response_format"]["type"] == "json_schema"


def test_a_content_filter_of_azure_is_told_as_one(monkeypatch):
    fault = error_reply(400, "The response was filtered due to the prompt", "content_filter")
    with JudgeServer(replies=fault) as server:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-1")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
        completion, _ = complete("azure:my-gpt")
    assert completion.finish == Finish.FILTER


def test_the_environment_may_name_another_openai(monkeypatch):
    with JudgeServer(key="sk-1") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        _, fingerprint = complete("openai:m")
    assert fingerprint == f"openai:m@{server.url[7:-3]},temperature=0.0,seed=0,max_tokens=4096"


def test_ollama_is_found_by_its_variable(monkeypatch):
    assert service("ollama:m").address == "localhost:11434"
    with JudgeServer() as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        completion, fingerprint = complete("ollama:llama3.2")
    assert completion.text == "{}"
    assert fingerprint.startswith("ollama:llama3.2@127.0.0.1:")
    assert server.requests[0].body["max_tokens"] == 4096


def test_a_model_without_schemas_is_asked_by_a_tool_call(monkeypatch):
    said = {"name": "Reply", "arguments": '{"a": 1}'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": said}],
    }
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    with JudgeServer(replies=ServerReply(body=json.dumps(answer).encode())) as server:
        completion, _ = complete(f"ollama:qwen3-cloud@{server.url}")
    assert completion.text == '{"a": 1}'
    (request,) = server.requests
    assert [tool["function"]["name"] for tool in request.body["tools"]] == ["Reply"]
    assert "response_format" not in request.body


def test_text_that_is_no_unicode_is_marked_or_refused():
    assert _encodable("\ud800x\U0001f98a") == "\ufffdx\U0001f98a"
    says = ServerReply("\ud800x")  # JSON writes half a pair as it is
    with (
        JudgeServer(replies=says) as server,
        pytest.raises(JudgeMalformedError, match="other than a chat completion"),
    ):
        complete(f"openai:m@{server.url}")


def test_half_a_pair_in_what_is_judged_is_sent_as_a_mark():
    async def work():
        async with open_judge(JudgeSpec(model=f"openai:m@{server.url}", timeout=20), MemoryCache()) as judge:
            prompt = Prompt("test.any", "Reply.", (Example({"text": "x"}, Plain(marks=(1.0,))),))
            one, other = prompt.about(text="a\ud800\U0001f98ab"), prompt.about(text="a\ud801\U0001f98ab")
            await judge.ask(one, Plain)
            await judge.ask(one, Plain)
            await judge.ask(other, Plain)
            return judge.usage.calls, judge.usage.cached

    with JudgeServer(replies=ServerReply('{"marks": [0.5]}')) as server:
        assert asyncio.run(work()) == (2, 1)
    assert "a\ufffd\U0001f98ab" in server.requests[0].text


def test_a_redirect_does_not_take_the_key_along(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with JudgeServer() as other:
        away = ServerReply(status=307, body=b"", headers={"Location": f"{other.url}/chat/completions"})
        expectation = pytest.raises(JudgeRejectedError, match=r"answered with a redirect \(307\)")
        with JudgeServer(replies=away) as server, expectation:
            complete(f"openai:m@{server.url}")
    assert not other.requests


@pytest.mark.parametrize(("kind", "module"), [("anthropic", "anthropic"), ("google", "google.genai")])
def test_a_client_that_is_not_installed_is_named_with_its_line(monkeypatch, kind, module):
    monkeypatch.setattr(
        "sgi.llm.open_judge.find_spec", lambda name: None if name == module else find_spec(name)
    )
    with pytest.raises(UsageError, match=rf'pip install "pydantic-ai-slim\[{kind}\]"'):
        complete(f"{kind}:m")


def test_without_the_extra_its_line_is_named(monkeypatch):
    monkeypatch.setattr("sgi.llm.open_judge.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[judge\]"):
        complete("openai:m@http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("kind", "name", "url"),
    [
        ("anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com"),
        ("google", "GOOGLE_API_KEY", "https://generativelanguage.googleapis.com"),
        ("openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    ],
)
def test_other_services_have_keys_of_their_own(monkeypatch, kind, name, url):
    with pytest.raises(UsageError, match=name):
        service(f"{kind}:m")
    monkeypatch.setenv(name, "key-1")
    assert service(f"{kind}:m") == Service(kind, url, "key-1", name)


@pytest.mark.parametrize("model", ["openai:m", "azure:m", "ollama:m", "openai:m@http://127.0.0.1:1/one/v1"])
def test_a_fingerprint_is_known_without_a_key(monkeypatch, model):
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:2")
    spec = JudgeSpec(model=model, temperature=None, seed=4)
    known = spec.fingerprint()
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(name, "sk-1")

    async def opened():
        async with open_chat(spec) as chat:
            return chat.fingerprint

    assert asyncio.run(opened()) == known


def test_no_fingerprint_without_an_address(monkeypatch):
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT"):
        JudgeSpec.of("azure:m").fingerprint()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://u:secret-1@host/v1")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL") as caught:
        JudgeSpec.of("openai:m").fingerprint()
    assert "secret-1" not in str(caught.value)


def asks(schema, answer):
    """What a judge at a server that says this makes of an inquiry, and what was sent."""

    async def work(url):
        async with open_judge(JudgeSpec(model=f"openai:gpt-4o@{url}", timeout=20), MemoryCache()) as judge:
            prompt = Prompt(
                "test.any", "Reply.", (Example({"text": "x"}, schema.model_validate_json(answer)),)
            )
            return await judge.ask(prompt.about(text="y"), schema)

    with JudgeServer(replies=ServerReply(answer)) as server:
        reply = asyncio.run(work(server.url))
    return reply, server.requests[0].body["response_format"]["json_schema"]


class Pair(ReplyModel):
    marks: tuple[float, float]


class Plain(ReplyModel):
    marks: tuple[float, ...]


def test_a_schema_that_strict_mode_cannot_take_goes_without_it():
    reply, request = asks(Pair, '{"marks": [0.5, 1.0]}')
    assert reply == Pair(marks=(0.5, 1.0))
    assert not request.get("strict")
    assert request["schema"]["properties"]["marks"]["prefixItems"]
    _, request = asks(Plain, '{"marks": [0.5, 1.0]}')
    assert request["strict"] is True


def test_what_the_model_layer_cannot_send_is_an_error_of_use(monkeypatch):
    key = "sk-secret-0123"
    monkeypatch.setenv("OPENAI_API_KEY", key)

    async def refusing(*_, **__):
        raise UserError(f"The model layer takes no such thing: {key}")

    monkeypatch.setattr("sgi.llm.chat.model_request", refusing)
    with pytest.raises(UsageError, match=r"openai:m does not support Reply: The model layer") as caught:
        complete("openai:m@http://127.0.0.1:1/v1")
    assert key not in str(caught.value)
    assert caught.value.__cause__ is None
