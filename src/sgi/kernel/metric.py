"""Base classes of metrics, and their results."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, field, fields
from dataclasses import Field as DataclassField
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, cast

import numpy as np
from typing_extensions import TypeVar

from sgi.kernel.details import NoDetails
from sgi.kernel.short_text import short_repr
from sgi.kernel.vectors import EntailmentNeeds, TokenNeeds, VectorNeeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch, Fields
    from sgi.kernel.vectors import Features


class Question(StrEnum):
    """The question that a metric answers; `sgi metrics` groups metrics by it, in this order."""

    SUPPORTED = "Is the answer supported?"
    RIGHT = "Is it right?"
    FOUND = "Was the passage found?"
    CITED = "Was it cited?"
    REFUSED = "Did it refuse?"
    TOPIC = "Is it on topic?"
    RULES = "Does it follow your rules?"
    COST = "What did it cost?"
    OTHER = "Other"


class MetricHelp(NamedTuple):
    """The help of a metric, in plain words.

    Attributes:
        question: the question that it answers.
        reading: how to read a value: what a high, a low and a middle value mean.
        limits: when it misleads, and when a row has no value.
    """

    question: Question
    reading: str
    limits: str


COUNT = "count"
"""Unit of a metric whose value for a row is 1 or 0; the summary counts the rows with 1."""

PERCENT = "%"
"""Unit of a metric from 0 to 100."""

SCORE = "score"
"""Unit of a metric from 0 to 1 that is not a share or a probability, so it is never displayed as percent."""

MILLISECONDS, TOKENS, DOLLARS = "ms", "tokens", "$"
"""Units of latency, tokens and cost; summaries have percentiles of metrics with these units."""
COST_UNITS = frozenset({MILLISECONDS, TOKENS, DOLLARS})

RATIO = "ratio"
"""Unit of a ratio v in [0, ∞), whose mean is computed on the scale v/(1+v); see `sgi.stats.intervals`."""

_NOTHING: Mapping[str, Any] = {}

P = TypeVar("P", default="Batch")
"""The type of the value that `Metric.prepare` returns."""


class Status(StrEnum):
    """Status of a row: it has a value, or the reason that it has none."""

    OK = "ok"
    UNDEFINED = "undefined"
    MISSING = "missing"
    FAILED = "failed"


@dataclass(frozen=True)
class MetricSpec:
    """Name, range and needs of a metric.

    Attributes:
        name: the name in commands, rules and tables: a-z, 0-9 and ``_``.
        version: the version of the definition, from 1; a change that affects values increments it.
        needs: the required fields, a frozenset of `sgi.types.Field`; a row without one is ``missing``.
        low: the smallest possible value; ``-math.inf`` if there is none.
        high: the largest possible value; ``math.inf`` if there is none, as for a number of words.
        higher_is_better: whether a greater value is better.
        unit: how summaries use the values. ``""``: a number; with the range 0 to 1 a share, displayed in
            percent. ``"score"``: from 0 to 1, never displayed in percent. ``"%"``: from 0 to 100.
            ``"count"``: 1 or 0 for each row; the summary counts the rows with 1. ``"ratio"``: at least 0; its
            mean is computed on the scale v/(1+v). ``"ms"``, ``"tokens"``, ``"$"``: with percentiles.
        citation: the source of the definition.
        category: the key of ``details`` with the class or grade of a row; summaries count it.
        classes: the classes or grades, in display order.
        details: a class with the schema of the details of a row, a `TypedDict`.
        guide: the question that the metric answers, and how to read it; None if a plugin gives none.
    """

    name: str
    version: int
    needs: Fields
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    unit: str = ""
    citation: str = ""
    category: str = ""
    classes: tuple[str, ...] = ()
    details: type[Any] = NoDetails
    guide: MetricHelp | None = None

    def in_order(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Sort counts by the order of ``classes``; other names follow, the most frequent first.

        >>> spec = MetricSpec("mark", 1, frozenset(), 0.0, 1.0, category="grade", classes=("A", "B", "C"))
        >>> spec.in_order({"C": 9, "other": 1, "A": 2})
        {'A': 2, 'C': 9, 'other': 1}
        """
        others = sorted(counts.keys() - {*self.classes}, key=lambda name: (-counts[name], name))
        return {name: counts[name] for name in (*self.classes, *others) if name in counts}


