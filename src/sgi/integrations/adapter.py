"""The shared part of the adapters: find a row in the values of a host framework, and score it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, Unpack

import numpy as np
from pydantic import BaseModel

from sgi.engine.grounding_report import unsupported_sentences
from sgi.engine.open_resources import ModelKeywords
from sgi.engine.summarise import on_mean_scale, with_range
from sgi.io.column_names import NAMES
from sgi.io.columns import checked_mapping, join_names, known_name
from sgi.io.mapping import join, read_source, resolve
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi.kernel.metric import AnyMetric, Score, Status
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.raw_values import PathAbsentError, is_absent
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.service.scorer import Scorer
from sgi.stats.intervals import ratio_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sgi.engine.run_options import EmbedderLike
    from sgi.kernel.metric import MetricSpec

MAX_WAITING = 1 << 20
"""The host decides how many rows it evaluates at once, so waiting rows are not limited."""

MAX_KEYS = 12
"""The maximum number of keys of a part in the reason of a missing field."""

_FIELDS = ("id", "question", "contexts", "response", "reference")
# The fields that an object can hold, by the field that the part is if it is not an object. The parts are
# searched in this order, so passages beside the response win over passages beside the question. An object
# with the expected answer gives no passages: they would be ideal passages, not the retrieved ones.
_FIELDS_OF_PART = {
    "response": ("response", "contexts"),
    "reference": ("reference",),
    "question": ("id", "question", "contexts", "reference"),
    "": ("id", "question", "contexts", "reference"),
    "contexts": ("contexts",),
    "row": _FIELDS,
}


def describe(score: Score) -> str:
    """Return status and reason as one text, such as ``missing: the sample has no contexts``."""
    return f"{score.status.value}: {score.reason}" if score.reason else score.status.value


def explain(score: Score) -> str:
    """Return the explanation of a score: why it has no value, or which sentences are unsupported.

    Contradicted sentences count as unsupported; for other metrics the text is empty.
    """
    if score.value is None:
        return describe(score)
    evidence = EvidenceMap.read(score.details)
    return (
        ""
        if evidence is None
        else " ".join(f"Unsupported: {text}" for text in unsupported_sentences(evidence))
    )


def nan_if_none(value: float | None) -> float:
    """Return the value, for a host that requires a number and leaves NaN out of its means."""
    return np.nan if value is None else value


class Average(NamedTuple):
    """The mean of a metric over rows, with its coverage.

    Attributes:
        mean: the mean over the rows with a value; None without any.
        ok: the number of rows with a value.
        rows: the number of all rows.
        coverage: the share of rows with a value; None without rows.

    >>> str(Average(0.5, 3, 4, 0.75))
    '3 of 4 rows have a value'
    """

    mean: float | None
    ok: int
    rows: int
    coverage: float | None

    def __str__(self) -> str:
        return f"{self.ok} of {self.rows} rows have a value"


def average(metric: str, values: Sequence[float | None]) -> Average:
    """Return the mean of a metric, as the summary of a run computes it, with its coverage.

    Args:
        metric: the canonical string of the metric. The mean of a ratio v is the mean of v/(1+v), converted
        back.
        values: the values of all rows; None for a row without a value.

    >>> average("rouge_l", [0.5, None, 1.0, 0.0]), average("sgi", [0.5, 2.0]).mean
    (Average(mean=0.5, ok=3, rows=4, coverage=0.75), 1.0)
    """
    known = np.array([value for value in values if value is not None])
    coverage = len(known) / len(values) if values else None
    if not len(known):
        return Average(None, 0, len(values), coverage)
    column = with_range(MetricColumn(metric, known, np.zeros(len(known), dtype=np.int8)))
    mean = float(on_mean_scale(column).values.mean())
    return Average(ratio_of(mean) if column.is_ratio else mean, len(known), len(values), coverage)


class HostScorer:
    """Scores rows of a host framework; opens the models, and shares them with equal configurations.

    A part is one of the values that the host gives to an evaluator. A field that is None, or that no part
    holds, is not given, and metrics that need it have the status ``missing``; a blank text is data. A row
    that cannot be read has the status ``failed`` in every metric, with the error as its reason.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        parts: the host's name of each part → the field that the part is if it is not an object: "question",
            "contexts", "response", "reference", or "" for none. An object gives only fields that belong in
            its part; one that is a "row" gives all.
        columns: field → the part and key that hold it, such as ``{"contexts": "outputs.documents"}``, for the
            fields that are not found by their usual names.
        options: further arguments of `sgi.Scorer`, such as ``judge``.

    Raises:
        UsageError: a metric, an option or a place in ``columns`` is invalid.
        SgiError: a model or the judge cannot be opened.

    >>> host = HostScorer(["squad_em"], parts={"output": "response", "expected": "reference"})
    >>> host.score(output={"answer": "Paris"}, expected="paris")["squad_em"].value
    1.0
    >>> describe(host.score(output="Paris", expected=None)["squad_em"])
    'missing: the sample has no reference'
    """

    def __init__(
        self,
        metrics: str | AnyMetric | Sequence[str | AnyMetric],
        embedder: EmbedderLike | None = None,
        /,
        *,
        parts: Mapping[str, str],
        columns: Mapping[str, str] | None = None,
        **options: Unpack[ModelKeywords],
    ) -> None:
        self._parts = dict(parts)
        self._columns = dict(checked_mapping(columns))
        for text in self._columns.values():
            if None in resolve(text, tuple(parts)).values():
                hint = f"Begin it with one of: {', '.join(parts)}."
                raise UsageError(f"`columns` names an unknown part: {text!r}.", hint=hint)
        self._scorer = shared_scorer(metrics, embedder, **options)
        # Opened now: hosts repeat an error of a row, some of them many times.
        _ = self._scorer.resources

    @property
    def metrics(self) -> tuple[str, ...]:
        """The canonical strings of the metrics."""
        return self._scorer.metrics

    @property
    def specs(self) -> dict[str, MetricSpec]:
        """The descriptions of the metrics, by canonical string."""
        return self._scorer.specs

    def only_metric(self) -> str:
        """Return the canonical string of the metric; raises UsageError if there are several."""
        if len(self.metrics) != 1:
            names = ", ".join(self.metrics)
            hint = "Make one evaluator for each metric. A `calibration` adds a metric."
            raise UsageError(f"This adapter takes one metric, not {names}.", hint=hint)
        return self.metrics[0]

    def score(self, **values: object) -> dict[str, Score]:
        """Score the row in the values of a framework; return the scores by canonical metric string."""
        return self.score_many([values])[0]

    async def ascore(self, **values: object) -> dict[str, Score]:
        """Score one row like `score`, without blocking the event loop."""
        try:
            return _name_keys(await self._scorer.ascore(self.row(**values)), values)
        except DataError as error:
            return _failed(self.metrics, error)

    def score_many(self, rows: Sequence[Mapping[str, object]]) -> list[dict[str, Score]]:
        """Score several rows, each given as for `score`; this is faster than single calls."""
        scores = score_rows(self._scorer, rows, lambda row: self.row(**row))
        return [_name_keys(each, row) for each, row in zip(scores, rows, strict=True)]

    def row(self, **values: object) -> dict[str, Any]:
        """Return the fields in a framework's values, by their names in `sgi.evaluate`; None if absent.

        Raises:
            DataError: a path in ``columns`` does not fit the value.
        """
        plain = {name: _plain(value) for name, value in values.items()}
        found: dict[str, Any] = dict.fromkeys(_FIELDS)
        for kind, supplied in _FIELDS_OF_PART.items():
            for name in (name for name, part in self._parts.items() if part == kind and name in plain):
                for field, value in _fields_in(plain[name], kind, supplied).items():
                    found[field] = value if found[field] is None else found[field]
        return found | {field: _mapped(text, plain) for field, text in self._columns.items()}

    def __deepcopy__(self, memo: object) -> Self:
        return self  # hosts copy their evaluators; the copies share the open models


class HostEvaluator:
    """Base of evaluators that take several metrics; a subclass lists the inputs of its framework.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → the part and key that hold it, as for `HostScorer`.
        options: further arguments of `sgi.Scorer`, such as ``judge``.

    Raises:
        UsageError: a metric or an option is invalid.
    """

    parts: ClassVar[Mapping[str, str]]

    def __init__(
        self,
        metrics: str | AnyMetric | Sequence[str | AnyMetric] = "grounding",
        embedder: EmbedderLike | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        **options: Unpack[ModelKeywords],
    ) -> None:
        self._host = HostScorer(metrics, embedder, parts=self.parts, columns=columns, **options)


def _fields_in(value: object, kind: str, supplied: tuple[str, ...]) -> dict[str, object]:
    """Return the given fields of a part: those of its recognised keys, or the part itself."""
    if not isinstance(value, dict):
        return {kind: value} if kind in _FIELDS and not is_absent(value) else {}
    by_name = {known_name(key): item for key, item in value.items() if not is_absent(item)}
    found: dict[str, object] = {}
    for field in supplied:
        names = NAMES[field] + (NAMES["response"] if kind == "reference" else ())
        if known := [by_name[name] for name in names if name in by_name]:
            found[field] = known[0]
    return found


def _name_keys(scores: dict[str, Score], parts: Mapping[str, object]) -> dict[str, Score]:
    """Add the keys of the parts to the reasons of missing fields, which can be there under another name."""
    if all(score.status != Status.MISSING for score in scores.values()):
        return scores
    texts = []
    for part, value in parts.items():
        plain = _plain(value)
        keys = plain.items() if isinstance(plain, dict) else ()
        if named := [repr(str(key)[:60]) for key, item in keys if item is not None]:
            texts.append(f"{part} has {join_names(named, MAX_KEYS)}")
    where = f" ({'; '.join(texts)})" if texts else ""
    return {
        name: replace(score, reason=score.reason + where) if score.status == Status.MISSING else score
        for name, score in scores.items()
    }


def _mapped(text: str, parts: Mapping[str, object]) -> object:
    found = []
    for source in resolve(text, tuple(parts)).values():
        try:
            value = None if source is None else read_source(parts, source)
        except PathAbsentError:
            continue
        if not is_absent(value):
            found.append(value)
    return join(found) if len(found) > 1 else next(iter(found), None)


def _plain(value: object) -> object:
    """Return dataclasses, pydantic models and mappings as dicts, also in lists; other values as they are."""
    if isinstance(value, BaseModel):
        return {name: _plain(item) for name, item in value}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "items"):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def shared_scorer(
    metrics: str | AnyMetric | Sequence[str | AnyMetric],
    embedder: EmbedderLike | None = None,
    /,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[ModelKeywords],
) -> Scorer:
    """Return an open scorer; equal arguments give the same scorer. They are as in `sgi.Scorer`.

    >>> shared_scorer("squad_em", embeder="minilm")
    Traceback (most recent call last):
    sgi.kernel.errors.UnknownNameError: Unknown argument 'embeder'. Did you mean 'embedder'? Known ...
    """
    known = [*ModelKeywords.__annotations__, "columns", "max_waiting"]
    for name in sorted(options.keys() - known):
        near = tuple(get_close_matches(name, {"metrics", "embedder", *known} - {name}, n=1))
        raise UnknownNameError("argument", name, near, hint=f"Known arguments: {', '.join(known)}.")
    names = (metrics,) if isinstance(metrics, (str, AnyMetric)) else tuple(metrics)
    settings: dict[str, Any] = {"max_waiting": MAX_WAITING, "columns": columns, **options}
    configuration: tuple[Any, ...] = (names, embedder, tuple(sorted(settings.items())))
    try:
        hash(configuration)
    except TypeError:  # such as a judge given as a mapping
        return Scorer(names, embedder, **settings)
    return _shared(*configuration)


@lru_cache(maxsize=16)
def _shared(metrics: tuple[Any, ...], embedder: Any, options: tuple[tuple[str, Any], ...]) -> Scorer:
    return Scorer(metrics, embedder, **dict(options))


def score_rows(
    scorer: Scorer,
    rows: Sequence[Mapping[str, Any]],
    read: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> list[dict[str, Score]]:
    """Score rows; a row that cannot be read has the status ``failed``.

    Args:
        scorer: the open scorer.
        rows: the rows.
        read: returns the fields of a row under recognised names.
    """
    try:
        return scorer.score_many([read(row) for row in rows])
    except DataError as error:
        if len(rows) == 1:
            return [_failed(scorer.metrics, error)]
    half = len(rows) // 2  # the error names one row; most others are scored in large batches
    return [*score_rows(scorer, rows[:half], read), *score_rows(scorer, rows[half:], read)]


def _failed(metrics: Iterable[str], error: DataError) -> dict[str, Score]:
    reason = str(DataError(error.message, field=error.field, hint=error.hint))
    return dict.fromkeys(metrics, Score(None, Status.FAILED, reason))
