import dataclasses

import numpy as np

from sgi.reporting.views.headline import scored_rows
from sgi.reporting.views.row_view import lowest_ids, lowest_rows
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.kept_runs import rows, store_run


def test_the_worst_rows_are_the_worst(kept):
    columns = kept.columns()
    for found in lowest_rows(kept.database, kept.record, lowest_ids(columns, most=7)):
        column = columns.run.metrics[found.metric]
        shown = [sample.scores[found.metric].value for sample in found.samples]
        assert shown == sorted(column.values[column.ok])[:7]
        assert [columns.run.ids[sample.position] for sample in found.samples] == [
            sample.id for sample in found.samples
        ]


def test_of_a_metric_that_is_better_low_the_worst_are_the_highest(kept):
    columns = kept.columns()
    turned = {
        name: dataclasses.replace(column, higher_is_better=False)
        for name, column in columns.run.metrics.items()
    }
    lower = dataclasses.replace(columns, run=dataclasses.replace(columns.run, metrics=turned))
    (first, *_) = lowest_rows(kept.database, kept.record, lowest_ids(lower, most=1))
    assert first.samples[0].scores["sgi"].value == np.nanmax(columns.run.metrics["sgi"].values)


def test_a_metric_whose_values_are_all_the_best_has_no_worst_rows(tmp_path):
    equal = [row | {"response": row["reference"]} for row in rows(6)]
    best = store_run(tmp_path / "sgi.db", tmp_path, equal, name="best", metrics=["squad_em"])
    wrong = [row | {"response": "?"} for row in rows(6)]
    worst = store_run(tmp_path / "sgi.db", tmp_path, wrong, name="worst", metrics=["squad_em"])
    with open_database(tmp_path / "sgi.db") as database:
        columns = scored_rows(database, find_run(database, best))
        assert lowest_ids(columns, most=3) == ()
        assert len(lowest_ids(columns, most=3, metric="squad_em")[0].samples) == 3
        assert len(lowest_ids(scored_rows(database, find_run(database, worst)), most=3)[0].samples) == 3
