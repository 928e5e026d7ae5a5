from __future__ import annotations

import numpy as np
import pytest

from sgi.analysis.compare import compare
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UsageError
from sgi.reporting.views import run_view as module
from sgi.reporting.views.run_view import earlier_run
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.kept_runs import rows, store_run


def test_the_earlier_run_is_the_last_finished_one_with_data_of_the_same_name(tmp_path):
    path = tmp_path / "sgi.db"
    data = tmp_path / "same"
    data.mkdir()
    first = store_run(path, data, rows(12), metrics=["rouge_l", "bleu"])
    other = store_run(path, data, rows(15), name="other", metrics=["rouge_l"])
    third = store_run(path, data, rows(20), metrics=["rouge_l"])
    with open_database(path) as database:
        found = earlier_run(database, find_run(database, third))
        assert found is not None
        assert (found.id, found.label, [*found.changes]) == (first, first, ["rouge_l"])
        assert earlier_run(database, find_run(database, first)) is None
        assert earlier_run(database, find_run(database, other)) is None


def asked(scale, *, first=0, reference="a b c d e f g h i j", noise=0):
    """60 questions whose answers have a share of the words of the reference, by random numbers."""
    shares = np.random.default_rng(noise).uniform(0.3, 0.9, 60) * scale
    words = reference.split()
    return [
        {
            "question": f"Question {k + first}?",
            "response": " ".join([*words[: round(10 * share)], *["x"] * (10 - round(10 * share))]),
            "reference": reference,
        }
        for k, share in enumerate(shares)
    ]


@pytest.mark.parametrize(
    ("second", "obstacle"),
    [
        (asked(0.8), ""),
        (asked(1.0, noise=1), ""),
        (asked(1.0)[:58] + asked(0.5, first=60)[:20], ""),
        (asked(0.5, first=60), "other questions"),
        (asked(0.5, first=5), "other questions"),
        (asked(1.0, reference="b c d e f g h i j k"), "other references"),
    ],
)
def test_the_changes_say_what_a_comparison_says(tmp_path, second, obstacle):
    path, metrics = tmp_path / "sgi.db", ["squad_token_f1", "bleu"]
    runs = [store_run(path, tmp_path, data, metrics=metrics) for data in (asked(1), second)]
    with open_database(path) as database:
        records = [find_run(database, run) for run in runs]
        changes = earlier_run(database, records[1]).changes
        scored = [read_run(database, record) for record in records]
    if obstacle:
        assert {change.obstacle for change in changes.values()} == {obstacle}
        with pytest.raises(UsageError):
            compare(*scored)
        return
    for metric in compare(*scored).metrics:
        change = changes[metric.metric]
        assert (change.difference, change.verdict) == (metric.difference.difference, metric.verdict)


def test_of_large_runs_the_means_are_subtracted_without_a_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_COMPARED", 11)
    path = tmp_path / "sgi.db"
    store_run(path, tmp_path, rows(12), metrics=["rouge_l"])
    second = store_run(path, tmp_path, rows(10), metrics=["rouge_l"])
    with open_database(path) as database:
        change = earlier_run(database, find_run(database, second)).changes["rouge_l"]
    assert change.difference
    assert change.verdict is None
