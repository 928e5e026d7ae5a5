from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from sgi.engine.judge_batch import answer_batch
from sgi.io.dataset import open_dataset
from sgi.io.repeated_rows import RepeatedDataset
from sgi.kernel.errors import StoreError, TargetError
from sgi.kernel.protocols import Reply
from sgi.kernel.sample import Batch, Field, Sample
from sgi.store.samples import StoredAnswer


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
