"""A part of a request that a service refuses is left out from then on, and said once."""

import asyncio
import json
import logging
import warnings

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from sgi.cli.option_values import judge_settings
from sgi.kernel.environment import Service
from sgi.kernel.errors import JudgeError
from sgi.kernel.prompts import Verdicts
from sgi.llm.chat import ModelChat
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_judge
from sgi.store.cache import MemoryCache
from support.judge_server import (
    PROMPT,
    JudgeServer,
    ServerReply,
    Supported,
    ask,
    call,
    error_reply,
    verdicts_reply,
)

pytestmark = pytest.mark.usefixtures("no_remote_settings")
ONE = ServerReply(verdicts_reply("y"))


def refusing(fault, *names, only=None):
    """A server that answers requests with these parameters with an error."""

    def replies(request):
        sent = [name for name in names if name in request.body]
        kind = request.body.get("response_format", {}).get("type")
        return fault if sent and (only is None or kind == only) else ONE

    return replies


def body(status, value):
    return ServerReply(status=status, body=json.dumps(value).encode())


def judge_three(server, **settings):
    """Judge three claims at once, and then one more."""

    async def work():
        spec = JudgeSpec(**{"model": f"openai:m@{server.url}", "timeout": 20, **settings})
        async with open_judge(spec, MemoryCache()) as judge:
            asked = [judge.ask(PROMPT.about(claims=(claim,)), Verdicts[Supported]) for claim in "abc"]
            await asyncio.gather(*asked)
            await judge.ask(PROMPT.about(claims=("d",)), Verdicts[Supported])
            return judge.usage

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return asyncio.run(work())


EXTRA = {
    "detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
}
RAW = {"message": "Provider returned error", "metadata": {"raw": "temperature is deprecated for this model"}}


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (
            error_reply(400, "'temperature' does not support 0. Only the default (1) is supported."),
            "temperature",
        ),
        (error_reply(400, "invalid temperature: only 1 is allowed for this model"), "temperature"),
        (error_reply(400, "UnsupportedParamsError: m doesn't support temperature=0.0"), "temperature"),
        (body(400, {"error": {"message": "Bad value", "param": "temperature"}}), "temperature"),
        (body(400, {"error": RAW}), "temperature"),
        (body(200, {"error": {**RAW, "code": 400}}), "temperature"),
        (body(422, EXTRA), "seed"),
        (body(400, {"object": "error", "message": "Unknown field: seed"}), "seed"),
        (error_reply(500, "Unsupported parameter: seed"), "seed"),
        (
            error_reply(422, "unknown field `seed`, expected one of `model`, `max_tokens`, `temperature`"),
            "seed",
        ),
    ],
)
def test_a_refused_sampling_parameter_is_omitted_and_said_once(fault, name, caplog):
    with caplog.at_level(logging.WARNING), JudgeServer(replies=refusing(fault, name)) as server:
        usage = judge_three(server)
    assert (usage.calls, usage.retries, usage.unanswered) == (4, 0, 0)
    (record,) = caplog.records
    assert record.getMessage().endswith(f"so from now on SGI omits {name}, as it does with {name}=none.")
    last = server.requests[-1].body
    assert ({"temperature", "seed", "max_tokens"} - {name}) <= last.keys()
    assert sum(name in request.body for request in server.requests) <= 3


def test_the_other_name_of_the_token_limit_is_sent_and_if_refused_too_none(caplog):
    unsupported = error_reply(
        400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    )
    with JudgeServer(replies=refusing(unsupported, "max_tokens")) as server:
        judge_three(server)
    assert server.requests[-1].body["max_completion_tokens"] == 4096
    unknown = error_reply(400, "Unrecognized arguments: max_tokens, max_completion_tokens")
    with JudgeServer(replies=refusing(unknown, "max_tokens", "max_completion_tokens")) as server:
        judge_three(server)
    assert not any("tokens" in name for name in server.requests[-1].body)
    assert "omits max_tokens, as it does with max_tokens=none" in caplog.text


@pytest.mark.parametrize(
    ("fault", "only", "formats"),
    [
        (
            error_reply(400, "This response_format type is unavailable now"),
            None,
            ["json_schema", "json_object", None],
        ),
        (
            error_reply(500, "Failed to compile grammar from json schema"),
            "json_schema",
            ["json_schema", "json_object"],
        ),
        (
            error_reply(404, "No endpoints support structured outputs"),
            "json_schema",
            ["json_schema", "json_object"],
        ),
    ],
)
def test_a_refused_response_format_of_any_kind_is_replaced(fault, only, formats):
    with JudgeServer(replies=refusing(fault, "response_format", only=only)) as server:
        judgement, usage = ask(server, "a")
    assert judgement == [True]
    assert (usage.calls, usage.retries) == (1, 0)
    assert [request.body.get("response_format", {}).get("type") for request in server.requests] == formats
    assert "verdicts" in json.dumps(server.requests[-1].body["messages"])


def test_refused_tools_are_replaced_by_a_description():
    fault = error_reply(400, "m does not support tools")
    with JudgeServer(replies=refusing(fault, "tools")) as server:
        judge_three(server, model=f"ollama:qwen3-cloud@{server.url}")
    assert "tools" in server.requests[0].body
    assert "tools" not in server.requests[-1].body


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 4096. This model supports at most 2048.",
        "Invalid max_tokens value, the range is 1-9",
    ],
)
def test_a_limit_that_is_too_large_is_not_omitted_but_named(message):
    with JudgeServer(replies=error_reply(400, message)) as server:
        error, _ = ask(server)
    assert isinstance(error, JudgeError)
    assert "Lower the judge's max_tokens, or omit it with max_tokens=none." in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("model", ["o3", "gpt-5", "gpt-5.5"])
def test_a_reasoning_model_gets_the_settings_without_a_warning_of_python(model):
    with JudgeServer(replies=ONE) as server:
        judge_three(server, model=f"openai:{model}@{server.url}")
    assert server.requests[0].body["temperature"] == 0


def test_a_model_without_sampling_parameters_gets_none_of_them():
    sent = []

    def reply(_, info):
        sent.append(info.model_settings)
        return ModelResponse(parts=[TextPart("{}")])

    model = FunctionModel(reply, profile={"anthropic_disallows_sampling_settings": True})
    service = Service("anthropic", "", "key-1", "ANTHROPIC_API_KEY")
    asyncio.run(ModelChat(model, model, JudgeSpec.of("anthropic:m"), service).complete(call()))
    assert sent == [{"max_tokens": 4096, "timeout": 120.0, "max_retries": 0}]


def test_none_omits_a_parameter():
    words = ["temperature=none", "seed=None", "max_tokens=none"]
    with JudgeServer(replies=ONE) as server:
        judge_three(
            server,
            **judge_settings(words, {"model": f"openai:m@{server.url}"}),
            max_cost=1,
            input_price=1,
            output_price=1,
        )
    assert server.requests[0].body.keys() == {"model", "messages", "response_format", "stream"}
