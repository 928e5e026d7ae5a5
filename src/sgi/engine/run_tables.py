"""The rows of a run as dicts, columns and frames."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgi.engine.export import flat_columns, nested_row
from sgi.engine.run_scores import RunScores
from sgi.io.write import json_line
from sgi.kernel.errors import require_extra
from sgi.kernel.sample import Batch

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sgi.kernel.sample import Sample


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
