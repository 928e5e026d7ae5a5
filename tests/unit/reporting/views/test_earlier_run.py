from __future__ import annotations

from sgi.reporting.views.earlier_run import earlier_run
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
        assert (found.id, found.label, [*found.metrics]) == (first, first, ["rouge_l", "bleu"])
        assert found.metrics["rouge_l"].ok == 12
        assert earlier_run(database, find_run(database, first)) is None
        assert earlier_run(database, find_run(database, other)) is None
