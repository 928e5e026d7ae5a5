"""Cached views of a run, and the index of its texts."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, TypeVar, cast

from sgi.kernel.errors import SgiError
from sgi.reporting.views.headline import scored_rows
from sgi.reporting.views.run_view import RunView
from sgi.store.row_query import row_page
from sgi.store.search_index import build_search_index, has_search_index
from sgi_web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    from starlette.requests import Request

    from sgi.reporting.views.headline import Headline, ScoredRows
    from sgi.store.database import Database
    from sgi.store.row_query import RowPage, RowQuery
    from sgi.store.run_queries import RunRecord
    from sgi_web.work_limits import SingleFlightCache

T = TypeVar("T")
_log = logging.getLogger("sgi_web")


class SearchIndexer:
    """Indexes the texts of runs in a background thread, after the first search, one run at a time.

    A search that comes before its end reads all texts.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._executor = ThreadPoolExecutor(1, "sgi-search-index")
        self._submitted: set[tuple[object, ...]] = set()
        self._stopped = Event()

    def submit(self, record: RunRecord) -> None:
        """Index the texts of a run, unless the run is queued already, or failed in this state."""
        state = record.id, record.changes, record.finished_at
        if state not in self._submitted and not self._stopped.is_set():
            self._submitted.add(state)
            self._executor.submit(self._build, record, state)

    def close(self) -> None:
        """Stop after the current step; another server or a later search builds the index."""
        self._stopped.set()
        self._executor.shutdown(cancel_futures=True)

    def _build(self, record: RunRecord, state: tuple[object, ...]) -> None:
        try:
            if not has_search_index(self._database, record):
                build_search_index(self._database, record, stopped=self._stopped.is_set)
            self._submitted.discard(state)
        except SgiError as error:  # read-only, full disk, SQLite without FTS5
            _log.warning("The texts of the run %s are not indexed: %s", record.label, error)


def compute_once(request: Request, records: Sequence[RunRecord], name: Hashable, make: Callable[[], T]) -> T:
    """Call ``make`` once for each state of runs, and return its value; simultaneous requests share it.

    Raises:
        ServerBusyError: too many threads compute values or wait for them.
    """
    states = ((run.id, run.name, run.tags, run.scored, run.changes, run.finished_at) for run in records)
    return compute_for(request, (name, *states), make)


def compute_for(request: Request, key: Hashable, make: Callable[[], T]) -> T:
    """Call ``make`` once for each key, as `compute_once` does for each state of runs."""
    return cast("SingleFlightCache", request.app.state.cache).get(key, make)


def run_view(request: Request, record: RunRecord) -> RunView:
    """Return the views of a run; simultaneous requests share one read of its rows."""
    database = site_of(request).database

    def read() -> ScoredRows:
        return compute_once(request, [record], "columns", lambda: scored_rows(database, record))

    return RunView(database, record, read=read)


def cached_headline(request: Request, record: RunRecord) -> Headline:
    """Return the headline of a run; if no summary is stored, it is computed from all rows."""
    return compute_once(request, [record], "headline", lambda: run_view(request, record).headline)


def cached_rows(
    request: Request, record: RunRecord, query: RowQuery, shown: Collection[str] | None = None
) -> RowPage:
    """Return a page of rows; pages of the same filters and order share the search. See `row_page`."""
    database = site_of(request).database

    def cached(key: RowQuery, make: Callable[[], T]) -> T:
        return compute_once(request, [record], ("rows", key), make)

    rows = row_page(database, record, query, cached=cached, shown=shown)
    if query.words:
        cast("SearchIndexer", request.app.state.indexer).submit(record)
    return rows
