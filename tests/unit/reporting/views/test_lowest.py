import dataclasses

import numpy as np

from sgi.reporting.views.lowest import lowest_ids, lowest_rows


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
