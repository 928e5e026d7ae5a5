"""The accessor ``DataFrame.sgi`` of pandas; ``import sgi.integrations.pandas`` registers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.integrations.frame_scores import FrameScorer, number_columns, summary_rows
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.pandas", "pandas"):
    import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@pd.api.extensions.register_dataframe_accessor("sgi")
class SgiAccessor(FrameScorer[pd.DataFrame]):
    """Scores the rows of a frame; every result has the index of the frame.

    >>> frame = pd.DataFrame({"response": ["Paris.", None], "reference": ["paris", "Rome"]}, index=["a", "b"])
    >>> frame.sgi.score("squad_em")
       value   status                          reason
    a    1.0       ok                            <NA>
    b    NaN  missing  the sample has no response
    """

    def summary(self) -> pd.DataFrame:
        """Return the mean and the coverage of each metric of a frame from ``evaluate``, or of a part of it.

        The columns are ``mean``, ``ok``, ``rows``, ``coverage``, ``undefined``, ``missing`` and ``failed``.
        """
        table = pd.DataFrame(summary_rows(self._frame.to_dict("list")))
        return table.astype({"mean": "float64", "coverage": "float64"}).set_index("metric")

    def _table(self, columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        numbers = number_columns(columns)
        series = {
            name: pd.Series(cells, self._frame.index, dtype="float64" if name in numbers else "string")
            for name, cells in columns.items()
        }
        return pd.DataFrame(series, index=self._frame.index)
