"""The list of runs: order, change, trend, and the number of SQL statements."""

from __future__ import annotations

import re
import time

import pytest
import sqlalchemy as sa

from sgi.store import search_index
from sgi.store.run_queries import find_run
from sgi.store.search_index import has_search_index
from support.answers_to_check import rows_to_check
from support.kept_runs import rows, store_run
from support.run_series import add_runs
from support.web_server import open_site, visible_text, wait_until, web_client


@pytest.fixture
def many(tmp_path):
    with open_site(tmp_path) as site, web_client(site) as client:
        yield client, site.database


def order(page):
    return [int(number) for number in re.findall(r'<a href="/runs/r(\d+)">run', page)]


def statements(database, request):
    """Return the response of a request, and the number of SQL statements that it caused."""
    made = []

    def note(*parts):
        made.append(parts[2])

    sa.event.listen(database._engine, "before_cursor_execute", note)
    try:
        response = request()
    finally:
        sa.event.remove(database._engine, "before_cursor_execute", note)
    return response, sum(not text.startswith("BEGIN") for text in made)


def test_headers_sort_and_the_form_keeps_the_order(many):
    client, database = many
    add_runs(database, [0.8, 0.6, 0.7])
    add_runs(database, [0.9], data="Bridges.jsonl", first=3)
    assert order(client.get("/").text) == [3, 2, 1, 0]
    assert order(client.get("/?order=up").text) == [0, 1, 2, 3]
    assert order(client.get("/?sort=value").text) == [3, 0, 2, 1]
    assert order(client.get("/?sort=value&order=up").text) == [1, 2, 0, 3]
    assert order(client.get("/?sort=data").text) == [2, 1, 0, 3]
    assert order(client.get("/?sort=name").text) == [0, 1, 2, 3]
    page = client.get("/?sort=rows&metric=grounding&search=run").text
    assert order(page) == [0, 1, 2, 3]
    assert 'name="sort" value="rows"' in page
    again = re.search(r'<th[^>]*aria-sort="descending"[^>]*><a class="sort" href="([^"]*)">Rows', page)
    assert again is not None
    assert order(client.get(again[1].replace("&amp;", "&")).text) == [3, 2, 1, 0]
    assert client.get("/?sort=size").status_code == 400


def test_a_run_has_its_change_and_its_trend(many):
    client, database = many
    add_runs(database, [*[0.8] * 25, 0.7, 0.71])
    add_runs(database, [0.1], data="other.jsonl", first=30)
    page = client.get("/").text
    text = visible_text(page)
    assert text.count("-0.1000") == text.count("+0.0100") == 1
    assert "worse" not in text  # the list does not compare the rows
    assert 'href="/compare?base=r0024&amp;new=r0025"' in page
    assert 'aria-label="Last 20 runs of this data: from 0.8 to 0.71, between 0.7 and 0.8"' in page
    assert page.count("<svg") == 24  # the first run of some data has no trend
    assert 'href="/trends?data=answers.jsonl&amp;metric=grounding"' in page


def test_1000_runs_need_as_many_statements_as_10_and_less_than_200_ms(many):
    client, database = many
    add_runs(database, [0.8 + 0.0001 * (n % 13) for n in range(10)])
    _, few = statements(database, lambda: client.get("/?sort=value"))
    add_runs(database, [0.5 + 0.0001 * (n % 17) for n in range(990)], data="second.jsonl", first=10)
    response, all_of_them = statements(database, lambda: client.get("/?sort=value"))
    assert "1,000 runs" in visible_text(response.text)
    assert few == all_of_them <= 8
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        client.get("/?sort=value")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.2


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


RUN = "/runs/before"


def test_the_first_search_builds_an_index_that_the_next_ones_use(client, site, monkeypatch):
    monkeypatch.setattr(search_index, "MANY_ROWS", 10)
    record = find_run(site.database, "before")
    assert "60 of 60 rows" in visible_text(client.get(RUN).text)
    assert not has_search_index(site.database, record)
    assert "1 of 60 rows" in visible_text(client.get(f'{RUN}?q="item+12"').text)
    wait_until(lambda: has_search_index(site.database, record))
    monkeypatch.setattr(search_index, "_like_pattern", None)  # only reading all texts uses it
    assert "1 of 60 rows" in visible_text(client.get(f'{RUN}?q="ITEM+13"').text)
    response = client.get("/api/v1/runs/before/samples?q=item-14")
    assert response.json()["total"] == 1


def test_chosen_columns_are_shown_and_stay_in_the_links(client, site):
    metric = find_run(site.database, "before").metrics[0]
    page = client.get(f"{RUN}?columns=response&columns={metric}&columns=unknown").text
    head = visible_text(page[page.index("<thead>", page.index('id="rows"')) : page.index("item-0<")])
    assert "Response" in head
    assert "Question" not in head
    assert len(find_run(site.database, "before").metrics) > 1
    assert page.count('name="columns"') == 3 + len(find_run(site.database, "before").metrics)
    assert page.count(" checked>") == 2
    assert "columns=response" in page[page.index('rel="next"') :]
    every = "&".join(f"columns={name}" for name in ("label", "question", "response", *site_metrics(site)))
    assert "columns=" not in client.get(f"{RUN}?{every}").text.replace('name="columns"', "")


def site_metrics(site):
    return find_run(site.database, "before").metrics


def test_a_run_opens_on_the_answers_to_check_and_says_why(client, tmp_path):
    run = store_run(
        tmp_path / "sgi.db", tmp_path, rows_to_check(2), name="mine", metrics=["sgi", "grounding"]
    )
    kinds = ["contradicted", "absent", "low", "right"]
    page = client.get(f"/runs/{run}").text
    places = [page.index(f">{kind}-0</a>") for kind in kinds]
    assert places == sorted(places)
    assert "312 m: passage 1 has 330 m" in page
    first = client.get(f"/runs/{run}/samples/contradicted-0?metric=grounding&at=1").text
    assert "312 m: passage 1 has 330 m" in first
    assert "/samples/contradicted-1?metric=grounding&amp;at=2" in first
    rows = client.get(f"/api/v1/runs/{run}/samples?sort=worst&metric=grounding&size=2").json()["rows"]
    assert [row["id"] for row in rows] == ["contradicted-0", "contradicted-1"]
    by_position = client.get(f"/runs/{run}?sort=position").text
    assert by_position.index(">right-0</a>") < by_position.index(">contradicted-0</a>")
