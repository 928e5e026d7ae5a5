"""Hugging Face: a function for ``Dataset.map`` that adds scores as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from sgi.integrations.adapter import score_rows, shared_scorer
from sgi.kernel.errors import UsageError, require_extra
from sgi.kernel.signature import package_version

with require_extra("sgi.integrations.huggingface", "huggingface"):
    import datasets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.engine.open_resources import ModelKeywords
    from sgi.engine.run_options import EmbedderLike
    from sgi.kernel.metric import AnyMetric


class ScoreRows:
    """Function for ``Dataset.map`` with ``batched=True``: adds the scores of each row as columns.

    The columns are ``METRIC``, None without a value, ``METRIC_status``, and ``METRIC_reason``, empty with a
    value. Pass ``features=score.features(dataset)``: ``map`` cannot know the type of a column if its first
    rows have no value.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → column, if the columns' names are not recognised.
        options: further arguments of `sgi.Scorer`, such as ``judge``.
    """

    def __init__(
        self,
        metrics: str | AnyMetric | Sequence[str | AnyMetric],
        embedder: EmbedderLike | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        **options: Unpack[ModelKeywords],
    ) -> None:
        self._arguments = (metrics, embedder, columns)
        self._options = options
        self.metrics = shared_scorer(*self._arguments, **self._options).metrics
        self.version = package_version()  # so that another version does not use the cache of `map`

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the scores of a batch as columns."""
        if any(isinstance(column, str) for column in batch.values()):
            raise UsageError("`ScoreRows` scores batches of rows.", hint="Call `map` with `batched=True`.")
        rows = [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
        # Opened here: `map` copies this object to other processes.
        scores = score_rows(shared_scorer(*self._arguments, **self._options), rows)
        columns: dict[str, list[Any]] = {}
        for metric in self.metrics:
            columns[metric] = [row[metric].value for row in scores]
            columns[f"{metric}_status"] = [row[metric].status.value for row in scores]
            columns[f"{metric}_reason"] = [row[metric].reason for row in scores]
        return columns

    def features(self, dataset: datasets.Dataset) -> datasets.Features:
        """Return the types of the columns of the dataset with its scores."""
        types = {"": "float64", "_status": "string", "_reason": "string"}
        added = {
            f"{metric}{end}": datasets.Value(kind) for metric in self.metrics for end, kind in types.items()
        }
        return datasets.Features({**dataset.features, **added})