@dataclass(frozen=True)
class Score:
    """The score of one metric for one row.

    Attributes:
        value: the value; None if and only if the status is not ``ok``.
        status: ``ok``, ``undefined`` (no value for these texts), ``missing`` (no field) or ``failed``.
        reason: why the row has no value; empty if it has one.
        details: intermediate results; ``sgi.metric(NAME).spec.details`` describes the keys.

    >>> score = Score(None, Status.MISSING, "the sample has no reference")
    >>> score.status == "missing", score.details
    (True, {})
    """

    value: float | None
    status: Status = Status.OK
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class Scores:
    """Value, status, reason and details of each row; a value is NaN if and only if the status is not ok.

    Attributes:
        values: float64, shape (n,).
        status: values of `Status`, shape (n,).
        reasons: why a row has no value; empty if the status is ok.
        details: intermediate results, as JSON.

    >>> scores = Scores.of(np.array([0.5, 0.1]), undefined={"the response is blank": np.array([False, True])})
    >>> scores.values.tolist(), scores.status.tolist(), scores.reasons
    ([0.5, nan], ['ok', 'undefined'], ('', 'the response is blank'))
    """

    values: NDArray[np.float64]
    status: NDArray[np.str_]
    reasons: tuple[str, ...]
    details: tuple[Mapping[str, JsonValue], ...] = field(repr=False)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        n = len(self.values)
        if not n == len(self.status) == len(self.reasons) == len(self.details):
            raise ValueError("values, status, reasons and details must have the same length")
        if not np.array_equal(np.isfinite(self.values), self.ok):
            raise ValueError("a value must be finite if and only if its status is ok")
        if any(map(bool.__eq__, map(bool, self.reasons), self.ok.tolist())):
            raise ValueError("a row must have a reason if and only if its status is not ok")

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],
        *,
        undefined: Mapping[str, NDArray[np.bool_]] = _NOTHING,
        details: Sequence[Mapping[str, JsonValue]] | None = None,
    ) -> Self:
        """Make scores from computed values.

        Args:
            values: shape (n,); finite in every row that is not in ``undefined``.
            undefined: for each reason a mask of the rows for which the formula is undefined; if several
                reasons apply to a row, the first is used.
            details: one mapping for each row; None means no details.
        """
        out = np.array(values, dtype=np.float64)
        status = np.full(len(out), Status.OK.value, dtype="<U9")
        reasons = [""] * len(out)
        for reason, mask in undefined.items():
            if mask.any():
                for row in np.flatnonzero(mask & (status == Status.OK.value)):
                    reasons[row] = reason
                status[mask] = Status.UNDEFINED.value
                out[mask] = np.nan
        return cls(out, status, tuple(reasons), tuple(details) if details else (_NOTHING,) * len(out))

    @classmethod
    def without_value(cls, status: Status, reasons: Sequence[str]) -> Self:
        """Make the scores of rows that have no value, each with its reason."""
        n = len(reasons)
        return cls(np.full(n, np.nan), np.full(n, status.value, dtype="<U9"), tuple(reasons), (_NOTHING,) * n)

    @classmethod
    def join(cls, parts: Sequence[Scores]) -> Self:
        """Return the scores of consecutive batches as one."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.status for part in parts]),
            tuple(reason for part in parts for reason in part.reasons),
            tuple(details for part in parts for details in part.details),
        )

    @classmethod
    def assemble(cls, n: int, parts: Iterable[tuple[NDArray[np.int64], Scores]]) -> Self:
        """Build the scores of ``n`` rows from parts; each part has row numbers, and each row occurs once."""
        values = np.full(n, np.nan)
        status = np.full(n, "", dtype="<U9")
        reasons = [""] * n
        details: list[Mapping[str, JsonValue]] = [_NOTHING] * n
        covered = 0
        for rows, part in parts:
            covered += len(rows)
            values[rows], status[rows] = part.values, part.status
            for row, reason, detail in zip(rows, part.reasons, part.details, strict=True):
                reasons[row], details[row] = reason, detail
        if covered != n:
            raise ValueError(f"the parts must contain each of {n} rows once; they contain {covered} rows")
        return cls(values, status, tuple(reasons), tuple(details))

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Mask of the rows that have a value."""
        return np.asarray(self.status == Status.OK.value)  # plain text: numpy is slow to compare enums

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, start: int, stop: int) -> Scores:
        """Return the scores of the rows from ``start`` to ``stop`` (exclusive)."""
        rows = slice(start, stop)
        return Scores(self.values[rows], self.status[rows], self.reasons[rows], self.details[rows])

    def row(self, number: int) -> Score:
        """Return the score of one row."""
        status = Status(str(self.status[number]))
        value = float(self.values[number]) if status is Status.OK else None
        return Score(value, status, self.reasons[number], self.details[number])


