"""Remembers which requests are in which batch, in the cache of replies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgi.kernel.protocols import Cache

_FREE = b""
"""The value of a request that is in no batch."""


@dataclass(frozen=True)
class BatchRecord:
    """A batch of requests.

    Attributes:
        file: the service's id of the uploaded requests; no other batch has this file.
        started: when the batch was started, in seconds since 1970.
        batch: the service's id of the batch; empty until the service has confirmed it.
    """

    file: str
    started: float
    batch: str = ""


_RECORD = TypeAdapter(BatchRecord)


class BatchLedger:
    """The batches and their requests, stored in a cache, so that a killed process loses no batch.

    A request is known by the key of its reply in the same cache. Once the cache has the reply, nobody looks
    for the request here.

    >>> from sgi.store.cache import MemoryCache
    >>> ledger = BatchLedger(MemoryCache())
    >>> ledger.put(BatchRecord("file-1", 0.0), [b"first", b"second"])
    >>> ledger.free([b"second"])
    >>> ledger.find([b"first", b"second"])
    {BatchRecord(file='file-1', started=0.0, batch=''): [b'first']}
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def put(self, record: BatchRecord, keys: Iterable[bytes] = ()) -> None:
        """Store or replace a batch, and the requests that it contains, in one transaction."""
        requests = {_request(key): record.file.encode() for key in keys}
        self._cache.put_many({**requests, _batch(record.file): _RECORD.dump_json(record)})

    def free(self, keys: Iterable[bytes]) -> None:
        """Take requests out of their batches, so that they are sent again."""
        self._cache.put_many({_request(key): _FREE for key in keys})

    def find(self, keys: Sequence[bytes]) -> dict[BatchRecord, list[bytes]]:
        """Return the requests of each batch that contains some of these requests."""
        files = self._cache.get_many([_request(key) for key in keys])
        by_file = defaultdict(list)
        for key in keys:
            if file := files.get(_request(key)):
                by_file[file.decode()].append(key)
        records = self._cache.get_many([_batch(file) for file in by_file])
        return {
            _RECORD.validate_json(records[_batch(file)], strict=True): found
            for file, found in by_file.items()
            if _batch(file) in records
        }


def _request(key: bytes) -> bytes:
    return digest(b"request of a batch", key)


def _batch(file: str) -> bytes:
    return digest(b"batch", file.encode())
