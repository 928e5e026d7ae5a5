"""List of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError
from sgi.reporting.views.run_header import run_header
from sgi.store.run_queries import page_of_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.reporting.views.run_header import RunHeader
    from sgi.store.database import Database
    from sgi.store.run_queries import RecordOrder


@dataclass(frozen=True)
class RunList:
    """Some runs, newest first unless another order was requested.

    Attributes:
        runs: the runs of this page.
        total: number of runs that match the search.
        page: number of this page, from 1.
        pages: number of pages, at least 1.
        search: the search text.
        tag: the tag that all listed runs have; None if the list is not limited to a tag.
        tags: every tag with its number of runs.
    """

    runs: tuple[RunHeader, ...]
    total: int
    page: int
    pages: int
    search: str
    tag: str | None
    tags: Mapping[str, int]


def run_list(
    database: Database,
    *,
    search: str = "",
    tag: str | None = None,
    page: int = 1,
    size: int = 50,
    order: RecordOrder | None = None,
) -> RunList:
    """Return a page of the runs that match; the last page if the requested one does not exist.

    ``search`` matches ids, names, data names and tags, ignoring case. Pages count from 1.

    Raises:
        UsageError: ``page`` or ``size`` is less than 1.
    """
    for name, value in (("page", page), ("size", size)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}.")
    records = page_of_runs(database, search=search, tag=tag, page=page, size=size, order=order)
    runs = tuple(map(run_header, records.records))
    return RunList(runs, records.total, records.page, records.pages, search, tag, records.tags)
