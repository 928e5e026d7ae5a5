import pytest

from sgi.analysis.compare import compare
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UnknownNameError
from sgi.reporting.views.comparison import comparison_view
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.kept_runs import rows, store_run

LEXICAL = ("lexical_aggregate", "content_f1")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    runs = [
        store_run(folder / "sgi.db", folder, given, name=name, metrics=LEXICAL)
        for name, given in (
            ("monday", rows(30)),
            ("friday", rows(32, answer="Item {k} has {k} {topic}.")),
        )
    ]
    with open_database(folder / "sgi.db") as database:
        yield database, *(find_run(database, run) for run in runs)


def test_the_differences_are_those_of_the_engine(two):
    database, base, new = two
    view = comparison_view(database, base, new)
    assert view.comparison == compare(read_run(database, base), read_run(database, new), changed=5)
    assert (view.base.label, view.new.label) == ("monday", "friday")
    assert view.shares == set(LEXICAL)


def test_rows_that_changed_stand_beside_one_another(two):
    database, base, new = two
    view = comparison_view(database, base, new, changed=3)
    assert len(view.changed) == 6
    for row in view.changed:
        assert row.before.id == row.after.id
        assert row.before.response != row.after.response
        values = [side.scores[row.metric].value for side in (row.before, row.after)]
        assert row.difference == pytest.approx(values[1] - values[0])


def test_one_metric_can_be_asked_for(two):
    database, base, new = two
    whole = comparison_view(database, base, new).comparison
    part = comparison_view(database, base, new, metrics=["content_f1"]).comparison
    assert [found.metric for found in part.metrics] == ["content_f1"]
    assert part.metrics[0].adjusted_p == whole.metrics[1].adjusted_p
    with pytest.raises(UnknownNameError):
        comparison_view(database, base, new, metrics=["sgi"])
