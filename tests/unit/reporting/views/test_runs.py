from __future__ import annotations

import pytest

from sgi.kernel.errors import UsageError
from sgi.reporting.views.run_header import run_header
from sgi.reporting.views.run_list import run_list
from sgi.store.database import open_database
from sgi.store.manage_runs import change_run
from sgi.store.run_queries import find_run
from support.runs import add_run


@pytest.fixture
def database(database_url):
    with open_database(database_url) as opened:
        for number in range(5):
            add_run(opened, f"r{number}", name=f"Run {number}" if number % 2 else None)
        change_run(opened, "r1", tags=["odd", "first"])
        change_run(opened, "r3", tags=["odd"])
        yield opened


def ids(found):
    return [head.id for head in found.runs]


def test_all_runs_and_all_tags(database):
    found = run_list(database)
    assert ids(found) == ["r4", "r3", "r2", "r1", "r0"]
    assert (found.total, found.page, found.pages, found.search, found.tag) == (5, 1, 1, "", None)
    assert found.tags == {"first": 1, "odd": 2}
    assert found.runs[3] == run_header(find_run(database, "r1"))
    assert (found.runs[3].tags, found.runs[3].label, found.runs[3].state) == (
        ("first", "odd"),
        "Run 1",
        "finished",
    )


def test_pages_and_the_last_one_for_any_beyond(database):
    pages = [ids(run_list(database, page=page, size=2)) for page in (1, 2, 3, 4, 10**20)]
    assert pages == [["r4", "r3"], ["r2", "r1"], ["r0"], ["r0"], ["r0"]]
    beyond = run_list(database, page=7, size=2)
    assert (beyond.page, beyond.pages, beyond.total) == (3, 3, 5)


def test_search_and_tag_leave_those_they_mean(database):
    assert ids(run_list(database, search="RUN")) == ["r3", "r1"]
    found = run_list(database, tag="odd", search="run 1", page=3)
    assert (ids(found), found.page, found.search, found.tag) == (["r1"], 1, "run 1", "odd")
    none = run_list(database, tag="no such tag")
    assert (none.runs, none.total, none.page, none.pages) == ((), 0, 1, 1)
    assert none.tags == {"first": 1, "odd": 2}


@pytest.mark.parametrize("asked", [{"page": 0}, {"size": 0}, {"page": -1}])
def test_what_is_no_page(database, asked):
    with pytest.raises(UsageError, match=f"{next(iter(asked))} must be at least 1"):
        run_list(database, **asked)
