"""Each provider as its API behaves: values, tokens, retries, refusals, limits and keys."""

import json
import logging
import warnings
from dataclasses import replace
from functools import reduce

import pytest

from sgi.kernel.environment import Service
from sgi.kernel.errors import (
    JudgeMalformedError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeUnavailableError,
    UsageError,
)
from sgi.llm.judge_spec import JudgeSpec
from support import command
from support.judge_server import ask, verdicts_reply
from support.page_folder import rows
from support.page_judge import page_provider
from support.provider_server import KEY, PROVIDERS, USAGE, WAIT, ProviderServer, require_client

pytestmark = pytest.mark.usefixtures("no_remote_settings")
TWO = verdicts_reply("yn")


def set_variables(monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=PROVIDERS)
def provider(request):
    require_client(PROVIDERS[request.param])
    return PROVIDERS[request.param]


@pytest.fixture
def judge(monkeypatch, provider):
    """Ask a provider whose first replies are these; return the judgement, the usage and the requests."""

    def answer(*plan, key=KEY, model=provider.model, **settings):
        with ProviderServer(provider, plan, provider.good(TWO)) as server, warnings.catch_warnings():
            warnings.simplefilter("error")
            set_variables(monkeypatch, server.variables | {provider.key_name: key})
            return *ask(server, model=model, **settings), server.requests

    return answer


def test_a_good_reply_gives_a_value_and_its_tokens_are_counted(judge, provider):
    judgement, usage, (request,) = judge()
    assert judgement == [True, False]
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, *USAGE)
    schema = reduce(lambda body, name: body[name], provider.schema, request.body)
    assert "verdicts" in schema["properties"]


def test_too_many_requests_are_repeated_after_the_requested_wait(judge, provider):
    error, _, _ = judge(provider.throttled, retries=0)
    assert isinstance(error, JudgeUnavailableError)
    assert (error.throttled, error.retry_after) == (True, WAIT if provider.waits else None)
    judgement, usage, requests = judge(provider.overloaded)
    assert (judgement, usage.retries, usage.unanswered, len(requests)) == ([True, False], 1, 0, 2)


def test_a_model_or_a_filter_that_declines_fails_the_row_as_declined(judge, provider):
    for reply in provider.declined:
        error, _, requests = judge(reply)
        assert isinstance(error, JudgeRefusedError)
        assert "declined" in str(error) or "content filter" in str(error)
        assert len(requests) == 1


def test_a_reply_that_ends_at_the_token_limit_names_the_setting(judge, provider):
    error, usage, _ = judge(provider.cut)
    assert isinstance(error, JudgeMalformedError)
    assert "truncated after 10 tokens. Raise the judge's max_tokens" in str(error)
    assert usage.calls == 1


def test_a_wrong_key_fails_at_once_and_names_the_variable(judge, provider):
    error, usage, _ = judge(key="wrong-key-0123456789")
    assert isinstance(error, JudgeRejectedError)
    assert f"Check {provider.key_name}." in str(error)
    assert '{"' not in str(error)  # the message of the service, and not its JSON
    assert usage.retries == 0


def test_used_up_credit_and_a_missing_model_are_not_retried(judge, provider):
    for reply in provider.more.values():
        error, usage, requests = judge(reply)
        assert isinstance(error, JudgeRejectedError)
        assert (usage.retries, len(requests)) == (0, 1)


def test_a_run_of_the_command_has_values_and_its_files_lack_the_key(tmp_path, provider, caplog):
    caplog.set_level(logging.DEBUG)
    kind = provider.model.partition(":")[0]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows(2))))
    with page_provider(kind) as variables:
        words = ("rows.jsonl", "-m", "groundedness", "--judge", provider.model)
        settings = {"SGI_CACHE_DIR": str(tmp_path / "cache"), "NO_PROXY": "127.0.0.1", **variables}
        result = command.sgi(tmp_path, "run", *words, "-o", "scores.jsonl", **settings)
        recorded = command.sgi(tmp_path, "judge", "record", "calls.jsonl", *words, **settings)
    assert (result.code, recorded.code) == (0, 0), result.err + recorded.err
    assert f"{2 * USAGE[0]} tokens in, {2 * USAGE[1]} tokens out" in result.out + result.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"sgi.db", "scores.jsonl", "calls.jsonl", "replies.db"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    printed = [result.out, result.err, recorded.out, recorded.err, caplog.text]
    assert KEY not in "".join(printed)


@pytest.mark.parametrize(
    ("model", "taken", "omitted"),
    [
        (
            "anthropic:claude-opus-5",
            set(),
            "takes no temperature and no seed, so SGI omits temperature and seed",
        ),
        ("anthropic:claude-haiku-4-5", {"temperature"}, "takes no seed, so SGI omits seed"),
        ("openrouter:anthropic/claude-opus-5", {"seed"}, "takes no temperature, so SGI omits temperature"),
        ("openrouter:openai/gpt-4o-mini", {"temperature", "seed"}, ""),
    ],
)
def test_parameters_that_a_model_lacks_are_omitted_and_said_once(monkeypatch, caplog, model, taken, omitted):
    provider = PROVIDERS[model.partition(":")[0]]
    require_client(provider)
    with ProviderServer(provider, [provider.good("no")], provider.good(TWO)) as server:
        set_variables(monkeypatch, server.variables)
        ask(server, model=model)
    assert [{"temperature", "seed"} & request.body.keys() for request in server.requests] == [taken, taken]
    said = [record.getMessage() for record in caplog.records if record.name == "sgi.llm"]
    assert len(said) == bool(omitted)
    assert omitted in "".join(said)


# Addresses


@pytest.mark.parametrize("address", ["{url}/openai/v1", "{url}/v1", "{url}"])
def test_claude_on_bedrock_is_asked_through_the_api_of_anthropic(monkeypatch, address):
    claude = PROVIDERS["anthropic"]
    require_client(claude)
    bedrock = replace(
        claude,
        path="/anthropic/v1/messages",
        variables={"AWS_BEDROCK_BASE_URL": address},
        key_name="AWS_BEARER_TOKEN_BEDROCK",
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-aws-0123456789")
    with ProviderServer(bedrock, replies=claude.good(TWO)) as server:
        set_variables(monkeypatch, server.variables)
        judgement, usage = ask(server, model="bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0")
    assert (judgement, usage.calls) == ([True, False], 1)
    (request,) = server.requests
    assert "output_config" in request.body
    assert "not-for-aws" not in str(request.headers)


def test_bedrock_is_addressed_by_its_region(monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    with pytest.raises(UsageError, match="AWS_REGION is not set"):
        Service.of("bedrock")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert Service.of("bedrock").url == "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1"
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert "bedrock-runtime.eu-central-1.amazonaws.com" in JudgeSpec.of("bedrock:m").fingerprint()
    monkeypatch.setenv("AWS_REGION", "evil.example/")
    with pytest.raises(UsageError, match="AWS_REGION is not a region"):
        Service.of("bedrock")


def test_a_usual_address_is_no_part_of_the_fingerprint_and_another_one_is(monkeypatch):
    for kind in ("anthropic", "google", "openrouter"):
        assert JudgeSpec.of(f"{kind}:m").fingerprint().startswith(f"{kind}:m,")
        monkeypatch.setenv(next(iter(PROVIDERS[kind].variables)), "http://proxy:4000")
        assert JudgeSpec.of(f"{kind}:m").fingerprint().startswith(f"{kind}:m@proxy:4000,")


def test_a_local_vllm_needs_no_key():
    service = Service.of("vllm")
    assert (service.url, service.key, service.is_own) == ("http://localhost:8000/v1", "none", True)
