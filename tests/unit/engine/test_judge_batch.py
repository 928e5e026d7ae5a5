"""What the engine makes of metrics that ask a judge."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from sgi.engine.accumulator import Accumulator
from sgi.engine.judge_batch import BatchJudgements, answer_batch, ask_batch
from sgi.engine.resources import Resources
from sgi.engine.score import evaluate_batch
from sgi.io.dataset import open_dataset
from sgi.io.repeated_rows import RepeatedDataset
from sgi.kernel.errors import (
    BudgetExceededError,
    JudgeError,
    JudgeMalformedError,
    StoreError,
    TargetError,
    UsageError,
)
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.metric import Status
from sgi.kernel.protocols import Reply
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Field, Sample
from sgi.store.samples import StoredAnswer
from sgi.testing.fakes import HashEmbedder
from support.judged_metrics import Echo, Politeness, RuleJudge

ROWS = Batch.of(
    [
        Sample(id="a", question="Who?", response="Nobody."),
        Sample(id="b", question="Who?", response="no reply"),
        Sample(id="c", question="When?"),
        Sample(id="d", response="Then."),
    ]
)
METRICS = (Politeness(), metric("theta_rq"), Echo())


class Failing(RuleJudge):
    """Raises what it is told to."""

    def __init__(self, error, **more):
        super().__init__()
        self.error, self.more = error, more

    async def ask(self, inquiry, schema, /):
        raise type(self.error)(*self.error.args, **self.more)


def ask(judge, metrics=METRICS, failed=None, **more):
    return anyio.run(lambda: ask_batch(ROWS, metrics, judge, failed or {}, **more))


def score(judge, **more):
    resources = Resources({"hash": HashEmbedder()}, judge=judge)
    return anyio.run(lambda: evaluate_batch(ROWS, METRICS, resources, **more))


def test_only_rows_with_the_fields_are_asked_about_and_only_for_metrics_that_ask():
    judge = RuleJudge()
    made = ask(judge)
    assert sorted(made.evidence) == ["echo", "politeness"]
    there = {name: [found is not None for found in rows] for name, rows in made.evidence.items()}
    assert there == {"politeness": [True, False, False, True], "echo": [True, False, False, False]}
    assert judge.usage.calls == 5  # a, b and d for politeness; a and b for echo


def test_a_reply_that_cannot_be_had_is_a_failure_of_its_row_and_metric_alone():
    made = ask(RuleJudge())
    assert made.failures == {
        "politeness": {1: "The judge gave no reply."},
        "echo": {1: "The judge gave no reply."},
    }


def test_rows_that_failed_before_are_not_asked_about():
    judge = RuleJudge()
    made = ask(judge, failed={0: "no answer", 1: "no answer"})
    assert judge.usage.calls == 1
    assert made.evidence["echo"] == (None,) * 4


def test_every_reply_is_told_also_a_useless_one():
    replies = []
    ask(RuleJudge(), on_reply=lambda: replies.append(1))
    assert len(replies) == 5


def test_without_a_judge_nothing_is_asked_and_the_metrics_are_named():
    assert ask(None, [metric("theta_rq")]).evidence == {}
    with pytest.raises(UsageError):
        ask(None)


def test_a_bug_in_a_metric_is_raised_with_its_name_and_sample():
    with pytest.raises(ZeroDivisionError) as raised:
        ask(Failing(ZeroDivisionError("oops")))
    assert raised.value.__notes__ == ["in metric politeness, sample a"]


def test_spending_too_much_is_no_failed_row_but_the_end():
    with pytest.raises(BudgetExceededError, match="enough"):
        ask(Failing(BudgetExceededError("It is enough.")))


def test_scores_account_for_every_row_and_carry_the_evidence():
    made = score(RuleJudge())
    politeness = made.scores["politeness"]
    assert politeness.status.tolist() == [Status.OK, Status.FAILED, Status.MISSING, Status.OK]
    assert politeness.reasons[1:3] == ("The judge gave no reply.", "the sample has no response")
    assert made.scores["echo"].status.tolist() == [
        Status.OK,
        Status.FAILED,
        Status.MISSING,
        Status.MISSING,
    ]
    assert made.scores["theta_rq"].status.tolist()[:2] == [Status.OK, Status.OK]  # needs no judge
    assert [found is None for found in made.evidence["echo"]] == [False, True, True, True]


def test_what_was_asked_before_is_not_asked_again():
    judge = RuleJudge()
    asked = ask(judge)
    before = judge.usage.calls
    made = score(judge, batch_judgements=asked)
    assert judge.usage.calls == before
    assert made.evidence == asked.evidence


def test_a_row_that_failed_before_keeps_that_reason():
    made = score(RuleJudge(), failed={1: "the target gave no answer"})
    assert made.scores["politeness"].reasons[1] == "the target gave no answer"


def test_texts_of_evidence_are_embedded_with_those_of_other_metrics():
    embedder = HashEmbedder()
    resources = Resources({"hash": embedder}, judge=RuleJudge())
    anyio.run(lambda: evaluate_batch(ROWS, METRICS, resources))
    assert embedder.calls == 1
    assert "Who is it?" in embedder.texts_seen
    assert len(embedder.texts_seen) == len(set(embedder.texts_seen))


def test_a_vector_that_cannot_be_had_fails_the_rows_whose_evidence_needs_it():
    class NoVector(HashEmbedder):
        def embed(self, texts, /):
            rows = super().embed(texts)
            for row, text in enumerate(texts):
                if text == "Who is it?":
                    rows[row] = 0
            return rows

    resources = Resources({"hash": NoVector()}, judge=RuleJudge())
    made = anyio.run(lambda: evaluate_batch(ROWS, METRICS, resources))
    assert made.scores["echo"].status[0] == Status.FAILED
    assert "no usable vector" in made.scores["echo"].reasons[0]
    assert made.scores["politeness"].status[0] == Status.OK


def test_judged_metrics_are_told_apart():
    assert [found.canonical for found in judged_metrics(METRICS)] == ["politeness", "echo"]
    assert BatchJudgements().evidence == {}


def test_a_judge_error_is_told_with_its_way_out():
    made = ask(Failing(JudgeError("It broke."), hint="Mend it."), [Politeness()])
    assert set(made.failures["politeness"].values()) == {"It broke. Mend it."}


def test_the_reply_behind_a_failure_is_kept_with_its_row_and_a_long_one_is_cut():
    class Chatty(RuleJudge):
        async def ask(self, inquiry, schema, /):
            error = JudgeMalformedError("It is no JSON.", text="so " * 5000)
            error.cached = True
            raise error

    scores = score(Chatty()).scores["politeness"]
    assert scores.status.tolist() == ["failed", "failed", "missing", "failed"]
    reply = scores.details[0]["judge_reply"]
    assert (len(reply), reply[-1], scores.details[0]["reply_from_cache"]) == (4000, "…", True)
    assert scores.details[2] == {}
    accumulator = Accumulator()
    accumulator.add(ROWS, score(Chatty()))
    assert accumulator.cached_failures == 3  # rows, each once however many metrics failed


class Scripted:
    """Answers from a mapping; a question that isn't there is a failure."""

    fingerprint = "python:scripted"

    def __init__(self, replies):
        self.replies = replies
        self.asked = []

    async def answer(self, question, /):
        self.asked.append(question)
        await anyio.lowlevel.checkpoint()
        if question not in self.replies:
            raise TargetError(f"no answer to {question}")
        return self.replies[question]


