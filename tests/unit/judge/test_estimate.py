"""What a run would take, told by a judge that asks nobody."""

from __future__ import annotations

import asyncio

import pytest

from sgi.judge.estimate import Sketching
from sgi.judge.metered import Metered
from sgi.judge.prices import Price
from sgi.judge.structured import ChatJudge
from sgi.judge.tally import Tally
from sgi.kernel.judging import Example, Prompt, ReplyModel, Verdicts, estimated_tokens
from sgi.kernel.ports import CountingJudge
from support.judge_server import PROMPT, ScriptedChat, Supported, verdicts

SCHEMA = Verdicts[Supported]


class Claims(ReplyModel):
    claims: tuple[str, ...]


def ask(judge, *claims):
    return asyncio.run(judge.ask(PROMPT.about(claims=claims), SCHEMA))


def test_a_reply_has_one_verdict_for_each_item():
    judge = Sketching()
    assert isinstance(judge, CountingJudge)
    assert [verdict.index for verdict in ask(judge, "a", "b", "c").verdicts] == [1, 2, 3]


def test_the_example_of_the_wanted_kind_is_taken():
    example = Example({"text": "It rains."}, Claims(claims=("It rains.",)))
    both = Prompt("test.both", "Split.", (*PROMPT.examples, example))
    assert asyncio.run(Sketching().ask(both.about(text="x"), Claims)) == example.reply


def test_each_distinct_inquiry_is_counted_once():
    judge = Sketching(price=Price(1.0, 2.0))
    for claims in (("a",), ("b",), ("a",), ("a", "b")):
        ask(judge, *claims)
    usage = judge.usage
    assert (usage.calls, usage.cached) == (3, 1)
    assert usage.cost == pytest.approx((usage.input_tokens + 2 * usage.output_tokens) / 1e6)
    assert Sketching().usage.cost is None


def test_the_estimate_is_what_a_model_is_sent_and_replies_as_the_example():
    claims = [("The sky is blue.",) * n for n in range(1, 6)]
    tally = Tally()

    def reply(call, _):
        wanted = call.messages[-1].text.count("The sky")
        from sgi.judge.calls import Completion

        text = verdicts("y" * wanted)
        return Completion(text, input_tokens=call.tokens, output_tokens=estimated_tokens(text))

    judge = ChatJudge(Metered(ScriptedChat(reply), tally), tally=tally)
    sketch = Sketching()
    for some in claims:
        ask(judge, *some)
        ask(sketch, *some)
    assert (sketch.usage.calls, sketch.usage.input_tokens) == (tally.usage.calls, tally.usage.input_tokens)
    assert sketch.usage.output_tokens == pytest.approx(tally.usage.output_tokens, rel=0.15)
