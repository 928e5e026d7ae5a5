import pytest

from sgi.kernel.errors import UnknownName
from sgi.report.views.groups import MOST_GROUPS, group_table, group_tables
from support.run_columns import columns_of
from support.scored_runs import column


def test_columns_with_few_values_make_groups(kept):
    columns = kept.columns()
    assert len({row["number"] for row in columns.metadata}) > MOST_GROUPS
    by_label, by_topic = group_tables(columns)
    assert {group.name: group.rows for group in by_label.groups} == {"1": 45, "0": 15}
    assert {group.name: group.rows for group in by_topic.groups} == {"bridges": 20, "rivers": 20, "poets": 20}


def test_rows_without_a_group_are_a_group_too():
    columns = columns_of(
        column("m", [0.1, 0.2, 0.3]), metadata=[{"kind": "x"}, {"kind": None}, {"kind": True}]
    )
    (table,) = group_tables(columns)
    assert {group.name: group.rows for group in table.groups} == {"x": 1, "(none)": 1, "true": 1}


def test_any_column_can_be_asked_for(kept):
    assert len(group_table(kept.database, kept.record, "number").groups) == 60
    with pytest.raises(UnknownName, match="Unknown column"):
        group_table(kept.database, kept.record, "colour")
