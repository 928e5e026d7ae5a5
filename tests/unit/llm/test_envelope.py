"""Complete replies in the envelopes of servers with OpenAI's API are read, and their tokens count."""

import json

import pytest

from sgi.kernel.errors import BudgetExceededError, JudgeMalformedError, JudgeRefusedError
from support.judge_server import JudgeServer, ServerReply, ask, error_reply, verdicts_reply

TWO = verdicts_reply("yn")
pytestmark = pytest.mark.usefixtures("no_remote_settings")


def envelope(choice=None, message=None, **changes):
    """A completion with changed fields; a field with the value ``...`` is left out."""
    sent = {"role": "assistant", "content": TWO} | (message or {})
    first = {"index": 0, "finish_reason": "stop", "message": sent} | (choice or {})
    whole = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [first],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    } | changes
    for fields in (sent, first, whole):
        for name in [name for name, value in fields.items() if value is ...]:
            del fields[name]
    return ServerReply(body=json.dumps(whole).encode())


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


@pytest.mark.parametrize(
    "reply",
    [
        envelope(id=..., object=..., created=..., model=...),
        envelope(id=7, object=None, created="2026-01-01", model=None, service_tier=5, metadata=[1]),
        envelope({"index": ..., "finish_reason": ...}, {"role": ...}),
        envelope({"finish_reason": None, "native_finish_reason": "STOP", "logprobs": {}}),
        *[
            envelope({"finish_reason": reason})
            for reason in ("STOP", "eos", "end_turn", "FinishReason.STOP", "")
        ],
        envelope(message={"content": parts(TWO[:30], TWO[30:])}),
        envelope(message={"content": [{"type": "thinking", "thinking": "{"}, *parts(TWO)]}),
        envelope(message={"content": [TWO]}),
        envelope(message={"reasoning_content": "Hm {", "annotations": {}, "tool_calls": []}),
        envelope(message={"role": "model", "refusal": "", "audio": 1, "function_call": 3}),
        envelope(usage={"input_tokens": 100, "output_tokens": 10}),
        envelope(
            usage={"prompt_tokens": "100", "completion_tokens": 10.0, "total_tokens": None, "cost": "?"}
        ),
        envelope(error=None, base_resp={"status_code": 0, "status_msg": ""}),
        ServerReply(body=b"\xef\xbb\xbf \n" + ServerReply(TWO).to_bytes("m")),
    ],
)
def test_a_complete_reply_is_read_whatever_its_envelope_lacks(reply):
    with JudgeServer(replies=reply) as server:
        judgement, usage = ask(server)
    assert judgement == [True, False]
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 100, 10)


@pytest.mark.parametrize("usage", [..., None, [], {}, {"prompt_tokens": None}, {"prompt_tokens": -5}])
def test_tokens_that_are_not_reported_are_estimated(usage):
    with JudgeServer(replies=envelope(usage=usage)) as server:
        judgement, counts = ask(server)
    assert judgement == [True, False]
    assert counts.input_tokens > 50
    assert counts.output_tokens > 10


def test_tokens_under_other_names_count_for_the_cost_limit():
    costly = envelope(usage={"input_tokens": "1000000", "output_tokens": "1"}, message={"content": "{}"})
    with JudgeServer(replies=costly) as server:
        error, usage = ask(server, max_cost=0.5, input_price=1.0, output_price=1.0, max_tokens=10)
    assert isinstance(error, BudgetExceededError)
    assert usage.cost == pytest.approx(1.0, abs=0.01)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        envelope({"finish_reason": "MAX_TOKENS"}),
        envelope({"finish_reason": "model_length", "message": None}),
        envelope(message={"content": "", "reasoning_content": "Claim 1 is"}),
        envelope(message={"content": None, "reasoning": "Claim 1 is"}),
        envelope(message={"content": [{"type": "thinking", "thinking": "Claim 1 is"}]}),
    ],
)
def test_a_reply_cut_at_the_limit_or_with_reasoning_alone_names_the_limit(reply):
    with JudgeServer(replies=reply) as server:
        error, _ = ask(server)
    assert isinstance(error, JudgeMalformedError)
    assert "10 tokens. Raise the judge's max_tokens." in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        envelope({"finish_reason": "SAFETY", "message": None}),
        envelope({"finish_reason": "content_filter"}),
        envelope(message={"content": [{"type": "refusal", "refusal": "No."}]}),
        ServerReply(None, refusal="I'd rather not say."),
        ServerReply("I cannot judge this."),
        error_reply(400, "The response was filtered", "content_filter"),
    ],
)
def test_a_filter_and_a_refusal_are_refusals_in_any_envelope(reply):
    with JudgeServer(replies=reply) as server:
        error, _ = ask(server)
    assert isinstance(error, JudgeRefusedError)
    assert len(server.requests) == 1


@pytest.mark.parametrize("content", [7, True, {"verdicts": []}, [7], parts(None), [{"type": 1, "text": TWO}]])
def test_content_that_is_no_text_is_not_read(content):
    with JudgeServer(replies=envelope(message={"content": content})) as server:
        error, usage = ask(server)
    assert isinstance(error, JudgeMalformedError)
    assert usage.calls == 0
