"""The leaderboard as a page without scripts, and in the JSON API."""

from __future__ import annotations

import pytest

from sgi.store.run_queries import find_run
from support.kept_runs import rows, store_run
from support.web_server import open_site, visible_text, web_client

METRICS = ["content_f1", "rouge_l"]
SYSTEMS = {"dense": "Item {k} has {k} {topic}.", "bm25": "There are {k}.", "<b>none</b>": "Who knows?"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A site with a run for each system, and a run with the rows of all systems."""
    folder = tmp_path_factory.mktemp("board")
    by_system = {name: rows(24, answer=answer) for name, answer in SYSTEMS.items()}
    together = [
        {**row, "id": f"{row['id']}-{name}", "metadata": {**row["metadata"], "system": name}}
        for name, data in by_system.items()
        for row in data
    ]
    with open_site(folder) as site, web_client(site) as made:
        for place, data in enumerate(by_system.values()):
            store_run(site.place, folder, data, name=f"run {place}", metrics=METRICS)
        store_run(site.place, folder, together, name="together", metrics=METRICS)
        yield made


def test_selected_runs_are_ranked_and_lead_to_pairs_and_rows(client):
    database = client.app.state.site.database
    ids = [find_run(database, f"run {place}").id for place in range(3)]
    response = client.get("/compare", params=[("run", run) for run in reversed(ids)])
    address = response.headers["location"]
    assert address == "/leaderboard?" + "&".join(f"run={run}" for run in ids)
    page = client.get(address).text
    text = visible_text(page)
    assert "run 0, run 1, run 2" in text
    assert "3 systems, 24 rows" in text
    assert "content_f1: 24 rows with a value for each compared system" in text
    assert f'href="/compare?base={ids[0]}&amp;new={ids[1]}"' in page
    assert f'href="/runs/{ids[0]}?metric=content_f1&amp;sort=lowest#rows-title"' in page
    charts = client.get(address.replace("/leaderboard?", "/leaderboard/charts.json?")).json()["charts"]
    assert list(charts) == ["systems-0", "systems-1"]


def test_a_column_names_the_systems_of_one_run(client):
    database = client.app.state.site.database
    run = find_run(database, "together").id
    assert client.get(f"/compare?run={run}").headers["location"] == f"/leaderboard?run={run}"
    chooser = client.get(f"/leaderboard?run={run}").text
    assert '<option value="system">' in chooser
    address = f"/leaderboard?run={run}&by=system&within=topic&quality=content_f1&cost=rouge_l"
    page = client.get(address).text
    assert "<b>none" not in page
    text = visible_text(page)
    assert "3 systems, 24 questions" in text
    assert "content_f1 by topic" in text
    assert "surely dominated" in text
    assert "/compare?base" not in page
    assert "by=system&amp;is=bm25#rows-title" in page
    assert '<option value="topic" selected>' in page
    rows_of = client.get(f"/runs/{run}?metric=content_f1&sort=lowest&by=system&is=bm25")
    assert "24 of 72 rows" in visible_text(rows_of.text)
    assert "pareto" in client.get(address.replace("?", "/charts.json?")).json()["charts"]
    report = client.get(address.replace("?", "/report.html?"))
    assert "attachment" in report.headers["content-disposition"]
    assert "SGI leaderboard" in report.text


def test_the_api_returns_what_the_page_shows(client):
    parameters = {
        "run": "together",
        "by": "system",
        "within": "topic",
        "quality": METRICS[0],
        "cost": METRICS[1],
    }
    facts = client.get("/api/v1/leaderboard", params=parameters).json()
    assert facts["title"] == "together by system"
    metric = facts["leaderboard"]["metrics"][0]
    assert metric["systems"][0]["system"] == "dense"
    assert len(metric["differences"]) == 3
    groups = facts["leaderboard"]["groups"]
    assert [group["name"] for group in groups] == ["bridges", "rivers", "poets"]
    assert all(len(group["metrics"][0]["systems"]) == 3 for group in groups)
    assert facts["pareto"]["systems"][0]["verdict"] == "surely on the front"
    assert client.get("/api/v1/leaderboard", params={"run": ["together"]}).status_code == 400


def test_runs_that_differ_are_ranked_after_a_question(tmp_path):
    changed = [row | {"reference": f"Nobody knows {row['id']}."} for row in rows(8)]
    with open_site(tmp_path) as site, web_client(site) as client:
        for name, given in (("a", rows(8)), ("b", changed), ("c", rows(8))):
            store_run(site.place, tmp_path, given, name=name, metrics=["content_f1"])
        response = client.get("/leaderboard?run=a&run=b&run=c")
        assert (response.status_code, "reference of 8 of 8 pairs" in visible_text(response.text)) == (
            400,
            True,
        )
        anyway = "?run=a&amp;run=b&amp;run=c&amp;allow_different=1"
        assert f'href="{anyway}"' in response.text
        page = client.get("/leaderboard" + anyway.replace("&amp;", "&"))
    assert (page.status_code, "b differs in more than the responses" in page.text) == (200, True)
    assert 'name="allow_different" value="1"' in page.text


def test_the_rows_of_the_runs_are_side_by_side(client):
    database = client.app.state.site.database
    ids = [find_run(database, f"run {place}").id for place in range(3)]
    address = "/leaderboard?" + "&".join(f"run={run}" for run in ids)
    page = client.get(address).text
    assert f'href="/runs/{ids[1]}/samples/item-1"' in page
    assert "<del>Item 1 has 1 rivers.</del> <ins>There are 1.</ins>" in page
    assert 'href="' + address.replace("&", "&amp;") + '&amp;page=2#parallel"' in page
    second = client.get(f"{address}&metric=rouge_l&page=2").text
    assert "Page 2 of 2" in visible_text(second)
    assert '<option value="rouge_l" selected>' in second
    assert "24 rows; those whose rouge_l changed most come first" in visible_text(second)
    pair = client.get(f"/compare?base={ids[0]}&new={ids[1]}").text
    assert f'href="/leaderboard?run={ids[0]}&amp;run={ids[1]}#parallel"' in pair


def test_rows_of_more_than_eight_runs_are_refused_beside_the_leaderboard(tmp_path):
    with open_site(tmp_path) as site, web_client(site) as client:
        names = [f"r{n}" for n in range(9)]
        for name in names:
            store_run(site.place, tmp_path, rows(8), name=name, metrics=["content_f1"])
        page = client.get("/leaderboard", params=[("run", name) for name in names])
    assert "9 systems, 8 rows" in visible_text(page.text)
    assert "at most 8 runs are shown side by side" in page.text
