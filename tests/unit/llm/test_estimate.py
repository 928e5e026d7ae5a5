"""What a run would take, told by a judge that asks nobody."""

import asyncio
from contextlib import suppress

import pytest

from sgi.kernel.errors import JudgeMalformedError
from sgi.kernel.prompts import Example, Prompt, ReplyModel, Verdicts, estimated_tokens
from sgi.kernel.protocols import CountingJudge, Usage
from sgi.kernel.sample import Sample
from sgi.llm.budget import BudgetedChat
from sgi.llm.calls import Price, UsageCounter
from sgi.llm.estimate import EstimatingJudge
from sgi.llm.judge import CachedChat, ChatJudge
from sgi.llm.judge_spec import JudgeSpec
from sgi.metrics.judged.faithfulness import Faithfulness
from sgi.store.cache import MemoryCache
from support.judge_server import PROMPT, ScriptedChat, Supported, verdicts_reply

SCHEMA = Verdicts[Supported]


class Claims(ReplyModel):
    claims: tuple[str, ...]


def ask(judge, *claims):
    return asyncio.run(judge.ask(PROMPT.about(claims=claims), SCHEMA))


def test_a_reply_has_one_verdict_for_each_item():
    judge = EstimatingJudge()
    assert isinstance(judge, CountingJudge)
    assert [verdict.index for verdict in ask(judge, "a", "b", "c").verdicts] == [1, 2, 3]


def test_the_example_of_the_wanted_kind_is_taken():
    example = Example({"text": "It rains."}, Claims(claims=("It rains.",)))
    both = Prompt("test.both", "Split.", (*PROMPT.examples, example))
    reply = asyncio.run(EstimatingJudge().ask(both.about(text="x"), Claims))
    # As long as the example, and no other call's: what follows from it is asked for it alone.
    assert [claim.rpartition(" ")[0] for claim in reply.claims] == ["It rains."]
    assert reply != asyncio.run(EstimatingJudge().ask(both.about(text="y"), Claims))


def test_each_distinct_inquiry_is_counted_once():
    judge = EstimatingJudge(price=Price(1.0, 2.0))
    for claims in (("a",), ("b",), ("a",), ("a", "b")):
        ask(judge, *claims)
    usage = judge.usage
    assert (usage.calls, usage.cached) == (3, 1)
    assert usage.cost == pytest.approx((usage.input_tokens + 2 * usage.output_tokens) / 1e6)
    assert EstimatingJudge().usage.cost is None


def test_the_estimate_is_what_a_model_is_sent_and_replies_as_the_example():
    claims = [("The sky is blue.",) * n for n in range(1, 6)]
    counter = UsageCounter()

    def reply(call, _):
        count = call.messages[-1].text.count("The sky")
        from sgi.llm.calls import Completion

        text = verdicts_reply("y" * count)
        return Completion(text, input_tokens=call.tokens, output_tokens=estimated_tokens(text))

    judge = ChatJudge(BudgetedChat(ScriptedChat(reply), counter, max_tokens=4096), counter=counter)
    sketch = EstimatingJudge()
    for some in claims:
        ask(judge, *some)
        ask(sketch, *some)
    assert (sketch.usage.calls, sketch.usage.input_tokens) == (
        counter.usage.calls,
        counter.usage.input_tokens,
    )
    assert sketch.usage.output_tokens == pytest.approx(counter.usage.output_tokens, rel=0.15)


# With a cache


MODEL = "openai:m@http://127.0.0.1:1/v1"
TWO_CLAIMS = '{"claims": ["The sky is blue.", "It is high."]}'
SUPPORT = '{"index": %d, "reason": "It says so.", "supported": 1, "passage": 1}'


def asked_before(cache, *replies):
    """A model that was asked about a claim and said this, kept as that of a spec's judge."""
    chat = ScriptedChat(lambda _, before: replies[before])
    chat.fingerprint = JudgeSpec.of(MODEL).fingerprint()
    with suppress(JudgeMalformedError):
        ask(ChatJudge(CachedChat(chat, cache, UsageCounter())), "a")
    return chat


def known(cache, **options):
    return EstimatingJudge.of(JudgeSpec.of(MODEL), cache, **options)


@pytest.mark.usefixtures("no_remote_settings")
def test_what_the_cache_knows_costs_nothing_and_is_read():
    cache = MemoryCache()
    asked_before(cache, verdicts_reply("n"))
    judge = known(cache)
    assert [verdict.supported for verdict in ask(judge, "a").verdicts] == [False]
    assert ask(judge, "b").verdicts[0].supported
    ask(judge, "b")
    assert (judge.usage.calls, judge.usage.cached) == (1, 2)
    other = EstimatingJudge.of(JudgeSpec(model=MODEL, seed=1), cache)
    ask(other, "a")
    assert (other.usage.calls, other.usage.cached) == (1, 0)
    assert (known(None).usage, known(None).budget) == (Usage(cost=None), 16000)


@pytest.mark.usefixtures("no_remote_settings")
def test_of_an_unfit_reply_only_the_repair_is_still_to_be_paid():
    whole, first = MemoryCache(), MemoryCache()
    asked_before(whole, "nonsense", verdicts_reply("n"))
    half = asked_before(first, "nonsense", "nonsense")
    cached = known(whole)
    assert not ask(cached, "a").verdicts[0].supported
    assert (cached.usage.calls, cached.usage.cached) == (0, 2)
    spoilt = known(first)
    with pytest.raises(JudgeMalformedError, match="invalid, also after a repair"):
        ask(spoilt, "a")
    assert (spoilt.usage.calls, spoilt.usage.cached) == (0, 2)
    anew = known(first, again=True)
    ask(anew, "a")
    assert (anew.usage.calls, anew.usage.cached) == (1, 2)
    repair = half.calls[1].key(half.fingerprint)
    del first._values[repair]
    partly = known(first)
    ask(partly, "a")
    assert (partly.usage.calls, partly.usage.cached) == (1, 1)
    assert partly.usage.input_tokens == half.calls[1].tokens


@pytest.mark.usefixtures("no_remote_settings")
def test_a_metric_that_asks_on_from_what_it_got_is_followed_through_the_cache():
    sample = Sample(id="1", question="How is it?", contexts=("The sky is blue.",), response="Blue, and high.")
    other = sample.model_copy(update={"response": "Grey."})
    chat = ScriptedChat(
        lambda _, before: [TWO_CLAIMS, f'{{"verdicts": [{SUPPORT % 1}, {SUPPORT % 2}]}}'][before]
    )
    chat.fingerprint = JudgeSpec.of(MODEL).fingerprint()
    cache = MemoryCache()
    paid = asyncio.run(Faithfulness().ask(sample, ChatJudge(CachedChat(chat, cache, UsageCounter()))))
    judge = known(cache)
    assert asyncio.run(Faithfulness().ask(sample, judge)) == paid
    assert (judge.usage.calls, judge.usage.cached) == (0, 2)
    asyncio.run(Faithfulness().ask(other, judge))
    assert (judge.usage.calls, judge.usage.cached) == (2, 2)


@pytest.mark.usefixtures("no_remote_settings")
def test_a_judge_whose_place_is_not_set_yet_is_estimated_without_the_cache():
    judge = EstimatingJudge.of(JudgeSpec(model="azure:m", budget=500), MemoryCache())
    ask(judge, "a")
    assert (judge.budget, judge.usage.calls, judge.usage.cached) == (500, 1, 0)
