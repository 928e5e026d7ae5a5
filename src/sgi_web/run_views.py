"""Cached views of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sgi.reporting.views.columns import run_columns
from sgi.reporting.views.headline import headline
from sgi.reporting.views.run_views import RunViews
from sgi.store.row_columns import RowColumns
from sgi.store.row_pages import row_page
from sgi_web.search_indexer import indexer_of
from sgi_web.single_flight_cache import cache_of
from sgi_web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    from starlette.requests import Request

    from sgi.reporting.views.columns import RunColumns
    from sgi.reporting.views.headline import Headline
    from sgi.store.row_filters import RowQuery
    from sgi.store.row_pages import RowPage
    from sgi.store.run_queries import RunRecord

T = TypeVar("T")


def compute_once(request: Request, record: RunRecord, name: Hashable, make: Callable[[], T]) -> T:
    """Call ``make`` once for each state of a run, and return its value; simultaneous requests share it.

    Raises:
        ServerBusyError: too many threads compute values or wait for them.
    """
    return compute_together(request, [record], name, make)


def compute_together(
    request: Request, records: Sequence[RunRecord], name: Hashable, make: Callable[[], T]
) -> T:
    """Do the same as `compute_once` for a value of several runs, which has their names and tags."""
    states = ((run.id, run.name, run.tags, run.scored, run.changes, run.finished_at) for run in records)
    return cache_of(request).get((name, *states), make)


def run_views(request: Request, record: RunRecord) -> RunViews:
    """Return the views of a run; simultaneous requests share one read of its rows."""
    database = site_of(request).database

    def columns() -> RunColumns:
        return compute_once(request, record, "columns", lambda: run_columns(database, record))

    return RunViews(database, record, columns)


def cached_headline(request: Request, record: RunRecord) -> Headline:
    """Return the headline of a run; if no summary is stored, it is computed from all rows."""
    database = site_of(request).database
    return compute_once(
        request, record, "headline", lambda: headline(database, record, run_views(request, record))
    )


def cached_rows(
    request: Request, record: RunRecord, query: RowQuery, shown: Collection[str] | None = None
) -> RowPage:
    """Return a page of rows; pages of the same filters and order share the search. See `row_page`."""
    database = site_of(request).database

    def cached(key: Hashable, make: Callable[[], T]) -> T:
        return compute_once(request, record, ("rows", key), make)

    rows = row_page(database, record, query, columns=RowColumns(database, record, cached), shown=shown)
    if query.words:
        indexer_of(request).submit(record)
    return rows
