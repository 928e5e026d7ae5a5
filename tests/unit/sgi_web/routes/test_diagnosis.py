"""The page with the causes of a run, and the rows of one cause."""

from __future__ import annotations

import pytest

from sgi.store.run_queries import find_run
from sgi_web.routes import run_pages as pages
from support.kept_runs import store_run
from support.web_server import open_site, visible_text, web_client

ROW = {"question": "How tall is it?", "contexts": ["It is 330 m tall."], "reference": "330 m"}
ROWS = [
    ROW | {"id": "good", "response": "It is 330 m tall."},
    ROW | {"id": "<b>bad</b>", "response": "It is 312 m tall."},
]


@pytest.fixture
def client(tmp_path):
    with open_site(tmp_path) as site, web_client(site) as made:
        store_run(site.place, tmp_path, ROWS, name="tower", metrics=["squad_em"])
        yield made


def address(client):
    return f"/runs/{find_run(client.app.state.site.database, 'tower').id}/diagnosis"


def test_the_page_shows_causes_and_the_rows_of_one(client):
    response = client.get(address(client))
    assert response.status_code == 200
    assert "2 of 2 rows are diagnosed" in visible_text(response.text)
    assert "?cause=contradicted_fact#rows" in response.text
    charts = client.get(f"{address(client)}.json").json()["charts"]
    assert [row["value"] for row in charts["causes"]["data"]["values"]] == [0.5, 0.5]
    listed = client.get(address(client), params={"cause": "contradicted_fact"})
    assert "“312 m”; passage 1: “330 m”" in visible_text(listed.text)
    assert "<b>bad</b>" not in listed.text


def test_an_unknown_cause_is_refused(client):
    assert 400 <= client.get(address(client), params={"cause": "bad"}).status_code < 500


def test_a_large_run_is_left_to_the_command(client, monkeypatch):
    monkeypatch.setattr(pages, "MAX_DIAGNOSED", 1)
    response = client.get(address(client))
    assert 400 <= response.status_code < 500
    assert "Use the command: sgi diagnose" in visible_text(response.text)
