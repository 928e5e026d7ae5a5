"""Indexes the texts of runs in a background thread, after the first search."""

from __future__ import annotations

import logging
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, cast

from sgi.kernel.errors import SgiError
from sgi.store.search_index import build_search_index, has_search_index

if TYPE_CHECKING:
    from starlette.requests import Request

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_log = logging.getLogger("sgi_web")


class SearchIndexer:
    """Builds one index at a time; a search that comes before its end reads all texts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: SimpleQueue[RunRecord | None] = SimpleQueue()
        self._submitted: set[tuple[object, ...]] = set()
        self._lock = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None

    def submit(self, record: RunRecord) -> None:
        """Index the texts of a run, unless they wait for that, or failed in this state."""
        state = _state(record)
        with self._lock:
            if state in self._submitted or self._stopped.is_set():
                return
            self._submitted.add(state)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="sgi-search-index", daemon=True)
                self._thread.start()
        self._queue.put(record)

    def close(self, seconds: float = 10.0) -> None:
        """Stop after the current step; another server or a later search builds the index."""
        self._stopped.set()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        while (record := self._queue.get()) is not None and not self._stopped.is_set():
            try:
                if not has_search_index(self._database, record):
                    build_search_index(self._database, record, stopped=self._stopped.is_set)
                with self._lock:
                    self._submitted.discard(_state(record))
            except SgiError as error:  # read-only, full disk, SQLite without FTS5
                _log.warning("The texts of the run %s are not indexed: %s", record.label, error)


def _state(record: RunRecord) -> tuple[object, ...]:
    return record.id, record.changes, record.finished_at


def indexer_of(request: Request) -> SearchIndexer:
    """Return the indexer of the application."""
    return cast("SearchIndexer", request.app.state.indexer)
