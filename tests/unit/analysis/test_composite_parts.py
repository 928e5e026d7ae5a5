"""Composite metrics that are computed from other parts in another run, or for another system."""

from __future__ import annotations

import numpy as np
import pytest

from sgi.analysis.changes import metric_changes
from sgi.analysis.compare import compare
from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.pareto import pareto
from sgi.analysis.systems import compared_systems
from sgi.engine.stored_runs import read_run
from sgi.engine.summary import Summary
from sgi.kernel.errors import NotComparableError, UsageError
from sgi.reporting.leaderboard_view import systems_table
from sgi.reporting.tables import class_lines
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.kept_runs import store_run

METRIC = 'weighted_mean(of=["squad_em", "redundancy"])'


def asked(*, contexts, system, rows=20):
    return [
        {
            "question": f"Question {k}?",
            "response": "Paris" if k % 4 else "Lyon",
            "reference": "Paris",
            "metadata": {"system": system},
            **({"contexts": ["Paris is a city.", "Lyon is a city."]} if contexts else {}),
        }
        for k in range(rows)
    ]


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "sgi.db"
    data = (asked(contexts=True, system="a"), asked(contexts=False, system="b"))
    stored = [
        store_run(path, tmp_path, rows, name=f"run{k}", metrics=[METRIC])
        for k, rows in enumerate((*data, data[0] + data[1]))
    ]
    with open_database(path) as database:
        yield [(record, read_run(database, record)) for record in (find_run(database, run) for run in stored)]


def test_runs_with_other_parts_are_refused(runs):
    (_, base), (_, new), _ = runs
    with pytest.raises(NotComparableError, match="parts: rows with redundancy"):
        compare(base, new)
    assert [one.what for one in compare(base, new, allow_different=True).differences] == [
        "parts: rows with redundancy"
    ]
    assert {change.obstacle for change in metric_changes(base, new).values()} == {"other parts"}
    assert compare(base, base.take(base.clusters)).differences == ()


def test_runs_of_systems_with_other_parts_are_refused(runs):
    scored = [run for _, run in runs[:2]]
    with pytest.raises(NotComparableError, match="parts: rows with redundancy"):
        compared_systems(scored)
    allowed = compared_systems(scored, allow_different=True)
    assert any("parts: rows with redundancy" in note for note in allowed.notes)


def test_a_system_with_other_parts_than_the_others_has_a_mean_and_is_not_compared(tmp_path):
    """Document 002's composite of a method without contexts has only parts that need none."""
    ways = {"none": False, "local": True, "basic": True}
    data = [row for name, contexts in ways.items() for row in asked(contexts=contexts, system=name)]
    store_run(tmp_path / "sgi.db", tmp_path, data, name="all", metrics=[METRIC, "squad_em"])
    with open_database(tmp_path / "sgi.db") as database:
        run = read_run(database, find_run(database, "all"))
        result = leaderboard(compared_systems([run], "system"))
        of_two = leaderboard(compared_systems([run.take(np.arange(40))], "system"))
        accepted = leaderboard(compared_systems([run], "system", allow_different=True))
    metric, _ = result.metrics
    assert [(one.system, bool(one.letters), one.mean is not None) for one in metric.systems] == [
        ("local", True, True),
        ("basic", True, True),
        ("none", False, True),
    ]
    assert {(one.first, one.second) for one in metric.differences} == {("local", "basic")}
    assert [[*row][3] for row in systems_table(metric, "question").rows] == ["a", "a", "not compared"]
    with pytest.raises(UsageError, match="No two systems are compared on both"):
        pareto(of_two, METRIC, "squad_em")
    assert [one.system for one in pareto(result, METRIC, "squad_em").systems] == ["local", "basic"]
    assert any("none is not compared, since it has other parts than local" in note for note in result.notes)
    assert not any("other parts" in note for note in compared_systems([run], "system").notes)  # also of duels
    assert len(accepted.metrics[0].differences) == 3


def test_a_system_without_any_value_does_not_hide_other_parts(tmp_path):
    """A system without values has no parts that differ, and would otherwise be the base."""
    blank = asked(contexts=False, system="none")
    for row in blank:
        del row["reference"]
    data = [*blank, *asked(contexts=True, system="local"), *asked(contexts=False, system="basic")]
    store_run(tmp_path / "sgi.db", tmp_path, data, name="all", metrics=[METRIC])
    with open_database(tmp_path / "sgi.db") as database:
        (metric,) = leaderboard(
            compared_systems([read_run(database, find_run(database, "all"))], "system")
        ).metrics
    assert metric.differences == ()
    assert {one.system for one in metric.systems if one.mean is not None} == {"local", "basic"}


def test_the_summary_counts_the_values_with_each_part(runs):
    stored = [Summary.from_dict(record.summary).metrics[0] for record, _ in runs]
    assert [one.parts for one in stored] == [
        {"squad_em": 20, "redundancy": 20},
        {"squad_em": 20, "redundancy": 0},
        {"squad_em": 40, "redundancy": 20},
    ]
    assert class_lines(stored[1:2])[0].endswith("of 20 values, squad_em in 20, redundancy in 0")
