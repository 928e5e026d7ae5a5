"""The page of a row."""

from __future__ import annotations

import re

import pytest

from support.kept_runs import rows, store_run
from support.web_server import open_site, web_client


def test_a_row_links_to_its_trace_and_its_diagnosis(tmp_path):
    first, second = rows(2)
    data = [first | {"metadata": {"trace_id": "../x?y"}}, second | {"metadata": {"trace_id": 7}}]
    traces = "https://traces.example.org/t/{trace_id}"
    store_run(tmp_path / "sgi.db", tmp_path, data, name="traced", metrics=("grounding",))
    with (
        open_site(tmp_path, trace_url=traces) as site,
        web_client(site) as client,
    ):
        page = client.get("/runs/traced/samples/item-0").text
        assert 'href="https://traces.example.org/t/..%2Fx%3Fy"' in page
        assert "traces.example.org" not in client.get("/runs/traced/samples/item-1").text
        cause = client.get(re.search(r'hx-get="([^"]*/cause[^"]*)"', page)[1])
        assert "What to do about it" in cause.text
        of_htmx = {"HX-Request": "true", "HX-Request-Type": "partial"}
        part = client.get("/runs/traced/cause?id=item-0", headers=of_htmx)
        assert part.text.startswith("<dl")
        assert client.get("/runs/traced/cause?id=nothing").status_code == 404


def test_a_row_shows_the_answers_of_other_runs(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    first = store_run(tmp_path / "sgi.db", old, rows(4), metrics=("content_f1",))
    changed = rows(4, answer="<b>Item {k}</b> has {k} old {topic}.")
    second = store_run(tmp_path / "sgi.db", new, changed, metrics=("content_f1",))
    with open_site(tmp_path) as site, web_client(site) as client:
        page = client.get(f"/runs/{first}/samples/item-1").text
        assert "1 of 1 have another answer" in page
        assert "&lt;b&gt;Item 1&lt;/b&gt; has 1 old rivers." in page
        assert f'href="/runs/{second}/samples/item-1"' in page
        assert "0 of 1 have another answer" in client.get(f"/runs/{first}/samples/item-0").text


@pytest.mark.parametrize("at", ["0000000001" + "9" * 20, "0000000001" + "9" * 5000])
def test_a_position_that_is_too_large_is_ignored(client, at):
    assert client.get(f"/runs/before/samples/item-3?q=item&at={at}").status_code == 200
