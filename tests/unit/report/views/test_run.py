import dataclasses

import numpy as np
import pytest

from sgi.engine.summary import Summary
from sgi.report.views.disagreement import disagreement
from sgi.report.views.headline import headline
from sgi.report.views.run import run_view
from sgi.report.views.worst import worst_rows


def test_the_headline_of_a_finished_run_is_the_one_that_was_kept(kept):
    told = Summary.from_dict(kept.record.summary)
    found = headline(kept.database, kept.record)
    assert found.metrics == told.metrics
    assert found.baselines == told.baselines
    assert (found.labelled, found.positives, found.partial) == (60, 45, "")


def test_without_a_kept_headline_it_is_computed_and_says_so(kept):
    bare = dataclasses.replace(kept.record, summary=None)
    found = headline(kept.database, bare)
    kept_means = [made.mean for made in headline(kept.database, kept.record).metrics]
    assert [made.mean for made in found.metrics] == pytest.approx(kept_means)
    assert found.partial == "numbers computed now, from the scores of the rows"


def test_a_run_without_rows_has_an_empty_headline(kept):
    bare = dataclasses.replace(kept.record, summary=None, scored=0, finished_at=None)
    found = headline(kept.database, bare)
    assert found.metrics == ()
    assert found.partial == "numbers of the 0 rows that are scored, of 60"


def test_the_worst_rows_are_the_worst(kept):
    columns = kept.columns()
    for found in worst_rows(kept.database, kept.record, columns, most=7):
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
    (first, *_) = worst_rows(kept.database, kept.record, lower, most=1)
    assert first.samples[0].scores["sgi"].value == np.nanmax(columns.run.metrics["sgi"].values)


def test_rows_on_which_meaning_and_wording_disagree_come_by_their_gap(kept):
    columns = kept.columns()
    found = disagreement(kept.database, kept.record, columns, most=5)
    assert (found.semantic, found.lexical) == ("semantic_similarity", "lexical_aggregate")
    gaps = [abs(row.gap) for row in found.rows]
    assert gaps == sorted(gaps, reverse=True)
    assert all(0 <= gap <= 1 for gap in gaps)
    for row in found.rows:
        assert row.semantic == row.sample.scores["semantic_similarity"].value
        assert row.lexical == row.sample.scores["lexical_aggregate"].value


def test_the_gap_is_that_of_the_ranks(kept):
    columns = kept.columns()
    semantic, lexical = (
        columns.run.metrics[name].values for name in ("semantic_similarity", "lexical_aggregate")
    )
    found = disagreement(kept.database, kept.record, columns, most=1).rows[0]
    place = found.sample.position
    share = [
        ((values < values[place]).sum() + (values == values[place]).sum() / 2 - 0.5) / (len(values) - 1)
        for values in (semantic, lexical)
    ]
    assert found.gap == pytest.approx(share[0] - share[1])


def test_without_a_metric_of_wording_nothing_disagrees(kept):
    columns = kept.columns()
    only = {"semantic_similarity": columns.run.metrics["semantic_similarity"]}
    bare = dataclasses.replace(columns, run=dataclasses.replace(columns.run, metrics=only))
    assert disagreement(kept.database, kept.record, bare, most=3) is None


def test_a_whole_view_has_every_part(kept):
    view = run_view(kept.database, kept.record, worst=3, points=10)
    assert view.head.label == "monday"
    assert {found.metric for found in view.distributions} == set(kept.record.metrics)
    assert len(view.plane.points) == 10
    assert view.plane.rows == 60
    assert [table.by for table in view.groups] == ["label", "topic"]
    assert len(view.correlation.metrics) == 4
    assert [len(found.samples) for found in view.worst] == [3, 3, 3, 3]
    assert {found.metric for found in view.labelled} == set(kept.record.metrics)
    assert view.reasons == ()
    assert view.usage == {}
