"""Contract tests for judges and judged metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import JudgedMetric, JudgedRows
from sgi.kernel.prompts import Example, Prompt, ReplyModel, Verdict, Verdicts
from sgi.kernel.protocols import Judge
from sgi.testing.fakes import ScriptedJudge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.sample import Batch, Sample


def require(condition: bool, promise: str) -> None:
    """Raise an AssertionError that names the broken promise if the condition is false."""
    if not condition:
        raise AssertionError(f"Broken promise: {promise}.")


def typical_judge() -> ScriptedJudge:
    """Return a judge that always gives the reply of the prompt's first example, with one verdict per item."""
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
class Judgements:
    """The judgements of samples, stored by the identity (``id``) of the Sample object."""

    by_sample: dict[int, BaseModel]

    def of(self, batch: Batch) -> JudgedRows[Any]:
        """Add the judgements to the rows of a batch."""
        return JudgedRows(batch, [self.by_sample[id(sample)] for sample in batch.samples])

    def reread(self) -> Judgements:
        """Write the judgements as JSON and read them back."""
        return Judgements(
            {
                key: type(judgement).model_validate_json(judgement.model_dump_json())
                for key, judgement in self.by_sample.items()
            }
        )


def judgements_of(metric: JudgedMetric[Any], samples: Sequence[Sample]) -> Judgements:
    """Ask a typical judge about the samples, and check how the metric asks."""
    judge = typical_judge()
    judgements = {id(sample): anyio.run(metric.ask, sample, judge) for sample in samples}
    again = [anyio.run(metric.ask, sample, typical_judge()) for sample in samples]
    require(list(judgements.values()) == again, "asking the same twice gives the same judgement")
    kinds = {type(judgement).__name__ for judgement in again if not isinstance(judgement, metric.judgement)}
    require(not kinds, f"ask gives {metric.judgement.__name__}, not {', '.join(kinds)}")
    declared = {prompt.digest for prompt in metric.prompts}
    strange = {inquiry.prompt.name for inquiry in judge.inquiries if inquiry.prompt.digest not in declared}
    require(not strange, f"prompts names every prompt that ask uses, also {', '.join(sorted(strange))}")
    require(
        bool(judge.inquiries),
        "the metric asks about at least one sample; pass samples= with the data that it needs",
    )
    result = Judgements(judgements)
    require(result.reread().by_sample == judgements, "a judgement written as JSON reads back the same")
    return result


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
    """Raise an AssertionError if a judge breaks the contract of `sgi.kernel.protocols.Judge`.

    It sends three short concurrent requests, for which a real service may charge.

    >>> check_judge(typical_judge())
    """
    require(isinstance(judge, Judge), "a judge has a fingerprint, a budget and ask(inquiry, schema)")
    before: Any = judge.fingerprint
    require(isinstance(before, str) and bool(before.strip()), "a fingerprint is a text")
    require(before.isprintable(), "a fingerprint is one line")
    budget: Any = judge.budget
    require(type(budget) is int and budget > 0, f"a budget is a whole number above 0, not {budget!r}")
    replies = anyio.run(_probe_replies, judge)
    require(judge.fingerprint == before, "a fingerprint stays the same while the judge is asked")
    problems = "; ".join(str(reply) for reply in replies if isinstance(reply, JudgeError))
    require(
        any(not isinstance(reply, JudgeError) for reply in replies),
        f"a judge replies to at least one inquiry ({problems})",
    )
    for items, reply in enumerate(replies, 1):
        if not isinstance(reply, JudgeError):
            _check_reply(reply, items)


async def _probe_replies(judge: Judge) -> list[object]:
    """Return the replies to concurrent inquiries with one, two and three items."""
    replies: list[object] = [None] * len(_STATEMENTS)

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
    require(
        isinstance(reply, Verdicts), f"a reply is an instance of the schema, not a {type(reply).__name__}"
    )
    indices = [verdict.index for verdict in reply.verdicts]
    require(
        indices == [*range(1, items + 1)],
        f"{items} items have one verdict each, in order, not the indices {indices}",
    )
    require(
        all(isinstance(verdict, _Said) for verdict in reply.verdicts),
        "a verdict is an instance of the schema's verdict type",
    )
