"""The rows of a run as dicts, columns and frames, and the scores of one metric with mean and interval."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.engine.export import flat_columns, nested_row
from sgi.io.write import json_line
from sgi.kernel.errors import require_extra
from sgi.kernel.metric import Scores
from sgi.kernel.sample import Batch
from sgi.kernel.short_text import short_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.sample import Sample
    from sgi.stats.intervals import Interval


@dataclass(frozen=True, eq=False)
class RunScores(Scores):
    """The scores of one metric of a run: an entry for each row, and their mean, interval and coverage.

    ``values``, ``status``, ``reasons`` and ``details`` are as in `Scores`. Mean and interval are those of
    ``run.summary()``, which is computed when one of them is first used.

    Attributes:
        read_summary: returns the summary of the metric.

    >>> from sgi import evaluate
    >>> rows = [{"response": "Paris.", "reference": name} for name in ("paris", "Rome", "")]
    >>> scores = evaluate(rows, "squad_em")["squad_em"]
    >>> scores.values.tolist(), scores.status.tolist()
    ([1.0, 0.0, nan], ['ok', 'ok', 'undefined'])
    >>> low, high = scores.interval
    >>> scores.mean, round(low, 2), round(high, 2), round(scores.coverage, 2)
    (0.5, 0.09, 0.91, 0.67)
    """

    read_summary: Callable[[], MetricSummary] = field(repr=False)

    __repr__ = short_repr

    @property
    def summary(self) -> MetricSummary:
        """The summary of the metric, also with the number of rows by status and, for labelled rows, AUROC."""
        return self.read_summary()

    @property
    def mean(self) -> float | None:
        """The mean over the rows with status ``ok``; None if there are none. See `MetricSummary`."""
        return self.summary.mean

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the mean, over clusters of rows: ``low, high = interval``.

        None if there are too few clusters; ``summary.no_interval`` has the reason.
        """
        return self.summary.interval

    @property
    def coverage(self) -> float:
        """The share of rows with status ``ok``, in [0, 1]; 0 for no rows."""
        return self.summary.coverage


class RunTables(Mapping[str, RunScores]):
    """Base of `Run`: its rows as dicts, columns and frames, with their texts and scores."""

    @property
    @abstractmethod
    def samples(self) -> tuple[Sample, ...]:
        """The scored rows; empty for a run without texts."""

    def to_dicts(self, *, inputs: bool = True) -> list[dict[str, Any]]:
        """Return one nested dict per row: its texts, label, metadata and scores.

        Args:
            inputs: whether to include the texts: question, contexts, response, reference.

        Returns:
            ``{"id": …, "question": …, …, "scores": {metric: {"value", "status", "reason", "details"}}}`` for
            each row; a field that the data does not have is left out.
        """
        return [dict(row) for row in nested_row(Batch(self.samples), self, inputs=inputs)]

    def to_columns(self, *, inputs: bool = True) -> dict[str, list[Any]]:
        """Return the rows as flat columns: texts, label, metadata and scores, without details.

        Args:
            inputs: whether to include the texts: question, contexts, response, reference.

        Returns:
            A list for each column, of the length of ``ids``: ``id``, ``label``, ``metadata``, the texts, and
            for each metric ``METRIC``, ``METRIC_status`` and ``METRIC_reason``. None stands for no value.
        """
        columns = flat_columns(Batch(self.samples), self, inputs=inputs)
        return {name: list(values) for name, values in columns.items()} if self.samples else {}

    def to_pandas(self, *, inputs: bool = True) -> pd.DataFrame:
        """Return the columns of `to_columns` as a pandas frame.

        Args:
            inputs: whether to include the texts: question, contexts, response, reference.

        Returns:
            A frame with a line for each row; its values are NaN where a score has no value.

        Raises:
            MissingExtraError: the extra ``pandas`` is not installed.
        """
        with require_extra("to_pandas()", "pandas"):
            import pandas as pd
        return pd.DataFrame(self.to_columns(inputs=inputs))

    def to_polars(self, *, inputs: bool = True) -> pl.DataFrame:
        """Return the columns of `to_columns` as a polars frame, with metadata as JSON text.

        Args:
            inputs: whether to include the texts: question, contexts, response, reference.

        Returns:
            A frame with a line for each row; its values are null where a score has no value.

        Raises:
            MissingExtraError: the extra ``polars`` is not installed.
        """
        with require_extra("to_polars()", "polars"):
            import polars as pl
        return pl.DataFrame(_with_json_metadata(self.to_columns(inputs=inputs)), infer_schema_length=None)

    def to_arrow(self, *, inputs: bool = True) -> pa.Table:
        """Return the columns of `to_columns` as an Arrow table, with metadata as JSON text.

        Args:
            inputs: whether to include the texts: question, contexts, response, reference.

        Returns:
            A table with a line for each row; its values are null where a score has no value.

        Raises:
            MissingExtraError: the extra ``parquet`` is not installed.
        """
        with require_extra("to_arrow()", "parquet"):
            import pyarrow as pa
        return pa.table(_with_json_metadata(self.to_columns(inputs=inputs)))


def _with_json_metadata(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return metadata as JSON text: its keys differ between rows, which typed tables cannot hold."""
    texts = [json_line(value).decode().rstrip() for value in columns.get("metadata", [])]
    return {name: texts if name == "metadata" else values for name, values in columns.items()}
