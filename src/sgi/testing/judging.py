"""What a run relies on, proved for metrics that ask a judge and for judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import Example, JudgedMetric, Prompt, ReplyModel, Verdict, Verdicts
from sgi.kernel.protocols import Judge
from sgi.testing.fakes import ScriptedJudge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel

    from sgi.kernel.judged_metric import Inquiry
    from sgi.kernel.metric import MetricSpec, Scores
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import VectorTable


def require(kept: bool, promise: str) -> None:
    """Raise an AssertionError that tells the promise, unless it was kept."""
    if not kept:
        raise AssertionError(f"Broken promise: {promise}.")


def typical_judge() -> ScriptedJudge:
    """A judge that says of everything what its prompt's example says, as often as verdicts are wanted.

    >>> typical_judge().fingerprint
    'scripted'
    """
    return ScriptedJudge(_typical)


def _typical(inquiry: Inquiry, schema: type[Any]) -> ReplyModel:
    fitting = [one.reply for one in inquiry.prompt.examples if isinstance(one.reply, schema)]
    if not fitting:
        raise AssertionError(
            f"Broken promise: {inquiry.prompt.name} has an example whose reply is a {schema.__name__}."
        )
    typical: ReplyModel = schema.typical(fitting[0], inquiry.items)
    return typical


@dataclass(frozen=True, eq=False)
class Answered:
    """A judged metric with what a judge made of each sample: to its caller like one that asks none."""

    metric: JudgedMetric[Any]
    evidence: dict[int, BaseModel]
    """By the identity of the sample."""

    @property
    def spec(self) -> MetricSpec:
        """The metric's facts."""
        return self.metric.spec

    @property
    def embeds(self) -> bool:
        """Whether the metric needs vectors."""
        return self.metric.embeds

    def wanted_models(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """The models the metric wants."""
        return self.metric.wanted_models(configured)

    def texts(self, batch: Batch, /) -> Iterable[str]:
        """The texts that score looks up."""
        return self.metric.texts(batch, self._of(batch))

    def score(self, batch: Batch, vectors: VectorTable, /) -> Scores:
        """The scores of the evidence."""
        return self.metric.score(batch, self._of(batch), vectors)

    def reread(self) -> Answered:
        """The same, its evidence written as JSON and read back."""
        kind = self.metric.evidence
        texts = {key: found.model_dump_json() for key, found in self.evidence.items()}
        return Answered(self.metric, {key: kind.model_validate_json(text) for key, text in texts.items()})

    def _of(self, batch: Batch) -> Sequence[BaseModel]:
        return [self.evidence[id(sample)] for sample in batch.samples]


def answered(metric: JudgedMetric[Any], samples: Sequence[Sample]) -> Answered:
    """The metric with what a typical judge makes of the samples, and the promises of asking proved."""
    judge = typical_judge()
    evidence = {id(sample): anyio.run(metric.ask, sample, judge) for sample in samples}
    again = [anyio.run(metric.ask, sample, typical_judge()) for sample in samples]
    require(list(evidence.values()) == again, "asking the same twice gives the same evidence")
    kinds = {type(found).__name__ for found in again if not isinstance(found, metric.evidence)}
    require(not kinds, f"ask gives {metric.evidence.__name__}, not {', '.join(kinds)}")
    declared = {prompt.digest for prompt in metric.prompts}
    strange = {inquiry.prompt.name for inquiry in judge.asked if inquiry.prompt.digest not in declared}
    require(not strange, f"prompts names all that ask asks, also {', '.join(sorted(strange))}")
    require(bool(judge.asked), "some sample is asked about; pass samples= where the metric needs its own")
    made = Answered(metric, evidence)
    require(made.reread().evidence == evidence, "evidence written as JSON reads back the same")
    return made


class _Said(Verdict):
    """Whether a statement is said of the sky."""

    reason: str
    said: bool


_PROBE = Prompt(
    "check.said",
    "Say for each statement whether the text says it. reason comes first, in one short sentence. One verdict "
    "for each statement, with its number as index.",
    (
        Example(
            {"text": "Grass is green.", "statements": ("Grass is green.", "Grass is tall.")},
            Verdicts[_Said](
                verdicts=(
                    _Said(index=1, reason="The text says so.", said=True),
                    _Said(index=2, reason="The text does not speak of height.", said=False),
                )
            ),
        ),
    ),
    items="statements",
)
_STATEMENTS = ("The sky is blue.", "The sky is near.", "The sky is old.")


def check_judge(judge: Judge) -> None:
    """Prove that a judge keeps what a run relies on.

    Its fingerprint is a line that stays; its budget is a positive number; asked several things at once it
    replies to each with the schema's own type and one verdict for each item, in order, or raises a
    JudgeError; and it replies to one of them at least.

    Args:
        judge: any Judge. It is asked three short things, which a real service may charge for.

    Raises:
        AssertionError: a promise is broken; the message says which.

    Source: the promises of `sgi.kernel.protocols.Judge`.

    >>> check_judge(typical_judge())
    """
    require(isinstance(judge, Judge), "a judge has a fingerprint, a budget and ask(inquiry, schema)")
    before: Any = judge.fingerprint
    require(isinstance(before, str) and bool(before.strip()), "a fingerprint is a text")
    require(before.isprintable(), "a fingerprint is one line")
    budget: Any = judge.budget
    require(type(budget) is int and budget > 0, f"a budget is a whole number above 0, not {budget!r}")
    replies = anyio.run(_probed, judge)
    require(judge.fingerprint == before, "a fingerprint stays the same while the judge is asked")
    told = "; ".join(str(reply) for reply in replies if isinstance(reply, JudgeError))
    require(any(not isinstance(reply, JudgeError) for reply in replies), f"it replies to something ({told})")
    for items, reply in enumerate(replies, 1):
        if not isinstance(reply, JudgeError):
            _check_reply(reply, items)


async def _probed(judge: Judge) -> list[Any]:
    """Replies to inquiries with one, two and three items, asked at once."""
    replies: list[Any] = [None] * len(_STATEMENTS)

    async def probe(place: int) -> None:
        inquiry = _PROBE.about(text="The sky is blue.", statements=_STATEMENTS[: place + 1])
        try:
            replies[place] = await judge.ask(inquiry, Verdicts[_Said])
        except JudgeError as error:
            replies[place] = error

    async with anyio.create_task_group() as group:
        for place in range(len(_STATEMENTS)):
            group.start_soon(probe, place)
    return replies


def _check_reply(reply: Any, items: int) -> None:
    require(isinstance(reply, Verdicts), f"a reply is what the schema says, not a {type(reply).__name__}")
    indices = [verdict.index for verdict in reply.verdicts]
    require(indices == [*range(1, items + 1)], f"{items} items have a verdict each, in order, not {indices}")
    require(all(isinstance(found, _Said) for found in reply.verdicts), "a verdict is what the schema says")
