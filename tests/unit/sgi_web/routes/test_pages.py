"""The pages of runs, rows and comparisons, as a browser without scripts has them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.store.run_queries import find_run
from sgi_web import pages
from sgi_web.site import sample_path
from support.kept_runs import rows, store_run
from support.runs import HOSTILE, add_run
from support.web_server import open_site, submit_form, visible_text, web_client

PART = {"HX-Request": "true", "HX-Request-Type": "partial"}
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"{{ 7 * 7 }}\u202e\x00"


def test_the_list_is_searched_and_filtered(client):
    submit_form(client, "/runs/before/edit", name="before", tags="nightly, de")
    page = client.get("/")
    assert visible_text(page.text).index("after") < visible_text(page.text).index("before")
    assert "2 runs, newest first" in visible_text(page.text)
    assert "nightly (1)" in visible_text(page.text)
    found = visible_text(client.get("/?search=BEF").text)
    assert "1 run, newest first" in found
    assert "1 run," in visible_text(client.get("/?tag=nightly").text)
    assert "No runs match." in visible_text(client.get("/?search=%25").text)
    assert client.get("/?page=99").status_code == 200


def test_an_empty_store_says_how_to_fill_it(empty):
    made = visible_text(empty.get("/").text)
    assert "has no runs yet" in made
    assert "sgi run answers.csv" in made
    assert empty.get("/runs/last").status_code == 404
    assert empty.get("/compare").status_code == 200


def test_the_list_has_pages(tmp_path):
    with open_site(tmp_path) as site, web_client(site) as client:
        for n in range(27):
            add_run(site.database, f"r{n:02}", name=f"run number {n}")
        first, second = client.get("/?search=number").text, client.get("/?search=number&page=2").text
    assert (first.count('name="run"'), second.count('name="run"')) == (25, 2)
    assert 'rel="next" href="/?search=number&amp;page=2"' in first
    assert 'rel="prev" href="/?search=number"' in second


def test_a_run_shows_its_numbers_and_the_first_rows(client):
    response = client.get("/runs/before")
    text = visible_text(response.text)
    assert "60 rows have a label" in text
    assert "60 of 60 rows" in text
    assert response.text.count("/samples/item-") == 50
    assert "Page 1 of 2" in text
    assert "data-charts=" in response.text


def test_a_script_gets_the_rows_alone(client):
    response = client.get("/runs/before?label=1&page=1", headers=PART)
    assert "<html" not in response.text
    assert "45 of 60 rows" in visible_text(response.text)


def test_a_rectangle_in_the_plane_leaves_the_rows_inside(client):
    charts = client.get("/runs/before/charts.json").json()["charts"]
    points = charts["plane"]
    found = next(
        layer["data"]["values"] for layer in points["layer"] if layer["data"].get("name") == "points"
    )
    angles = sorted(point["theta_rc"] for point in json.loads(found))
    middle = angles[len(angles) // 2]
    inside = sum(angle <= middle for angle in angles)
    assert f"{inside} of 60 rows" in visible_text(
        client.get(f"/runs/before?rc_low=0&rc_high={middle!r}").text
    )


def test_charts_have_titles_descriptions_and_specs(client):
    response = client.get("/runs/before/charts.json")
    charts = response.json()["charts"]
    assert {"plane", "distribution-0", "correlation"} <= set(charts)
    for spec in charts.values():
        assert spec["$schema"]
        assert all(spec["usermeta"].values())
    assert client.get("/runs/before/charts.json").content == response.content
    against = client.get("/runs/before/labels.json").json()["charts"]
    assert list(against)[:1] == ["roc"]


def test_groups_reasons_and_cost_come_after_the_page(client):
    page, part = client.get("/runs/before/parts"), client.get("/runs/before/parts", headers=PART)
    assert "By topic" in visible_text(part.text)
    assert "<html" not in part.text
    assert visible_text(part.text) in visible_text(page.text)


def test_a_row_has_its_texts_scores_and_neighbours(client):
    made = client.get("/runs/before/samples/item-5").text
    assert "How many poets does item 5 have?" in visible_text(made)
    assert "Item 5 has 5 old poets." in visible_text(made)
    assert "/samples/item-4?" in made
    assert "/samples/item-6?" in made
    assert 'rel="prev"' not in client.get("/runs/before/samples/item-0").text
    assert 'rel="next"' not in client.get("/runs/before/samples/item-59").text


def test_the_next_row_is_the_next_of_those_that_were_looked_for(client):
    page = client.get("/runs/before?label=0&sort=position").text
    third = page.split('href="/runs/')[1:]
    links = [
        f"/runs/{part.partition(chr(34))[0]}".replace("&amp;", "&") for part in third if "/samples/" in part
    ]
    shown = client.get(links[2]).text
    assert "/samples/item-4?label=0&amp;sort=position&amp;at=2" in shown
    assert "/samples/item-12?label=0&amp;sort=position&amp;at=4" in shown
    back = links[2].partition("?")[2].replace("&at=3", "")
    assert f"?{back}".replace("&", "&amp;") in shown


def test_two_runs_side_by_side(client, site):
    base, new = (find_run(site.database, name).id for name in ("before", "after"))
    response = client.get("/compare", params=[("run", new), ("run", base)])
    assert response.headers["location"] == f"/compare?base={base}&new={new}"
    text = visible_text(client.get(response.headers["location"]).text)
    assert "before → after" in text
    assert "60 pairs" in text
    charts = client.get(f"/compare/charts.json?base={base}&new={new}").json()["charts"]
    assert list(charts) == ["differences"]
    chooser = client.get(f"/compare?new={new}").text
    assert f'<option value="{new}" selected>' in chooser


def test_runs_that_differ_in_more_than_responses_are_shown_how_first(tmp_path):
    changed = [row | {"reference": f"{MARKUP} {row['id']}"} for row in rows(8)]
    with open_site(tmp_path) as site, web_client(site) as client:
        for name, given in (("a", rows(8)), ("b", changed)):
            store_run(site.place, tmp_path, given, name=name, metrics=["content_f1"])
        response = client.get("/compare?base=a&new=b")
        text = visible_text(response.text)
        assert (response.status_code, "reference of 8 of 8 pairs, such as item-0" in text) == (400, True)
        assert "<script>alert" not in response.text
        anyway = "?base=a&amp;new=b&amp;allow_different=1"
        assert f'href="{anyway}"' in response.text
        page = client.get("/compare" + anyway.replace("&amp;", "&"))
        assert (page.status_code, "Differs in more than the responses" in page.text) == (200, True)
        charts = client.get("/compare/charts.json?base=a&new=b&allow_different=1")
        assert charts.status_code == 200
        assert client.get("/api/v1/compare?base=a&new=b").status_code == 400
        body = client.get("/api/v1/compare?base=a&new=b&allow_different=true").json()
    assert body["comparison"]["differences"][0]["base"] == "'Item 0 has 0 bridges.'"


@pytest.mark.parametrize(
    ("given_form", "message"),
    [
        ({"name": "after", "tags": "x"}, "already exists"),
        ({"name": "last", "tags": "x"}, "cannot be called"),
        ({"name": "other", "tags": "y" * 41}, "y" * 30),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_changed(client, site, given_form, message):
    response = submit_form(client, "/runs/before/edit", **given_form)
    assert response.status_code == 400
    assert message in visible_text(response.text)
    assert given_form["tags"] in response.text
    record = find_run(site.database, "before")
    assert (record.name, record.tags) == ("before", ())


def test_rows_and_report_are_files(client, site):
    run = find_run(site.database, "before").id
    lines = client.get("/runs/before/rows.jsonl")
    assert lines.headers["content-disposition"] == f'attachment; filename="{run}.rows.jsonl"'
    assert [json.loads(line)["id"] for line in lines.text.splitlines()] == [f"item-{k}" for k in range(60)]
    table = list(csv.DictReader(io.StringIO(client.get("/runs/before/rows.csv").text)))
    assert len(table) == 60
    assert float(table[1]["content_f1"]) > 0
    assert not site.folder.exists()
    report = client.get("/runs/before/report.html")
    assert report.headers["content-disposition"].endswith('report.html"')
    assert report.text.lower().startswith("<!doctype html>")


def test_a_run_that_goes_on_asks_for_news(client, monkeypatch, site):
    real = pages.find_run

    def unfinished(*args):
        return replace(real(*args), finished_at=None, scored=30)

    assert client.get("/runs/before/state").headers["hx-refresh"] == "true"
    monkeypatch.setattr(pages, "find_run", unfinished)
    page = client.get("/runs/before")
    assert "30 of 60" in visible_text(page.text)
    assert 'hx-trigger="every 4s"' in page.text
    assert "hx-refresh" not in client.get("/runs/before/state").headers


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """A browser of a run whose ids, texts and name are as bad as can be."""
    folder = tmp_path_factory.mktemp("strange")
    ids = [MARKUP, "..", ".", "../../etc/passwd", "a/b?c=d&e#f", "100%", "\n", "\ud800", " ", "é𝄞", HOSTILE]
    samples = [Sample(id=one, question=MARKUP, contexts=(MARKUP,), response=HOSTILE + MARKUP) for one in ids]
    with open_site(folder) as site, web_client(site) as client:
        add_run(site.database, "r1", name=MARKUP[:40], samples=samples, scores={"sgi": [1.0] * len(ids)})
        yield client, ids


def test_hostile_texts_are_texts(strange):
    client, _ = strange
    paths = ["/", "/runs/r1", "/runs/r1/edit", "/runs/r1/delete", sample_path("r1", MARKUP), "/compare"]
    for path in [*paths, "/?search=" + MARKUP[:30], "/runs/" + MARKUP[:8], "/runs/r1?q=%3Cscript%3E"]:
        text = client.get(path).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert ">49<" not in text
        assert "\u202e" not in text
        assert "\x00" not in text


def test_every_id_has_a_page_that_the_table_leads_to(strange):
    client, ids = strange
    page = client.get("/runs/r1").text
    for sample_id in ids:
        path = sample_path("r1", sample_id)
        assert path.replace("&", "&amp;") in page
        assert client.get(path).status_code == 200, sample_id


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), min_size=1, max_size=12))
def test_any_id_is_found_or_missing_and_never_a_fault(strange, sample_id):
    client, ids = strange
    response = client.get(sample_path("r1", sample_id))
    assert response.status_code == (200 if sample_id in ids else 404)
    assert urlsplit(str(response.url)).path.startswith("/runs/r1/samples")


def test_static_files_are_compressed_and_cached_by_their_content(client):
    plain = client.get("/static/vega.js", headers={"Accept-Encoding": "identity"})
    zipped = client.get("/static/vega.js", headers={"Accept-Encoding": "gzip, br"})
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.content == plain.content
    assert int(zipped.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert plain.headers["vary"] == zipped.headers["vary"] == "Accept-Encoding"
    for accepted, known in (("identity", plain), ("gzip, br", zipped)):
        again = {"Accept-Encoding": accepted, "If-None-Match": known.headers["etag"]}
        assert client.get("/static/vega.js", headers=again).status_code == 304
    assert plain.headers["etag"] != zipped.headers["etag"]
