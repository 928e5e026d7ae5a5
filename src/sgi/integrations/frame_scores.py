"""Score the rows of a pandas or polars frame; the columns have one cell for each row, in the same order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from sgi.engine.evaluate import evaluate
from sgi.engine.export import flat_columns
from sgi.integrations.adapter import average
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric, Scores, Status
from sgi.kernel.registry import resolve
from sgi.kernel.sample import Batch

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sgi.engine.open_resources import OptionKeywords
    from sgi.engine.run import Run
    from sgi.engine.run_options import EmbedderLike

    MetricsLike = str | AnyMetric | Sequence[str | AnyMetric]

Frame = TypeVar("Frame")

_SAMPLE_COLUMNS = ("id", "label", "metadata")
_VALUE = "value"


class FrameScorer(ABC, Generic[Frame]):
    """Scores the rows of a frame; every result has one row for each row of the frame, in the same order."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def score(
        self, metric: str | AnyMetric, embedder: EmbedderLike | None = None, **options: Unpack[OptionKeywords]
    ) -> Frame:
        """Return the columns ``value``, ``status`` and ``reason`` of one metric.

        A row without a value has NaN in pandas, and null in polars. The other arguments are as in
        `sgi.evaluate`. With ``on_error="skip"``, a row that cannot be read has the status ``failed``.
        """
        if not isinstance(metric, (str, AnyMetric)):
            raise UsageError("`score` takes one metric.", hint="Use `evaluate` for several metrics.")
        (resolved,) = resolve([metric])
        name, columns = resolved.canonical, score_columns(self._frame, metric, embedder, options)
        return self._table(
            {_VALUE: columns[name], "status": columns[f"{name}_status"], "reason": columns[f"{name}_reason"]}
        )

    def evaluate(
        self,
        metrics: MetricsLike | None = None,
        embedder: EmbedderLike | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Frame:
        """Return the columns ``METRIC``, ``METRIC_status`` and ``METRIC_reason`` of several metrics.

        The arguments are as in `sgi.evaluate`; None selects the metrics by the columns of the frame. To
        add the columns to the frame, call ``pd.concat([frame, scores], axis=1)`` in pandas, and
        ``frame.hstack(scores)`` in polars.
        """
        return self._table(score_columns(self._frame, metrics, embedder, options))

    @abstractmethod
    def _table(self, columns: Mapping[str, Sequence[object]]) -> Frame:
        """Return the columns as a frame; those of `number_columns` have the type float."""


def score_columns(
    frame: Any, metrics: MetricsLike | None, embedder: EmbedderLike | None, options: OptionKeywords
) -> dict[str, Sequence[Any]]:
    """Return ``{metric, metric_status, metric_reason}`` columns; the arguments are as in `sgi.evaluate`.

    Metrics with classes have one more column, such as ``metric_verdict``. A row without a value has None, and
    so has the reason of a row with a value. A frame without rows gives empty columns.

    Raises:
        UsageError: the frame has rows with two responses, or has no rows and no metric is named.
        DataError: a row cannot be read, unless ``on_error`` is ``"skip"``.
    """
    rows = len(frame)
    if rows:
        options.setdefault("allow_empty", True)
        result = evaluate(frame, metrics, embedder, **options)
        if len(result.samples) + len(result.rejected) != rows:
            hint = "Reshape the frame: one response in each row."
            message = "The frame has rows with two responses, so scores cannot be aligned."
            raise UsageError(message, hint=hint)
        columns = _aligned(result, rows)
    elif metrics is None:
        raise UsageError("The frame has no rows, so no metric can be selected.", hint="Name the metrics.")
    else:
        named = resolve([metrics] if isinstance(metrics, (str, AnyMetric)) else metrics)
        empty = Scores.without_value(Status.MISSING, ())
        columns = flat_columns(Batch(()), {metric.canonical: empty for metric in named})
    return {name: column for name, column in columns.items() if name not in _SAMPLE_COLUMNS}


def _aligned(result: Run, rows: int) -> dict[str, Sequence[Any]]:
    """Return the columns of a result, with a cell also for each rejected row: its status is ``failed``."""
    errors = {rejected.error.line: str(rejected.error) for rejected in result.rejected}
    statuses = {f"{metric}_status" for metric in result}
    reasons = {f"{metric}_reason" for metric in result}
    aligned: dict[str, Sequence[Any]] = {}
    for name, column in flat_columns(Batch(result.samples), result).items():
        failed = Status.FAILED.value if name in statuses else None
        cells = iter(column)
        aligned[name] = [
            (errors[line] if name in reasons else failed) if line in errors else next(cells)
            for line in range(1, rows + 1)
        ]
    return aligned


def number_columns(names: Collection[str]) -> set[str]:
    """Return the columns of a result that hold numbers; the others hold text.

    >>> sorted(number_columns(["rouge_l", "rouge_l_status", "rouge_l_reason"]))
    ['rouge_l']
    """
    return {name for name in names if name == _VALUE or f"{name}_status" in names}


def summary_rows(columns: Mapping[Any, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the mean and the coverage of each metric, from columns ``metric`` and ``metric_status``.

    The coverage is the share of rows with a value. A metric without any value has the mean None. The mean of
    a ratio v is the mean of v/(1+v), converted back.

    Raises UsageError if no column belongs to a metric.

    >>> columns = {"rouge_l": [0.5, 1.0, None], "rouge_l_status": ["ok", "ok", "missing"]}
    >>> (summary,) = summary_rows(columns)
    >>> summary["mean"], summary["ok"], summary["coverage"]
    (0.75, 2, 0.6666666666666666)
    """
    metrics = [name for name in columns if f"{name}_status" in columns]
    if not metrics:
        message = "The frame has no scores: no column NAME with a column NAME_status."
        raise UsageError(message, hint="Call `summary` on the frame that `evaluate` returns.")
    return [_summary_row(name, columns[name], columns[f"{name}_status"]) for name in metrics]


def _summary_row(name: str, values: Sequence[Any], statuses: Sequence[Any]) -> dict[str, Any]:
    counts = Counter(statuses)
    unknown = len(statuses) - sum(counts[status] for status in Status)
    if unknown:
        raise UsageError(f"{unknown} rows of the column '{name}_status' have no status of SGI.")
    ok = [float(v) if each == Status.OK.value else None for v, each in zip(values, statuses, strict=True)]
    return {
        "metric": name,
        **average(name, ok)._asdict(),
        **{status.value: counts[status] for status in Status if status is not Status.OK},
    }
