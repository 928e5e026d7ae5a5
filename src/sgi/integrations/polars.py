"""The namespace ``sgi`` of polars frames and lazy frames; ``import sgi.integrations.polars`` registers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from sgi.integrations.frame_scores import (
    SCORE_COLUMNS,
    FrameScorer,
    column_names,
    number_columns,
    single_metric,
    summary_rows,
)
from sgi.kernel.errors import UsageError, require_extra

with require_extra("sgi.integrations.polars", "polars"):
    import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from sgi.engine.evaluate import Options
    from sgi.engine.open_resources import EmbedderLike
    from sgi.integrations.frame_scores import MetricsLike
    from sgi.kernel.metric import AnyMetric

_SUMMARY_TYPES: dict[str, Any] = {"mean": pl.Float64, "coverage": pl.Float64}


@pl.api.register_dataframe_namespace("sgi")
class SgiNamespace(FrameScorer[pl.DataFrame]):
    """Scores the rows of a frame; every result has one row for each row of the frame, in the same order.

    >>> frame = pl.DataFrame({"response": ["Paris.", None], "reference": ["paris", "Rome"]})
    >>> frame.sgi.score("squad_em").rows()
    [(1.0, 'ok', None), (None, 'missing', 'the sample has no response')]
    """

    def summary(self) -> pl.DataFrame:
        """Return the mean and the coverage of each metric of a frame from ``evaluate``, or of a part of it.

        The columns are ``metric``, ``mean``, ``ok``, ``rows``, ``coverage``, ``undefined``, ``missing`` and
        ``failed``.
        """
        return pl.DataFrame(
            summary_rows(self._frame.to_dict(as_series=False)), schema_overrides=_SUMMARY_TYPES
        )

    def _table(self, columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
        return pl.DataFrame(columns, schema=_schema(columns))


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
        **options: Unpack[Options],
    ) -> pl.LazyFrame:
        """Return the lazy columns ``value``, ``status`` and ``reason`` of one metric."""
        single_metric(metric)
        return self._lazily(
            SCORE_COLUMNS, lambda frame: SgiNamespace(frame).score(metric, embedder, **options)
        )

    def evaluate(
        self, metrics: MetricsLike, embedder: EmbedderLike | None = None, **options: Unpack[Options]
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

    def _lazily(self, names: Collection[str], score: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.LazyFrame:
        """Return the scores as a lazy frame; the optimizer must keep all columns and rows of the input."""
        return self._frame.map_batches(
            score,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
            schema=_schema(names),
        )


def _schema(names: Collection[str]) -> dict[str, Any]:
    numbers = number_columns(names)
    return {name: pl.Float64 if name in numbers else pl.String for name in names}
