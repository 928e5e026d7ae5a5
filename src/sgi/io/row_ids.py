"""Checks that the ids of rows are unique."""

from __future__ import annotations

from array import array
from hashlib import blake2b

import numpy as np

from sgi.kernel.errors import DataError


class SeenIds:
    """The ids so far, as 60-bit digests: about 90 bytes per id of any length."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.seen: set[int] = set()
        self.digests = array("Q")
        self.lines = array("Q")

    def add(self, sample_id: str, line: int) -> None:
        """Add an id; raise a DataError if an earlier row has it."""
        # 60 bits fit the smaller size of Python's integers.
        digest = int.from_bytes(blake2b(sample_id.encode(), digest_size=8).digest(), "big") >> 4
        if digest in self.seen:
            place = np.flatnonzero(np.frombuffer(self.digests, dtype=np.uint64) == digest)[0]
            first = self.lines[int(place)]
            where = f"{self.file}:{first}" if self.file else f"row {first}"
            hint = "Ids must be unique; a row without one takes its number as its id."
            raise DataError(f"{where} has the same id", sample_id=sample_id, field="id", hint=hint)
        self.seen.add(digest)
        self.digests.append(digest)
        self.lines.append(line)