class AnyMetric(ABC):
    """Base class of `Metric` and `JudgedMetric`.

    A subclass is a frozen dataclass whose fields are the metric's parameters.
    """

    spec: ClassVar[MetricSpec]
    metric_parameters: ClassVar[frozenset[str]] = frozenset()
    """Names of the parameters that are lists of metrics."""
    example: ClassVar[str] = ""
    """A canonical string, for a metric with parameters that have no default; otherwise empty."""

    @cached_property
    def canonical(self) -> str:
        """The name with the parameters that are not defaults; `sgi.kernel.registry.metric` parses it.

        A parameter ``k`` follows the name, as in ``recall@5``.
        """
        values = {name: json.dumps(value, ensure_ascii=False) for name, value in self.parameters.items()}
        name = f"{self.spec.name}@{values.pop('k')}" if "k" in values else self.spec.name
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        return f"{name}({arguments})" if arguments else name

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)  # type: ignore[arg-type]  # every metric is a dataclass
            if getattr(self, each.name) != _default(each)
        }

    @classmethod
    def required_parameters(cls) -> tuple[str, ...]:
        """Return the names of the parameters that have no default."""
        return tuple(
            each.name
            for each in fields(cls)  # type: ignore[arg-type]  # every metric is a dataclass
            if each.init and _default(each) is MISSING
        )

    @cached_property
    def vector_needs(self) -> VectorNeeds | None:
        """The metric itself if it defines ``texts``, or None."""
        return self if isinstance(self, VectorNeeds) else None

    @cached_property
    def token_needs(self) -> TokenNeeds | None:
        """The metric itself if it defines ``token_model``, ``weighs_tokens`` and ``token_texts``, or None."""
        return self if isinstance(self, TokenNeeds) else None

    @cached_property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """The metric itself if it defines ``entailment_model`` and ``pairs``, or None."""
        return self if isinstance(self, EntailmentNeeds) else None

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """Return the names of the required embedders; this default is the first embedder of the run."""
        return configured[:1]

    def texts_by_embedder(
        self, prepared: Any, configured: tuple[str, ...], /
    ) -> Mapping[str, tuple[str, ...]]:
        """Return the texts to embed by the name of the embedder; this default is all texts for each."""
        if self.vector_needs is None:
            return {}
        texts = tuple(dict.fromkeys(self.vector_needs.texts(prepared)))
        return dict.fromkeys(self.vector_needs.embedder_names(configured), texts)

    def without_details(self) -> Self:
        """Return a metric with equal values that omits work which is only for details; by default itself."""
        return self

    def prepare(self, rows: Any, /) -> Any:
        """Compute the input of ``score`` and of the methods that list texts; by default the rows."""
        return rows

    @abstractmethod
    def score(self, prepared: Any, features: Features, /) -> Scores:
        """Return one score for each row."""


class Metric(AnyMetric, Generic[P]):
    """Base class of your own metrics that need no judge. A metric has no state and does no I/O.

    A subclass is a frozen dataclass whose fields are the parameters of the metric. It defines ``spec`` and
    ``score``, and the members of `VectorNeeds`, `TokenNeeds` or `EntailmentNeeds` for the models it uses. It
    receives only rows that have all fields of ``spec.needs``; the other rows get the status ``missing``.

    >>> from sgi import evaluate
    >>> from sgi.kernel.sample import Field
    >>> @dataclass(frozen=True)
    ... class Words(Metric):
    ...     spec = MetricSpec("words", 1, frozenset({Field.RESPONSE}), high=np.inf)
    ...     def score(self, prepared, features, /):
    ...         return Scores.of(np.array([float(len(text.split())) for text in prepared.response]))
    >>> evaluate([{"response": "It is Paris."}], Words())["words"].values.tolist()
    [3.0]
    """

    def prepare(self, rows: Batch, /) -> P:
        """Compute the input of `score` and of the methods that list texts; by default the batch."""
        return cast("P", rows)

    @abstractmethod
    def score(self, prepared: P, features: Features, /) -> Scores:
        """Compute the scores of a batch.

        Args:
            prepared: the result of `prepare`: by default the batch, with columns such as ``response``.
            features: the vectors and the results of models that the metric asked for.

        Returns:
            A score for each row, in order; `Scores.of` makes them from values.
        """


def _default(field: DataclassField[Any]) -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default