BATCH = Batch.of(
    [
        Sample(id="a", question="one", contexts=("own",), response="old"),
        Sample(id="b", question="two"),
        Sample(id="c", reference="no question"),
    ]
)


def answered(target, known=None, keep=None):
    kept = {}
    made = anyio.run(lambda: answer_batch(10, BATCH, target, known=known or {}, keep=keep or kept.update))
    return made, kept


def test_answers_stand_in_place_of_responses_and_every_one_is_kept():
    target = Scripted({"one": Reply("first", ("passage",)), "two": Reply("")})
    made, kept = answered(target)
    assert [sample.response for sample in made.batch.samples] == ["first", "", ""]
    assert made.batch.samples[0].contexts == ("passage",)
    assert made.batch.samples[1].has(Field.RESPONSE)
    assert made.samples == BATCH.samples
    assert made.failed == {2: "the sample has no question to ask"}
    assert sorted(kept) == [10, 11, 12]
    assert kept[10].response == "first"
    assert kept[10].seconds > 0


def test_a_failure_takes_the_old_response_away_and_the_other_rows_go_on():
    made, kept = answered(Scripted({"two": Reply("second")}))
    assert not made.batch.samples[0].has(Field.RESPONSE)
    assert made.batch.samples[0].contexts == ("own",)
    assert made.failed[0] == kept[10].reason == "no answer to one"
    assert made.batch.samples[1].response == "second"


def test_what_was_answered_before_is_not_asked_again_but_failures_are():
    target = Scripted({"one": Reply("now")})
    known = {10: StoredAnswer(None, reason="was down"), 11: StoredAnswer("before", ("kept",))}
    made, kept = answered(target, known)
    assert target.asked == ["one"]
    assert [sample.response for sample in made.batch.samples] == ["now", "before", ""]
    assert made.batch.samples[1].contexts == ("kept",)
    assert sorted(kept) == [10, 12]


def test_trouble_with_keeping_is_no_failed_row():
    def refuse(_):
        raise StoreError("the disk is full")

    with pytest.raises(BaseExceptionGroup) as caught:
        answered(Scripted({"one": Reply("x"), "two": Reply("y")}), keep=refuse)
    assert caught.group_contains(StoreError)


def test_the_judgements_of_one_answer_share_it_also_when_the_run_is_resumed():
    rows = RepeatedDataset(open_dataset([{"question": "one"}]), answers=2, judgements=3)
    batch = Batch.of(rows.samples())
    target = Scripted({"one": Reply("first")})
    kept = {}
    anyio.run(lambda: answer_batch(0, batch, target, known={}, keep=kept.update))
    assert (len(target.asked), sorted(kept)) == (2, list(range(6)))
    known = {position: kept[position] for position in range(3)}
    again = anyio.run(lambda: answer_batch(0, batch, target, known=known, keep=kept.update))
    assert (len(target.asked), len(again.batch)) == (3, 6)
