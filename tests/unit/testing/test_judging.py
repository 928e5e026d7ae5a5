"""Each promise of a judge and of a metric that asks one, broken on purpose."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from pydantic import BaseModel

from sgi.kernel.errors import JudgeUnavailableError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricSpec, Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel, Verdict, Verdicts
from sgi.kernel.sample import RESPONSE
from sgi.testing import ScriptedJudge, check_judge, check_metric
from sgi.testing.judging import typical_judge


class Mark(ReplyModel):
    mark: float


class Kept(BaseModel):
    mark: float = 0.0
    said: str = ""


PROMPT = Prompt("test.mark", "Mark.", (Example({"response": "a"}, Mark(mark=0.5)),))
OTHER = replace(PROMPT, name="test.other")


@dataclass(frozen=True)
class Marked(JudgedMetric[Kept]):
    spec: ClassVar = MetricSpec("marks_of_a_test", 1, needs=RESPONSE, low=0.0, high=1.0)
    judgement: ClassVar = Kept
    prompts: ClassVar = (PROMPT,)

    async def ask(self, sample, judge, /):
        reply = await judge.ask(PROMPT.about(response=sample.response), Mark)
        return Kept(mark=reply.mark, said=sample.id)

    def score(self, judged, features, /):
        return Scores.of(np.array([found.mark for found in judged.judgements]))


def test_a_sound_metric_passes():
    check_metric(Marked())


@dataclass(frozen=True)
class Compares(Marked):
    def texts(self, judged, /):
        return [f"said of {found.said}" for found in judged.judgements]

    def score(self, judged, features, /):
        features.vectors.rows(self.texts(judged))
        return super().score(judged, features)


def test_a_sound_metric_with_vectors_passes():
    check_metric(Compares())


@dataclass(frozen=True)
class Undeclared(Marked):
    prompts: ClassVar = (OTHER,)


@dataclass(frozen=True)
class Silent(Marked):
    async def ask(self, sample, judge, /):
        return Kept()


@dataclass(frozen=True)
class OtherEvidence(Marked):
    async def ask(self, sample, judge, /):
        return await judge.ask(PROMPT.about(response=sample.response), Mark)


COUNTS = iter(range(10**9))


@dataclass(frozen=True)
class Restless(Marked):
    async def ask(self, sample, judge, /):
        found = await super().ask(sample, judge)
        return found.model_copy(update={"mark": 1 / (2 + next(COUNTS))})


class Hidden(BaseModel):
    mark: float = 0.0
    _note: str = ""


@dataclass(frozen=True)
class LostInJson(Marked):
    judgement: ClassVar = Hidden

    async def ask(self, sample, judge, /):
        found = Hidden(mark=0.5)
        found._note = (await super().ask(sample, judge)).said
        return found


@dataclass(frozen=True)
class Overwriting(Marked):
    def score(self, judged, features, /):
        for found in judged.judgements:
            found.mark = 1 - found.mark / 3
        return Scores.of(np.full(len(judged.batch), 0.5))


@dataclass(frozen=True)
class OutOfRange(Marked):
    def score(self, judged, features, /):
        return Scores.of(np.array([4 * found.mark for found in judged.judgements]))


@dataclass(frozen=True)
class Standardising(Marked):
    def score(self, judged, features, /):
        return Scores.of(np.array([found.mark / (1 + len(judged.judgements)) for found in judged.judgements]))


@dataclass(frozen=True)
class Greedy(Marked):
    def texts(self, judged, /):
        return [found.said for found in judged.judgements]


@dataclass(frozen=True)
class NoExample(Marked):
    async def ask(self, sample, judge, /):
        await judge.ask(PROMPT.about(response=sample.response), Verdicts[Verdict])
        return Kept()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Undeclared, "prompts names every prompt that ask uses, also test.mark"),
        (Silent, "asks about at least one sample"),
        (OtherEvidence, "ask gives Kept, not Mark"),
        (Restless, "asking the same twice"),
        (LostInJson, "written as JSON reads back"),
        (Overwriting, "score changes no judgement"),
        (OutOfRange, "values are in"),
        (Standardising, "splitting a batch"),
        (Greedy, "texts gives only what score looks up"),
        (NoExample, "test.mark has an example"),
    ],
)
def test_a_broken_promise_of_a_metric_is_told(kind, words):
    with pytest.raises(AssertionError, match=f"^Broken promise: .*{words}"):
        check_metric(kind())


def test_the_typical_judge_keeps_every_promise():
    check_judge(typical_judge())


class Unnamed(ScriptedJudge):
    async def ask(self, inquiry, schema, /):
        self.fingerprint += "+"
        return await super().ask(inquiry, schema)


class Short(ScriptedJudge):
    async def ask(self, inquiry, schema, /):
        found = await super().ask(inquiry, schema)
        return schema.model_construct(verdicts=found.verdicts[:1])


class Turning(ScriptedJudge):
    async def ask(self, inquiry, schema, /):
        found = await super().ask(inquiry, schema)
        return schema.model_construct(verdicts=found.verdicts[::-1])


class Plain(ScriptedJudge):
    async def ask(self, inquiry, schema, /):
        return (await super().ask(inquiry, schema)).model_dump()


class Away(ScriptedJudge):
    async def ask(self, inquiry, schema, /):
        raise JudgeUnavailableError("Away for good.")


class Sometimes(ScriptedJudge):
    async def ask(self, inquiry, schema, /):
        if inquiry.items == 2:
            raise JudgeUnavailableError("Away for a while.")
        return await super().ask(inquiry, schema)


TYPICAL = typical_judge().reply


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (object(), "a judge has a fingerprint"),
        (ScriptedJudge(TYPICAL, fingerprint=" "), "a fingerprint is a text"),
        (ScriptedJudge(TYPICAL, fingerprint="a\nb"), "one line"),
        (ScriptedJudge(TYPICAL, budget=0), "whole number above 0"),
        (ScriptedJudge(TYPICAL, budget=1.5), "whole number above 0"),
        (Unnamed(TYPICAL), "fingerprint stays"),
        (Short(TYPICAL), "2 items have one verdict each"),
        (Turning(TYPICAL), "in order"),
        (Plain(TYPICAL), "a reply is an instance of the schema"),
        (Away(TYPICAL), "replies to at least one inquiry .*Away for good"),
    ],
)
def test_a_broken_promise_of_a_judge_is_told(judge, words):
    with pytest.raises(AssertionError, match=f"^Broken promise: .*{words}"):
        check_judge(judge)


def test_a_judge_may_fail_now_and_then_as_long_as_it_says_so():
    check_judge(Sometimes(TYPICAL))
