"""Score the rows of a pandas or polars frame; the columns have one cell for each row, in the same order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from sgi.engine.evaluate import Options, evaluate
from sgi.engine.summarise import class_keys
from sgi.integrations.average import average
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric, Status
from sgi.kernel.registry import resolve
from sgi.kernel.scored_run import STATUSES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sgi.engine.open_resources import EmbedderLike
    from sgi.engine.results import Result

    MetricsLike = str | AnyMetric | Sequence[str | AnyMetric]

Frame = TypeVar("Frame")

_SAMPLE_COLUMNS = ("id", "label", "metadata")
SCORE_COLUMNS = ("value", "status", "reason")
SUMMARY_COLUMNS = ("metric", "mean", "ok", "rows", "coverage", "undefined", "missing", "failed")


class FrameScorer(ABC, Generic[Frame]):
    """Scores the rows of a frame; every result has one row for each row of the frame, in the same order."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def score(
        self, metric: str | AnyMetric, embedder: EmbedderLike | None = None, **options: Unpack[Options]
    ) -> Frame:
        """Return the columns ``value``, ``status`` and ``reason`` of one metric.

        A row without a value has NaN in pandas, and null in polars. The other arguments are those of
        `sgi.evaluate`. With ``on_error="skip"``, a row that cannot be read has the status ``failed``.
        """
        name = single_metric(metric)
        columns = score_columns(self._frame, metric, embedder, **options)
        chosen = (columns[name], columns[f"{name}_status"], columns[f"{name}_reason"])
        return self._table(dict(zip(SCORE_COLUMNS, chosen, strict=True)))

    def evaluate(
        self,
        metrics: MetricsLike | None = None,
        embedder: EmbedderLike | None = None,
        **options: Unpack[Options],
    ) -> Frame:
        """Return the columns ``METRIC``, ``METRIC_status`` and ``METRIC_reason`` of several metrics.

        The arguments are those of `sgi.evaluate`; None selects the metrics by the columns of the frame. To
        add the columns to the frame, call ``pd.concat([frame, scores], axis=1)`` in pandas, and
        ``frame.hstack(scores)`` in polars.
        """
        return self._table(score_columns(self._frame, metrics, embedder, **options))

    @abstractmethod
    def _table(self, columns: Mapping[str, Sequence[Any]]) -> Frame:
        """Return the columns as a frame; those of `number_columns` have the type float."""


def score_columns(
    frame: Any,
    metrics: MetricsLike | None,
    embedder: EmbedderLike | None = None,
    **options: Unpack[Options],
) -> dict[str, list[Any]]:
    """Return ``{metric, metric_status, metric_reason}`` columns; the arguments are those of `sgi.evaluate`.

    Metrics with classes have one more column, such as ``metric_verdict``. A row without a value has None, and
    so has the reason of a row with a value. A frame without rows gives empty columns.

    Raises:
        UsageError: the frame has rows with two responses, or has no rows and no metric is named.
        DataError: a row cannot be read, unless ``on_error`` is ``"skip"``.
    """
    rows = len(frame)
    if not rows:
        if metrics is None:
            raise UsageError("The frame has no rows, so no metric can be selected.", hint="Name the metrics.")
        return {name: [] for name in column_names(metrics)}
    options.setdefault("allow_empty", True)
    result = evaluate(frame, metrics, embedder, **options)
    if len(result.samples) + len(result.rejected) != rows:
        hint = "Reshape the frame: one response in each row."
        raise UsageError("The frame has rows with two responses, so scores cannot be aligned.", hint=hint)
    columns = {name: column for name, column in result.to_columns().items() if name not in _SAMPLE_COLUMNS}
    return _with_rejected(columns, result, rows) if result.rejected else columns


def _with_rejected(columns: dict[str, list[Any]], result: Result, rows: int) -> dict[str, list[Any]]:
    errors = {rejected.error.line: str(rejected.error) for rejected in result.rejected}
    positions = [row for row in range(rows) if row + 1 not in errors]
    filled: dict[str, list[Any]] = {name: [None] * rows for name in columns}
    for name, column in columns.items():
        for row, value in zip(positions, column, strict=True):
            filled[name][row] = value
    for metric in result:
        for line, error in errors.items():
            if line is not None:
                filled[f"{metric}_status"][line - 1] = Status.FAILED.value
                filled[f"{metric}_reason"][line - 1] = error
    return filled


def single_metric(metric: object) -> str:
    """Return the canonical string of a metric; raises UsageError for several metrics."""
    if isinstance(metric, (list, tuple, set, frozenset)):
        raise UsageError("`score` takes one metric.", hint="Use `evaluate` for several metrics.")
    return resolve([metric])[0].canonical  # type: ignore[list-item]  # resolve reports other types


def column_names(metrics: MetricsLike) -> list[str]:
    """Return the names of the columns that `score_columns` gives for these metrics.

    >>> column_names("rouge_l")
    ['rouge_l', 'rouge_l_status', 'rouge_l_reason']
    """
    several = [metrics] if isinstance(metrics, (str, AnyMetric)) else metrics
    names = [metric.canonical for metric in resolve(several)]
    classes = class_keys(names)
    return [
        column
        for name in names
        for column in (
            name,
            f"{name}_status",
            f"{name}_reason",
            *([f"{name}_{classes[name]}"] if name in classes else []),
        )
    ]


def number_columns(names: Collection[str]) -> set[str]:
    """Return the columns of a result that hold numbers; the others hold text.

    >>> sorted(number_columns(["rouge_l", "rouge_l_status", "rouge_l_reason"]))
    ['rouge_l']
    """
    return {name for name in names if name == SCORE_COLUMNS[0] or f"{name}_status" in names}


def summary_rows(columns: Mapping[Any, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the mean and the coverage of each metric, from columns ``metric`` and ``metric_status``.

    The coverage is the share of rows with a value. A metric without any value has the mean None. The mean of
    a ratio v is that of v/(1+v), converted back.

    Raises UsageError if no column belongs to a metric.

    >>> columns = {"rouge_l": [0.5, 1.0, None], "rouge_l_status": ["ok", "ok", "missing"]}
    >>> summary = summary_rows(columns)
    >>> summary["mean"], summary["ok"], summary["coverage"]
    ([0.75], [2], [0.6666666666666666])
    """
    metrics = [name for name in columns if f"{name}_status" in columns]
    if not metrics:
        message = "The frame has no scores: no column NAME with a column NAME_status."
        raise UsageError(message, hint="Call `summary` on the frame that `evaluate` returns.")
    rows = [_summary_row(name, columns[name], columns[f"{name}_status"]) for name in metrics]
    return {name: [row[name] for row in rows] for name in SUMMARY_COLUMNS}


def _summary_row(name: str, values: Sequence[Any], statuses: Sequence[Any]) -> dict[str, Any]:
    counts = {status: sum(each == status.value for each in statuses) for status in STATUSES}
    unknown = len(statuses) - sum(counts.values())
    if unknown:
        raise UsageError(f"{unknown} rows of the column '{name}_status' have no status of SGI.")
    ok = [float(v) if each == Status.OK.value else None for v, each in zip(values, statuses, strict=True)]
    averaged = average(name, ok)
    return {
        "metric": name,
        "mean": averaged.mean,
        "ok": averaged.ok,
        "rows": averaged.rows,
        "coverage": averaged.coverage,
        **{status.value: counts[status] for status in STATUSES if status is not Status.OK},
    }
