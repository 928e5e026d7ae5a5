from __future__ import annotations

import pytest

from sgi.kernel.errors import UnknownNameError
from sgi.kernel.sample import Sample
from sgi.reporting.views.rows import Cell, RowLine, row_page
from sgi.store.database import open_database
from sgi.store.row_filters import RowQuery
from sgi.store.run_queries import find_run
from support.runs import HOSTILE, add_run

SAMPLES = (
    Sample(id="q1", question="Who?", response="Me.", label=True),
    Sample(id=HOSTILE, question=HOSTILE, response="x" * 1000),
    Sample(id="q3"),
)


@pytest.fixture
def database(database_url):
    with open_database(database_url) as opened:
        scores = {"sgi": (1.25, None, 0.5), "rouge_l(beta=1.2)": (None, 0.5, 0.25)}
        add_run(opened, samples=SAMPLES, scores=scores)
        yield opened


def test_a_line_has_texts_as_they_are_and_a_cell_for_each_metric(database):
    page = row_page(database, find_run(database, "r1"))
    assert page.metrics == ("sgi", "rouge_l(beta=1.2)")
    assert page.rows[0] == RowLine(
        id="q1",
        position=0,
        label=True,
        question="Who?",
        response="Me.",
        cells={
            "sgi": Cell(1.25, "ok", ""),
            "rouge_l(beta=1.2)": Cell(None, "missing", "no response"),
        },
    )
    assert (page.rows[1].id, page.rows[1].question) == (HOSTILE, HOSTILE)
    assert page.rows[1].response == "x" * 400
    assert (page.rows[2].label, page.rows[2].question, page.rows[2].response) == (None, "", "")
    assert (page.total, page.of, page.pages, page.query) == (3, 3, 1, RowQuery())


def test_the_query_that_comes_back_is_of_the_page_that_is_shown(database):
    asked = RowQuery(metric="rouge_l", sort="highest", size=2, page=9)
    page = row_page(database, find_run(database, "r1"), asked)
    assert [line.id for line in page.rows] == ["q1"]
    assert (page.query.page, page.pages, page.query.metric) == (2, 2, "rouge_l(beta=1.2)")
    again = row_page(database, find_run(database, "r1"), page.query)
    assert again == page


def test_filters_leave_fewer_of_all(database):
    page = row_page(database, find_run(database, "r1"), RowQuery(metric="sgi", status="missing"))
    assert ([line.position for line in page.rows], page.total, page.of) == ([1], 1, 3)
    with pytest.raises(UnknownNameError, match="'bleu'"):
        row_page(database, find_run(database, "r1"), RowQuery(metric="bleu", low=0.0))
