"""A judged metric from data: criteria, a scale, and the texts that the judge sees."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, create_model

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.sample import Field
from sgi.kernel.short_text import quote
from sgi.metrics.judged.reply_types import Reason, whole

if TYPE_CHECKING:
    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.prompts import Section
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features

SEEN = ("turns", "question", "contexts", "response", "reference")
"""The fields of a row that a rubric can show to the judge, in the order of the prompt."""

MAX_EXAMPLES = 20
"""Maximum number of examples in a prompt."""

_COLUMN = re.compile(r"metadata\.\w[\w.-]{0,59}")
_LISTS = frozenset({"turns", "contexts"})
_MIN_VALUES = 2
MAX_VALUES = 101
"""Maximum number of values of a scale, such as 0 to 100."""
_INDENT = "\n     "
"""Begins the further lines of a description, so that they are a part of it in the prompt."""
Pairs = tuple[tuple[str, Any], ...]


class StoredRubricRating(BaseModel, frozen=True):
    """A stored rating: a value of the scale; None if the judge was not asked.

    Attributes:
        blank: what is blank or absent in the row, so that the judge was not asked.
    """

    reason: str = ""
    rating: int | None = None
    blank: str = ""


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
    itself. One call for each row. A row is undefined if a part that the judge sees is blank, or if it lacks a
    column of ``metadata``.

    Without ``examples``, the prompt has a neutral one: no real texts, and the middle value of the scale.

    Limits: a row that is longer than the budget of the judge fails. Ratings of a rubric that nobody compared
    with human labels can be wrong; see ``sgi judge agree``.

    Attributes:
        criteria: what the judge rates, in your words.
        scale: pairs of a whole number and its description.
        sees: what the judge sees: turns (all messages with their roles), question, contexts, response,
            reference, and further columns as ``metadata.NAME``.
        examples: tables, each with a text for each name in ``sees`` (a list of texts for contexts and turns),
            and the right reply: ``reason`` and ``rating``.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> metric = Rubric("Is the response polite?", ((1, "rude"), (2, "neutral"), (3, "polite")))
    >>> rows = Batch.of([Sample(id="1", question="When?", response="In 1950.")])
    >>> stored = StoredRubricRating(reason="It is short.", rating=2)
    >>> metric.score(JudgedRows(rows, [stored]), Features()).values.tolist()
    [0.5]
    """

    criteria: str
    scale: tuple[tuple[int, str], ...]
    sees: tuple[str, ...] = ("question", "response")
    examples: tuple[Pairs, ...] = ()
    spec: ClassVar = MetricSpec(
        "rubric",
        1,
        needs=frozenset({Field.RESPONSE}),
        citation="our own",
        details=RubricDetails,
        guide=MetricHelp(
            Question.RULES,
            "1: the row meets all your criteria in full. 0: it meets none.",
            "It depends on the judge and on how clear your criteria are: compare only runs with the same "
            "judge. A row fails if the judge gives no usable reply.",
        ),
    )
    judgement: ClassVar = StoredRubricRating
    example: ClassVar = (
        'rubric(criteria="Is the response polite?", scale=[[1, "rude"], [2, "neutral"], [3, "polite"]])'
    )

    def __post_init__(self) -> None:
        criteria: object = self.criteria
        if not isinstance(criteria, str) or not criteria.strip():
            raise ValueError("criteria must be a text that is not blank")
        _check_text(criteria, "criteria")
        object.__setattr__(self, "scale", _checked_scale(self.scale))
        object.__setattr__(self, "sees", _checked_sees(self.sees))
        object.__setattr__(self, "examples", self._checked_examples())
        needs = frozenset(Field(name) for name in self.sees if name in SEEN)
        object.__setattr__(self, "spec", replace(type(self).spec, needs=needs))
        object.__setattr__(self, "prompts", (self._prompt(),))

    def _prompt(self) -> Prompt:
        values = [value for value, _ in self.scale]
        lines = [f"  {value}: {_INDENT.join(text.splitlines())}" for value, text in self.scale]
        instructions = f"""\
Rate the texts by these criteria:
{self.criteria.strip()}

rating is one of these numbers:
{chr(10).join(lines)}

reason comes first: one or two sentences that name what decides the rating. {self._words_on_examples()}"""
        reply = reply_type(tuple(values))
        examples = [dict(pairs) for pairs in self.examples]
        if not examples:
            neutral: dict[str, Any] = {name: _neutral(name) for name in self.sees}
            rating = values[len(values) // 2]
            examples = [{**neutral, "reason": "What decides the rating.", "rating": rating}]
        shown = [
            Example(
                {name: each[name] for name in self.sees}, reply(reason=each["reason"], rating=each["rating"])
            )
            for each in examples
        ]
        return Prompt("rubric.rating", instructions, tuple(shown))

    def _words_on_examples(self) -> str:
        if not self.examples:
            return "The example only shows the form of a reply."
        return "The examples have right replies about other texts."

    def _checked_examples(self) -> tuple[Pairs, ...]:
        """Return each example as pairs: the parts in the order of ``sees``, the reason, the rating."""
        examples = _list("examples", self.examples)
        if len(examples) > MAX_EXAMPLES:
            raise ValueError(f"examples has {len(examples)} entries; at most {MAX_EXAMPLES} are allowed")
        return tuple(self._checked_example(each, f"example {n}") for n, each in enumerate(examples, 1))

    def _checked_example(self, example: object, place: str) -> Pairs:
        table = _table(example, place)
        names = (*self.sees, "reason", "rating")
        if table.keys() != {*names}:
            raise ValueError(f"{place} must have {', '.join(names)}; it has {', '.join(table) or 'nothing'}")
        values = [value for value, _ in self.scale]
        if type(table["rating"]) is not int or table["rating"] not in values:
            allowed = ", ".join(map(str, values))
            raise ValueError(f"{place}: rating must be one of {allowed}, not {table['rating']!r}")
        for name in names[:-1]:
            table[name] = _checked_part(table[name], name in _LISTS, f"{place}: {name}")
        return tuple((name, table[name]) for name in names)

    async def ask(self, sample: Sample, judge: Judge, /) -> StoredRubricRating:
        """Return the rating of a sample; none if a part is blank."""
        texts = {name: _part(sample, name) for name in self.sees}
        for name, text in texts.items():
            if not "".join(text).strip():
                return StoredRubricRating(blank=name)
        values = tuple(value for value, _ in self.scale)
        reply = await judge.ask(self.prompts[0].about(**texts), reply_type(values))
        return StoredRubricRating(reason=reply.reason, rating=reply.rating)

    def score(self, judged: JudgedRows[StoredRubricRating], _features: Features, /) -> Scores:
        """Return the position of each rating on the scale, from 0 to 1."""
        low, high = self.scale[0][0], self.scale[-1][0]
        ratings = [stored.rating for stored in judged.judgements]
        blank = np.array([stored.blank for stored in judged.judgements], dtype=np.str_)
        undefined = {
            f"{name} is blank" + (" or absent" if name not in SEEN else ""): blank == name
            for name in self.sees
        }
        values = np.array([np.nan if each is None else (each - low) / (high - low) for each in ratings])
        details: list[dict[str, Any]] = [
            {} if stored.rating is None else {"rating": stored.rating, "judge_reason": stored.reason}
            for stored in judged.judgements
        ]
        return Scores.of(values, undefined=undefined, details=details)


def _checked_scale(scale: object) -> tuple[tuple[int, str], ...]:
    """Return the pairs of a scale, sorted by value."""
    pairs = [tuple(each) if isinstance(each, (list, tuple)) else () for each in _list("scale", scale)]
    if not all(len(pair) == 2 and type(pair[0]) is int and isinstance(pair[1], str) for pair in pairs):  # noqa: PLR2004 - a pair
        raise ValueError(f"scale must have pairs of a whole number and its description, not {scale!r}")
    if len(pairs) < _MIN_VALUES or len({pair[0] for pair in pairs}) < len(pairs):
        raise ValueError("scale must have at least two values, each once")
    if len(pairs) > MAX_VALUES:
        raise ValueError(f"scale has {len(pairs):,} values; at most {MAX_VALUES} are allowed")
    texts = [pair[1].strip() for pair in pairs]
    for text in texts:
        _check_text(text, "scale")
        if text and texts.count(text) > 1:
            raise ValueError(f"scale gives two values the same description {quote(text)!r}")
    return tuple(sorted((pair[0], pair[1].strip()) for pair in pairs))


def _check_text(text: str, place: str) -> None:
    """Raise a ValueError for a text with control characters other than white space, or lone surrogates."""
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs"} and not character.isspace():
            raise ValueError(f"{place} has the control character {character!a}")


def _checked_sees(sees: object) -> tuple[str, ...]:
    """Return the names of fields in the order of the prompt, then the names of further columns."""
    names = _list("sees", sees)
    if not names or not all(
        isinstance(each, str) and (each in SEEN or _COLUMN.fullmatch(each)) for each in names
    ):
        raise ValueError(f"sees must be a list of {', '.join(SEEN)} and metadata.NAME, not {sees!r}")
    columns = dict.fromkeys(name for name in names if name not in SEEN)
    return (*(name for name in SEEN if name in names), *columns)


def _part(sample: Sample, name: str) -> Section:
    """Return what the judge sees of a sample under a name; blank if it is absent."""
    if name == "turns":
        return tuple(f"{turn.role}: {turn.text}" for turn in sample.turns if turn.text.strip())
    if name == "contexts":
        return tuple(text for text in sample.contexts if text.strip())
    if name in SEEN:
        return str(getattr(sample, name))
    value = sample.metadata.get(name.removeprefix("metadata."))
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _neutral(name: str) -> Section:
    """Return a text without content for an example."""
    if name == "turns":
        return ("user: A question.", "assistant: A response.")
    return ("A passage.",) if name == "contexts" else f"A {name.removeprefix('metadata.')}."


def _table(example: object, place: str) -> dict[str, object]:
    """Return an example as a flat table; it may be a table, also with a table ``metadata``, or pairs."""
    try:
        table = dict(example)  # type: ignore[call-overload]  # other values raise
    except (TypeError, ValueError):
        raise TypeError(f"{place} must be a table, not {example!r}") from None
    columns = table.pop("metadata", {})
    if not isinstance(columns, Mapping):
        raise TypeError(f"{place}: metadata must be a table, not {columns!r}")
    return {
        **{str(key): value for key, value in table.items()},
        **{f"metadata.{key}": value for key, value in columns.items()},
    }


def _checked_part(value: object, is_list: bool, place: str) -> Section:
    """Return a text, or a list of texts as a tuple; raises ValueError for other values and blank texts."""
    texts: object = value if is_list else [value]
    if (
        not isinstance(texts, (list, tuple))
        or not texts
        or not all(isinstance(text, str) and text.strip() for text in texts)
    ):
        kind = "a list of texts that are not blank" if is_list else "a text that is not blank"
        raise ValueError(f"{place} must be {kind}, not {value!r}")
    return tuple(texts) if is_list else str(value)


def _list(name: str, value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a list, not {value!r}")
    return list(value)
