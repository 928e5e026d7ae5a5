import dataclasses

import pytest

from sgi.reporting.views.disagreement import disagreeing_ids, disagreement, semantic_and_lexical
from support.run_columns import columns_of
from support.scored_runs import column


def test_what_compares_meaning_and_what_compares_wording(kept):
    semantic, lexical = semantic_and_lexical(kept.columns())
    assert (semantic.metric, lexical.metric) == ("semantic_similarity", "lexical_aggregate")
    assert semantic_and_lexical(columns_of(column("sgi", [1.0]), column("gone", [1.0]))) is None


def test_rows_on_which_meaning_and_wording_disagree_come_by_their_gap(kept):
    columns = kept.columns()
    found = disagreement(kept.database, kept.record, disagreeing_ids(columns, most=5))
    assert (found.semantic, found.lexical) == ("semantic_similarity", "lexical_aggregate")
    apart = [abs(row.gap) for row in found.rows]
    assert apart == sorted(apart, reverse=True)
    assert all(0 <= gap <= 1 for gap in apart)
    for row in found.rows:
        assert row.semantic == row.sample.scores["semantic_similarity"].value
        assert row.lexical == row.sample.scores["lexical_aggregate"].value


def test_the_gap_is_that_of_the_ranks(kept):
    columns = kept.columns()
    semantic, lexical = (
        columns.run.metrics[name].values for name in ("semantic_similarity", "lexical_aggregate")
    )
    found = disagreement(kept.database, kept.record, disagreeing_ids(columns, most=1)).rows[0]
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
    assert disagreement(kept.database, kept.record, disagreeing_ids(bare, most=3)) is None
