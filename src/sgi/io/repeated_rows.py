"""A dataset in which each row occurs several times, so that a target answers each question several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.column_use import ReportColumns
    from sgi.io.dataset import Dataset
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample

REPEAT = "repeat"
"""The metadata column with the number of the repeat, from 1."""


@dataclass(frozen=True)
class RepeatedDataset:
    """The rows of a dataset, each ``times`` times in a row; ids get the suffix ``#1``, ``#2`` and so on."""

    dataset: Dataset
    times: int

    @property
    def name(self) -> str:
        """The name for messages and the signature."""
        return self.dataset.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `Dataset.samples`."""
        for sample in self.dataset.samples(on_reject=on_reject, on_columns=on_columns):
            for repeat in range(1, self.times + 1):
                metadata = {**sample.metadata, REPEAT: repeat}
                yield sample.model_copy(update={"id": f"{sample.id}#{repeat}", "metadata": metadata})
