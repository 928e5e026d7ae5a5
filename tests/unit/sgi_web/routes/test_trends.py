"""The page of trends: finding, table, chart, annotations."""

from __future__ import annotations

import re

import pytest

from sgi.store.run_history import list_annotations
from support.run_series import add_runs
from support.web_server import open_site, submit_form, visible_text, web_client

DROP = [0.80, 0.81, 0.79, 0.80, 0.74, 0.73, 0.74]


@pytest.fixture
def series(tmp_path):
    with open_site(tmp_path) as site, web_client(site) as client:
        add_runs(site.database, DROP)
        add_runs(site.database, [0.5, 0.5], data="second.jsonl", first=20)
        yield client, site.database


def test_the_page_says_where_the_mean_changed(series):
    client, _ = series
    text = visible_text(client.get("/trends?data=answers.jsonl").text)
    assert "grounding fell from 0.8000 to 0.7367 at run 4 (worse)." in text
    assert re.search(
        r"run 4 2026-01-01 00:04:00 UTC 0\.7400 \[0\.7200, 0\.7600\] 100 0\.7367 change point", text
    )
    newest = visible_text(client.get("/trends").text)
    assert "No change of grounding was found in 2 runs." in newest


@pytest.mark.parametrize(("across", "place"), [("time", "at"), ("run", "run")])
def test_the_chart_has_the_finding_levels_and_annotations(series, across, place):
    client, _ = series
    submit_form(
        client, "/trends?data=answers.jsonl", to="/trends/annotations", data="answers.jsonl",
        text="release <2>", at="2026-01-01T00:03:30",
    )  # fmt: skip
    spec = client.get(f"/trends/charts.json?data=answers.jsonl&x={across}").json()["charts"]["trend"]
    assert spec["usermeta"]["title"] == "grounding fell from 0.8000 to 0.7367 at run 4 (worse)"
    assert [row["value"] for row in spec["data"]["values"]] == DROP
    own = [layer["data"]["values"] for layer in spec["layer"] if "data" in layer]
    assert [row["level"] for row in own[1]] == pytest.approx([0.8, 0.7367], abs=1e-3)
    assert own[0][0]["text"] == "release <2>"
    assert own[0][0][place] in {"run 4", "2026-01-01T00:03:30.000+00:00"}


def test_annotations_are_added_and_deleted_by_a_form(series):
    client, database = series
    address = "/trends?data=answers.jsonl"
    response = submit_form(
        client, address, to="/trends/annotations", data="answers.jsonl", text="<b>2.4</b>", at=""
    )
    assert (response.status_code, response.headers["location"]) == (303, f"{address}#annotations")
    page = client.get(address).text
    assert "&lt;b&gt;2.4&lt;/b&gt;" in page
    (note,) = list_annotations(database, "answers.jsonl")
    bad = submit_form(client, address, to="/trends/annotations", data="answers.jsonl", text="x", at="noon")
    assert (bad.status_code, "&#39;noon&#39; is not a time." in bad.text) == (400, True)
    no_key = client.post("/trends/annotations", data={"data": "answers.jsonl", "text": "x"})
    assert no_key.status_code == 403
    for unknown in ("none.jsonl", "x" * 3000):
        refused = submit_form(client, address, to="/trends/annotations", data=unknown, text="x")
        assert refused.status_code in {400, 422}
    gone = {"to": "/trends/annotations/delete", "annotation": note.id, "data": "second.jsonl"}
    assert submit_form(client, address, **gone).headers["location"] == f"{address}#annotations"
    assert list_annotations(database, "answers.jsonl") == ()
    assert submit_form(client, address, **gone).status_code == 400


def test_unknown_data(series):
    client, _ = series
    response = client.get("/trends?data=none.jsonl")
    assert (response.status_code, "No finished run has data of this name" in response.text) == (400, True)


def test_an_empty_database(empty):
    assert "has no finished runs yet" in visible_text(empty.get("/trends").text)


def test_hours_of_live_traces_are_one_series(series):
    client, database = series
    for hour, mean in enumerate([0.8, 0.8, 0.6]):
        add_runs(database, [mean], data=f"traces-2026-01-02T0{hour}", first=40 + hour)
    text = visible_text(client.get("/trends").text)
    assert "live traces, by the hour" in text
    assert "grounding fell from 0.8000 to 0.6000 at run 42 (worse)." in text
