from __future__ import annotations

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.store import schema
from sgi.store.run_history import (
    TRACES,
    annotate,
    delete_annotation,
    finished_metrics,
    list_annotations,
    run_history,
)
from sgi.store.run_queries import page_of_runs
from support.run_series import add_runs
from support.runs import HOSTILE, add_run


@pytest.fixture
def database(database):
    add_runs(database, [0.8, 0.7])
    add_runs(database, [0.6], data="traces-2026-01-02T03", first=5)
    return database


def test_the_history_has_all_finished_runs_and_hours_of_traces_as_one_series(database):
    add_run(database, "other", scores={"sgi": (1.0,)})
    with database.writing() as connection:
        unfinished = sa.update(schema.runs).where(schema.runs.c.id == "r0001").values(finished_at=None)
        connection.execute(unfinished)
        broken = sa.update(schema.runs).where(schema.runs.c.id == "other").values(summary=[{"metrics": 3}])
        connection.execute(broken)
    found = {run.id: (run.data, run.mean("grounding")) for run in run_history(database)}
    assert found == {
        "r0000": ("answers.jsonl", 0.8),
        "r0005": (TRACES, 0.6),
        "other": ("data of other", None),
    }
    assert [run.id for run in run_history(database, TRACES)] == ["r0005"]
    assert [run.id for run in run_history(database, "answers.jsonl")] == ["r0000"]
    assert run_history(database, "traces-") == []
    assert finished_metrics(database) == ("grounding", "sgi")


def test_runs_are_ordered_by_a_value_and_those_without_one_are_last(database):
    values = {"r0000": 1.0, "r0005": 2.0}
    pages = [
        [run.id for run in page_of_runs(database, sort="value", values=values, descending=way).records]
        for way in (True, False)
    ]
    assert pages == [["r0005", "r0000", "r0001"], ["r0000", "r0005", "r0001"]]


def test_annotations_of_any_data_are_in_the_order_of_time(database):
    first = annotate(database, HOSTILE, "é", "2026-01-02")
    second = annotate(database, HOSTILE, "in a zone", "2026-01-01T23:30-01:00")
    assert list_annotations(database, HOSTILE) == (first, second)
    delete_annotation(database, first.id)
    assert list_annotations(database, HOSTILE) == (second,)
    with pytest.raises(UnknownNameError):
        delete_annotation(database, first.id)


@pytest.mark.parametrize(
    ("text", "at"), [(" ", ""), ("x" * 201, ""), ("\x1b[2J", ""), ("x", "0001-01-01T00:00+23:00")]
)
def test_annotations_that_cannot_be_shown_are_refused(database, text, at):
    with pytest.raises(UsageError):
        annotate(database, "answers.jsonl", text, at)
