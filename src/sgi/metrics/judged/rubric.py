"""A judged metric from data: criteria, a scale, and the texts that the judge sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, create_model

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricSpec, Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.sample import Field
from sgi.metrics.judged.reply_types import Reason, whole

if TYPE_CHECKING:
    from sgi.kernel.features import Features
    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.prompts import Section
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample

SEEN = ("question", "contexts", "response", "reference")
"""The texts of a row that a rubric can show to the judge."""

_MIN_VALUES = 2


class StoredRubricRating(BaseModel, frozen=True):
    """A stored rating: a value of the scale; empty if the judge was not asked."""

    reason: str = ""
    rating: int | None = None


@closed
class RubricDetails(JudgedDetails, total=False):
    """The rating of the judge.

    Attributes:
        rating: the value of the scale.
        judge_reason: the reason that the judge gives.
    """

    rating: int
    judge_reason: str


@lru_cache(maxsize=256)
def reply_type(values: tuple[int, ...]) -> type[Any]:
    """Return the schema of a reply: a reason, then exactly one of these values."""
    fields: dict[str, Any] = {
        "reason": (Reason, ...),
        "rating": (Annotated[Literal[values], BeforeValidator(whole)], ...),
    }
    kind: type[Any] = create_model("RubricReply", __base__=ReplyModel, __doc__="A rating.", **fields)
    return kind


@dataclass(frozen=True)
class Rubric(JudgedMetric[StoredRubricRating]):
    """How well a row meets your criteria, rated by a judge on your scale.

    The judge gives a reason and then one of the values of the scale; any other reply fails. The smallest
    value becomes 0, the largest 1, and the others lie between them in proportion. The details have the value
    itself. One call for each row. A row is undefined if a text that the judge sees is blank.

    The example in the prompt is neutral: it has no real texts, and the middle value of the scale.

    Limits: a row that is longer than the budget of the judge fails. Ratings of a rubric that nobody compared
    with human labels can be wrong; see ``sgi agree``.

    Attributes:
        criteria: what the judge rates, in your words.
        scale: pairs of a whole number and its description.
        sees: what the judge sees: question, contexts, response, reference.

    >>> from sgi import Batch, Features, JudgedRows, Sample
    >>> metric = Rubric("Is the response polite?", ((1, "rude"), (2, "neutral"), (3, "polite")))
    >>> rows = Batch.of([Sample(id="1", question="When?", response="In 1950.")])
    >>> stored = StoredRubricRating(reason="It is short.", rating=2)
    >>> metric.score(JudgedRows(rows, [stored]), Features()).values.tolist()
    [0.5]
    """

    criteria: str
    scale: tuple[tuple[int, str], ...]
    sees: tuple[str, ...] = ("question", "response")
    spec: ClassVar = MetricSpec(
        "rubric", 1, needs=frozenset({Field.RESPONSE}), citation="our own", details=RubricDetails
    )
    judgement: ClassVar = StoredRubricRating
    example: ClassVar = (
        'rubric(criteria="Is the response polite?", scale=[[1, "rude"], [2, "neutral"], [3, "polite"]])'
    )

    def __post_init__(self) -> None:
        criteria: Any = self.criteria
        if not isinstance(criteria, str) or not criteria.strip():
            raise ValueError("criteria must be a text that is not blank")
        object.__setattr__(self, "scale", _checked_scale(self.scale))
        object.__setattr__(self, "sees", _checked_sees(self.sees))
        needs = frozenset(Field(name) for name in self.sees)
        object.__setattr__(self, "spec", replace(type(self).spec, needs=needs))
        object.__setattr__(self, "prompts", (self._prompt(),))

    def _prompt(self) -> Prompt:
        values = [value for value, _ in self.scale]
        lines = [f"  {value}: {text}" for value, text in self.scale]
        instructions = f"""\
Rate the texts by these criteria:
{self.criteria.strip()}

rating is one of these numbers:
{chr(10).join(lines)}

reason comes first: one or two sentences that name what decides the rating. The example only shows the form \
of a reply."""
        sections: dict[str, Section] = {
            name: ("A passage.",) if name == "contexts" else f"A {name}." for name in self.sees
        }
        reply = reply_type(tuple(values))(reason="What decides the rating.", rating=values[len(values) // 2])
        return Prompt("rubric.rating", instructions, (Example(sections, reply),))

    async def ask(self, sample: Sample, judge: Judge, /) -> StoredRubricRating:
        """Return the rating of a sample; empty if a text is blank."""
        texts: dict[str, Section] = {}
        for name in self.sees:
            value = getattr(sample, name)
            texts[name] = tuple(each for each in value if each.strip()) if name == "contexts" else value
            if not "".join(texts[name]).strip():
                return StoredRubricRating()
        values = tuple(value for value, _ in self.scale)
        reply = await judge.ask(self.prompts[0].about(**texts), reply_type(values))
        return StoredRubricRating(reason=reply.reason, rating=reply.rating)

    def score(self, judged: JudgedRows[StoredRubricRating], _features: Features, /) -> Scores:
        """Return the position of each rating on the scale, from 0 to 1."""
        low, high = self.scale[0][0], self.scale[-1][0]
        ratings = [stored.rating for stored in judged.judgements]
        blank = np.array([rating is None for rating in ratings], dtype=np.bool_)
        values = np.array([0.0 if each is None else (each - low) / (high - low) for each in ratings])
        details: list[dict[str, Any]] = [
            {} if stored.rating is None else {"rating": stored.rating, "judge_reason": stored.reason}
            for stored in judged.judgements
        ]
        return Scores.of(values, undefined={"a text that the judge sees is blank": blank}, details=details)


def _checked_scale(scale: object) -> tuple[tuple[int, str], ...]:
    """Return the pairs of a scale, sorted by value."""
    pairs = [tuple(each) if isinstance(each, (list, tuple)) else () for each in _list("scale", scale)]
    if not all(len(pair) == 2 and type(pair[0]) is int and isinstance(pair[1], str) for pair in pairs):  # noqa: PLR2004 - a pair
        raise ValueError(f"scale must have pairs of a whole number and its description, not {scale!r}")
    if len(pairs) < _MIN_VALUES or len({pair[0] for pair in pairs}) < len(pairs):
        raise ValueError("scale must have at least two values, each once")
    return tuple(sorted((pair[0], pair[1].strip()) for pair in pairs))


def _checked_sees(sees: object) -> tuple[str, ...]:
    names = _list("sees", sees)
    if not names or any(name not in SEEN for name in names):
        raise ValueError(f"sees must be a list of {', '.join(SEEN)}, not {sees!r}")
    return tuple(name for name in SEEN if name in names)


def _list(name: str, value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a list, not {value!r}")
    return list(value)
