"""The namespace ``sgi`` of polars frames and lazy frames; ``import sgi.integrations.polars`` registers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from sgi.integrations.frame_scores import (
    FrameOptions,
    column_names,
    score_columns,
    single_metric,
    summary_rows,
)
from sgi.kernel.errors import MissingExtraError, UsageError

try:
    import polars as pl
except ImportError as error:
    raise MissingExtraError("sgi.integrations.polars", "polars") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sgi.engine.open_resources import EmbedderLike
    from sgi.integrations.frame_scores import MetricsLike
    from sgi.kernel.metric import AnyMetric

_SUMMARY_TYPES: dict[str, Any] = {"mean": pl.Float64, "coverage": pl.Float64}


@pl.api.register_dataframe_namespace("sgi")
class SgiNamespace:
    """Scores the rows of a frame; every result has one row for each row of the frame, in the same order.

    >>> frame = pl.DataFrame({"response": ["Paris.", None], "reference": ["paris", "Rome"]})
    >>> frame.sgi.score("squad_em").rows()
    [(1.0, 'ok', None), (None, 'missing', 'the sample has no response')]
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def score(
        self,
        metric: str | AnyMetric,
        embedder: EmbedderLike | None = None,
        **options: Unpack[FrameOptions],
    ) -> pl.DataFrame:
        """Return the columns ``value``, ``status`` and ``reason`` of one metric.

        A row without a value has null. The other arguments are those of `sgi.evaluate`. With
        ``on_error="skip"``, a row that cannot be read has the status ``failed``.
        """
        name = single_metric(metric)
        columns = score_columns(self._frame, metric, embedder, **options)
        cells = {"value": columns[name]} | {key: columns[f"{name}_{key}"] for key in ("status", "reason")}
        return pl.DataFrame(cells, schema=_schema(cells))

    def evaluate(
        self,
        metrics: MetricsLike | None = None,
        embedder: EmbedderLike | None = None,
        **options: Unpack[FrameOptions],
    ) -> pl.DataFrame:
        """Return the columns ``METRIC``, ``METRIC_status`` and ``METRIC_reason`` of several metrics.

        The arguments are those of `sgi.evaluate`; None selects the metrics by the columns of the frame. To
        add the columns to the frame, call ``frame.hstack(scores)``.
        """
        columns = score_columns(self._frame, metrics, embedder, **options)
        return pl.DataFrame(columns, schema=_schema(columns))

    def summary(self) -> pl.DataFrame:
        """Return the mean and the coverage of each metric of a frame from ``evaluate``, or of a part of it.

        The columns are ``metric``, ``mean``, ``ok``, ``rows``, ``coverage``, ``undefined``, ``missing`` and
        ``failed``.
        """
        return pl.DataFrame(
            summary_rows(self._frame.to_dict(as_series=False)), schema_overrides=_SUMMARY_TYPES
        )


@pl.api.register_lazyframe_namespace("sgi")
class SgiLazyNamespace:
    """Scores the rows of a lazy frame when it is collected; the whole frame is read at once.

    >>> frame = pl.LazyFrame({"response": ["Paris."], "reference": ["paris"]})
    >>> frame.sgi.score("squad_em").collect().rows()
    [(1.0, 'ok', None)]
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def score(
        self,
        metric: str | AnyMetric,
        embedder: EmbedderLike | None = None,
        **options: Unpack[FrameOptions],
    ) -> pl.LazyFrame:
        """Return the lazy columns ``value``, ``status`` and ``reason`` of one metric."""
        single_metric(metric)
        names = ("value", "status", "reason")
        return self._lazily(names, lambda frame: SgiNamespace(frame).score(metric, embedder, **options))

    def evaluate(
        self, metrics: MetricsLike, embedder: EmbedderLike | None = None, **options: Unpack[FrameOptions]
    ) -> pl.LazyFrame:
        """Return the lazy columns ``METRIC``, ``METRIC_status`` and ``METRIC_reason`` of named metrics.

        Raises UsageError for a calibration or a cascade, which add metrics: collect the frame first.
        """
        for name in ("calibration", "cascade"):
            if options.get(name) is not None:
                hint = "Call .collect() on the frame first."
                raise UsageError(f"A lazy frame does not support `{name}`, which adds columns.", hint=hint)
        return self._lazily(
            column_names(metrics), lambda frame: SgiNamespace(frame).evaluate(metrics, embedder, **options)
        )

    def _lazily(self, names: Iterable[str], score: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.LazyFrame:
        """Return the scores as a lazy frame; the optimizer must keep all columns and rows of the input."""
        return self._frame.map_batches(
            score,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
            schema=_schema(names),
        )


def _schema(names: Iterable[str]) -> dict[str, Any]:
    """Return the types of columns from `score_columns`: numbers for values, text for the others."""
    columns = list(names)
    return {
        name: pl.Float64 if name == "value" or f"{name}_status" in columns else pl.String for name in columns
    }
