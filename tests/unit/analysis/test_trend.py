"""Breaks of a series: runs that are not comparable with the run before."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from sgi.analysis.trend import check_newest, trend
from sgi.reporting.trend_view import trend_finding, watch_line
from sgi.store import schema
from sgi.store.database import open_database
from support.kept_runs import store_run
from support.run_series import add_runs

METRIC = "squad_token_f1"


def asked(rows, *, first=0, right=1.0, reference="a b c d"):
    """Rows of which a share is right."""
    return [
        {
            "question": f"Question {first + k}?",
            "response": f"{reference} {k % 3}" if k < right * rows else "x y z",
            "reference": reference,
        }
        for k in range(rows)
    ]


@pytest.mark.parametrize(
    ("newest", "obstacle"),
    [
        (asked(40, right=0.5), ""),
        (asked(40, first=40, right=0.5), "other questions"),
        (asked(40, right=0.5, reference="b c d e"), "other references"),
    ],
)
def test_other_questions_or_references_break_a_series(tmp_path, newest, obstacle):
    path = tmp_path / "sgi.db"
    for data in (*[asked(40, right=1 - k / 100) for k in range(3)], newest):
        store_run(path, tmp_path, data, metrics=[METRIC])
    with open_database(path) as database:
        check = check_newest(database, "data.jsonl", METRIC, [])
    assert [point.obstacle for point in check.trend.points][1:] == ["", "", obstacle]
    assert check.alert == (not obstacle)
    assert obstacle in watch_line(check)
    if obstacle:
        assert (check.trend.not_searched, check.trend.newest.level) == (1, None)


@pytest.fixture
def series(tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        add_runs(database, [0.8, 0.8, 0.8, 0.6, 0.6])
        yield database


def score_otherwise(database, run, **values):
    with database.writing() as connection:
        table = schema.run_metrics
        connection.execute(sa.update(table).where(table.c.run >= run).values(values))


@pytest.mark.parametrize(
    ("values", "obstacle"),
    [
        ({"version": 2}, "other version"),
        ({"provenance": {"models": [], "judge": "openai:m", "prompts": ""}}, "other judge"),
    ],
)
def test_another_judge_or_version_breaks_a_series(series, values, obstacle):
    if "provenance" in values:
        score_otherwise(series, "r", provenance={"models": [], "judge": "", "prompts": ""})
    assert trend(series, "answers.jsonl", "grounding").worse
    score_otherwise(series, "r0003", **values)
    found = trend(series, "answers.jsonl", "grounding")
    assert (found.last_break.run, found.last_break.obstacle) == ("r0003", obstacle)
    assert (found.changes, found.worse, found.not_searched) == ((), None, 0)
    assert obstacle in trend_finding(found)


def test_a_change_before_a_break_is_no_alert(series):
    score_otherwise(series, "r0004", version=2)
    found = trend(series, "answers.jsonl", "grounding")
    assert ([change.point.run for change in found.changes], found.worse) == (["r0003"], None)


def test_a_series_without_intervals_was_not_searched(series):
    with series.writing() as connection:
        runs = schema.runs
        for run, summary in connection.execute(sa.select(runs.c.id, runs.c.summary)).all():
            found = json.loads(summary) if isinstance(summary, str) else summary
            found["metrics"][0]["interval"] = None
            kept = json.dumps(found) if isinstance(summary, str) else found
            connection.execute(sa.update(runs).where(runs.c.id == run).values(summary=kept))
    found = trend(series, "answers.jsonl", "grounding")
    assert found.not_searched == len(found.points)
    assert "No change" not in trend_finding(found)
