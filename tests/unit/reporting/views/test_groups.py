import dataclasses
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sgi.analysis.groups import group_by
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.sample import Sample
from sgi.reporting.views.group_view import MAX_GROUPS, GroupTable, group_table, group_tables, sorted_groups
from sgi.reporting.views.headline import scored_rows
from sgi.reporting.views.row_view import lowest_ids, lowest_rows, sample_view, sample_views
from sgi.store.database import open_database
from sgi.store.row_query import RowQuery, row_page
from sgi.store.run_queries import find_run
from support.kept_runs import rows, store_run
from support.runs import add_run
from support.scored_rows import columns_of
from support.scored_runs import column, run


def test_columns_with_few_values_make_groups(kept):
    columns = kept.columns()
    assert len({row["number"] for row in columns.metadata}) > MAX_GROUPS
    by_label, by_topic = group_tables(columns)
    assert {group.name: group.rows for group in by_label.groups} == {"1": 45, "0": 15}
    assert {group.name: group.rows for group in by_topic.groups} == {"bridges": 20, "rivers": 20, "poets": 20}


def test_rows_without_a_group_are_a_group_too():
    columns = columns_of(
        column("m", [0.1, 0.2, 0.3, 0.4]),
        metadata=[{"kind": "x"}, {"kind": None}, {"kind": True}, {"kind": "x"}],
    )
    (table,) = group_tables(columns)
    assert {group.name: group.rows for group in table.groups} == {"x": 2, "(none)": 1, "true": 1}


def test_identifiers_and_lists_make_no_groups():
    metadata = [{"trace_id": str(n), "documents": ["d1"], "kind": "x" if n else "y"} for n in range(3)]
    tables = group_tables(columns_of(column("m", [0.1, 0.2, 0.3]), metadata=metadata))
    assert [table.by for table in tables] == ["kind"]


def test_any_column_can_be_asked_for(kept):
    assert len(group_table(kept.database, kept.record, "number").groups) == 60
    with pytest.raises(UnknownNameError, match="Unknown column"):
        group_table(kept.database, kept.record, "colour")


VALUES = st.sampled_from([None, "1", "0", 1, True, "mine", ""])
ROWS = st.lists(
    st.tuples(st.sampled_from([None, True, False]), st.dictionaries(st.just("label"), VALUES)),
    min_size=2,
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(ROWS)
@example([(True, {}), (False, {"label": "mine"})])
@example([(True, {}), (False, {})])
def test_the_tables_of_a_run_and_the_filter_of_its_rows_mean_the_same_groups(tmp_path, rows):
    samples = [
        Sample(id=f"q{k}", metadata=metadata, **({} if label is None else {"label": label}))
        for k, (label, metadata) in enumerate(rows)
    ]
    with open_database(f"sqlite:///{tmp_path / uuid4().hex}.db") as database:
        add_run(database, samples=samples, scores={"sgi": (1.0,) * len(samples)})
        record = find_run(database, "r1")
        for made in group_tables(scored_rows(database, record)):
            one = group_table(database, record, made.by)
            sizes = {group.name: group.rows for group in made.groups}
            assert {group.name: group.rows for group in one.groups} == sizes
            for name, size in sizes.items():
                assert row_page(database, record, RowQuery(group=(made.by, name))).total == size


def test_known_truth_makes_groups_only_where_no_column_is_called_label():
    scores, labels = column("m", [0.1, 0.2, 0.3]), [1, 0, 1]
    (truth,) = group_tables(columns_of(scores, labels=labels))
    assert [group.name for group in truth.groups] == ["1", "0"]
    (theirs,) = group_tables(columns_of(scores, labels=labels, metadata=[{"label": "a"}, {"label": "a"}, {}]))
    assert [group.name for group in theirs.groups] == ["a", "(none)"]


def test_groups_without_a_mean_come_last_and_the_direction_counts():
    values = column("m", [0.5, 0.9, np.nan, 0.1])
    for higher, order in ((True, ["d", "a", "b", "c"]), (False, ["b", "a", "d", "c"])):
        groups = group_by(run(replace(values, higher_is_better=higher)), list("abcd"))
        assert [group.name for group in sorted_groups(GroupTable("k", groups), "m").groups] == order
    assert sorted_groups(GroupTable("k", groups), None).groups == groups


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


def test_a_row_has_its_texts_and_what_its_scores_were_made_of(kept):
    view = sample_view(kept.database, kept.record, "item-5")
    assert (view.position, view.label, view.metadata) == (5, True, {"topic": "poets", "number": 5})
    assert view.contexts[0] == "Item 5 has 5 old poets."
    assert list(view.scores) == list(kept.record.metrics)
    score = view.scores["sgi"]
    assert score.status == "ok"
    assert {"theta_rq", "theta_rc", "passages", "sentences"} <= set(score.details)


def test_some_rows_come_in_the_order_asked(kept):
    wanted = ["item-9", "item-0", "gone", "item-9", *(f"item-{k}" for k in range(1, 60))]
    found = sample_views(kept.database, kept.record, wanted)
    assert list(found) == [name for name in dict.fromkeys(wanted) if name != "gone"]
    assert found["item-0"] == sample_view(kept.database, kept.record, "item-0")


def test_a_row_that_is_not_there_is_told_with_its_neighbours(kept):
    with pytest.raises(UnknownNameError, match="item-5"):
        sample_view(kept.database, kept.record, "item-55x")
