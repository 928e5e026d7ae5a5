"""The accessor ``DataFrame.sgi`` of pandas; ``import sgi.integrations.pandas`` registers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from sgi.integrations.frame_scores import FrameOptions, score_columns, single_metric, summary_rows
from sgi.kernel.errors import MissingExtraError

try:
    import pandas as pd
except ImportError as error:
    raise MissingExtraError("sgi.integrations.pandas", "pandas") from error

if TYPE_CHECKING:
    from sgi.engine.open_resources import EmbedderLike
    from sgi.integrations.frame_scores import MetricsLike
    from sgi.kernel.metric import AnyMetric


@pd.api.extensions.register_dataframe_accessor("sgi")
class SgiAccessor:
    """Scores the rows of a frame; every result has the index of the frame.

    >>> frame = pd.DataFrame({"response": ["Paris.", None], "reference": ["paris", "Rome"]}, index=["a", "b"])
    >>> frame.sgi.score("squad_em")
       value   status                          reason
    a    1.0       ok                            <NA>
    b    NaN  missing  the sample has no response
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def score(
        self,
        metric: str | AnyMetric,
        embedder: EmbedderLike | None = None,
        **options: Unpack[FrameOptions],
    ) -> pd.DataFrame:
        """Return the columns ``value``, ``status`` and ``reason`` of one metric.

        A row without a value has NaN. The other arguments are those of `sgi.evaluate`. With
        ``on_error="skip"``, a row that cannot be read has the status ``failed``.
        """
        name = single_metric(metric)
        columns = score_columns(self._frame, metric, embedder, **options)
        chosen = {"value": name, "status": f"{name}_status", "reason": f"{name}_reason"}
        return self._table({new: columns[old] for new, old in chosen.items()}, values={"value"})

    def evaluate(
        self,
        metrics: MetricsLike | None = None,
        embedder: EmbedderLike | None = None,
        **options: Unpack[FrameOptions],
    ) -> pd.DataFrame:
        """Return the columns ``METRIC``, ``METRIC_status`` and ``METRIC_reason`` of several metrics.

        The arguments are those of `sgi.evaluate`; None selects the metrics by the columns of the frame. To
        add the columns to the frame, call ``pd.concat([frame, scores], axis=1)``.
        """
        columns = score_columns(self._frame, metrics, embedder, **options)
        return self._table(columns, values={name for name in columns if f"{name}_status" in columns})

    def summary(self) -> pd.DataFrame:
        """Return the mean and the coverage of each metric of a frame from ``evaluate``, or of a part of it.

        The columns are ``mean``, ``ok``, ``rows``, ``coverage``, ``undefined``, ``missing`` and ``failed``.
        """
        table = pd.DataFrame(summary_rows(self._frame.to_dict("list")))
        return table.astype({"mean": "float64", "coverage": "float64"}).set_index("metric")

    def _table(self, columns: dict[str, list[Any]], values: set[str]) -> pd.DataFrame:
        series = {
            name: pd.Series(cells, self._frame.index, dtype="float64" if name in values else "string")
            for name, cells in columns.items()
        }
        return pd.DataFrame(series, index=self._frame.index)
