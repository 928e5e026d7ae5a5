"""The list of runs: order, change, trend, and the number of SQL statements."""

from __future__ import annotations

import re
import time

import pytest
import sqlalchemy as sa

from support.run_series import add_runs
from support.web_server import open_site, visible_text, web_client


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
