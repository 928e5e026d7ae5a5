"""List of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError
from sgi.report.views.run_header import run_header
from sgi.store.run_queries import page_of_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.report.views.run_header import RunHeader
    from sgi.store.database import Database


@dataclass(frozen=True)
class RunList:
    """Some runs, the newest first.

    Attributes:
        runs: of this page.
        total: how many the search leaves.
        page: which page this is, from 1.
        pages: how many there are, at least 1.
        search: what was looked for.
        tag: the tag they all have; None for all.
        tags: every tag there is, and how many runs have it.
    """

    runs: tuple[RunHeader, ...]
    total: int
    page: int
    pages: int
    search: str
    tag: str | None
    tags: Mapping[str, int]


def run_list(
    database: Database, *, search: str = "", tag: str | None = None, page: int = 1, size: int = 50
) -> RunList:
    """A page of the runs that are looked for; the last one where there are fewer than was asked for.

    Args:
        database: where they are.
        search: a text that stands in the run's id, its name, its data's name or a tag, in any case.
        tag: a tag they have.
        page: from 1.
        size: runs on a page, 1 or more.

    Raises:
        UsageError: page or size is less than 1.
    """
    for name, value in (("page", page), ("size", size)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}.")
    found = page_of_runs(database, search=search, tag=tag, page=page, size=size)
    runs = tuple(map(run_header, found.records))
    return RunList(runs, found.total, found.page, found.pages, search, tag, found.tags)
