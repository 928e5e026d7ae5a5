"""Checks that the ids of rows are unique."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping


class SeenIds:
    """The ids so far, as 60-bit digests: about 90 bytes per id of any length."""

    def __init__(self, file: str | None, taken: Mapping[str, str]) -> None:
        self.file = file
        self.taken = taken
        self.seen: set[int] = set()
        self.digests = array("Q")
        self.lines = array("Q")

    def add(self, sample_id: str, line: int) -> None:
        """Add an id; raise a DataError if an earlier row has it."""
        if sample_id in self.taken:
            raise duplicate_id_error(sample_id, self.taken[sample_id])
        # 60 bits fit the smaller size of Python's integers.
        digest = int.from_bytes(blake2b(sample_id.encode(), digest_size=8).digest(), "big") >> 4
        if digest in self.seen:
            place = np.flatnonzero(np.frombuffer(self.digests, dtype=np.uint64) == digest)[0]
            first = self.lines[int(place)]
            raise duplicate_id_error(sample_id, f"{self.file}:{first}" if self.file else f"row {first}")
        self.seen.add(digest)
        self.digests.append(digest)
        self.lines.append(line)


def duplicate_id_error(sample_id: str, where: str) -> DataError:
    """Build the error of an id that an earlier row has; ``where`` is the file and line of that row."""
    hint = "Ids must be unique; a row without one takes its number as its id."
    return DataError(f"{where} has the same id", sample_id=sample_id, field="id", hint=hint)
