"""A dataset with a row for each turn of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.conversation import turn_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.column_use import ReportColumns
    from sgi.io.readers import Dataset
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample


@dataclass(frozen=True)
class PerTurn:
    """Data whose rows with turns are split into a row for each turn; see `sgi.kernel.conversation.turn_rows`.

    >>> from sgi.io.dataset import open_dataset
    >>> messages = [{"role": role, "text": text} for role, text in zip(["user", "assistant"] * 2, "abcd")]
    >>> [(row.id, row.response) for row in PerTurn(open_dataset([{"turns": messages}])).samples()]
    [('1-1', 'b'), ('1-2', 'd')]
    """

    conversations: Dataset

    @property
    def name(self) -> str:
        """The name of the conversations, for messages and the signature."""
        return self.conversations.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the rows in order."""
        for sample in self.conversations.samples(on_reject=on_reject, on_columns=on_columns):
            yield from turn_rows(sample)
