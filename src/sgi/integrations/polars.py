"""The namespace ``DataFrame.sgi`` of polars; ``import sgi.integrations.polars`` registers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.integrations.frame_scores import FrameScorer, number_columns, summary_rows
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.polars", "polars"):
    import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
        types = {"mean": pl.Float64, "coverage": pl.Float64}
        return pl.DataFrame(summary_rows(self._frame.to_dict(as_series=False)), schema_overrides=types)

    def _table(self, columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
        numbers = number_columns(columns)
        schema = {name: pl.Float64 if name in numbers else pl.String for name in columns}
        return pl.DataFrame(columns, schema=schema)
