from __future__ import annotations

import pytest

from sgi.reporting.figures import group_figures
from sgi.reporting.views.stored import RunViews
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.web.charts import run_charts
from support.kept_runs import keep_run, rows


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """Of a run whose first metric has no value, since no row has a reference."""
    folder = tmp_path_factory.mktemp("charts")
    given = [{name: value for name, value in row.items() if name != "reference"} for row in rows(12)]
    given.append({"id": "last", "response": "", "reference": "Nothing."})
    keep_run(folder / "sgi.db", folder, given, name="r", metrics=["squad_em", "sgi"])
    with open_database(folder / "sgi.db") as database:
        yield RunViews(database, find_run(database, "r"))


def test_groups_are_drawn_by_every_metric_that_has_means_as_in_the_report(views):
    drawn = [chart for chart in run_charts(views) if chart["id"].startswith("groups-")]
    chosen = group_figures(views.tables.groups)
    assert [chart["id"] for chart in drawn] == [f"groups-{n}" for n in range(len(chosen))]
    assert ("topic", "sgi") in [(table.by, metric) for table, metric in chosen]
    assert len(drawn) == len(chosen) >= 2
    assert len({chart["title"] for chart in drawn}) == len(drawn)
