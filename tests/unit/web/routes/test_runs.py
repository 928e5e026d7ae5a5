"""The list of runs: order, change, course, and the number of SQL statements."""

from __future__ import annotations

import json
import re
import time

import pytest
import sqlalchemy as sa

from sgi.engine.summary import MetricSummary, Summary
from sgi.kernel.metric import Status
from sgi.stats.intervals import Interval
from sgi.store import schema
from sgi.store.run_inserts import insert_rows
from support.web_server import open_site, visible_text, web_client


def summary(mean, half=0.02, metric="grounding"):
    """A stored summary with the mean of one metric and its interval."""
    counts = dict.fromkeys(Status, 0) | {Status.OK: 100}
    interval = Interval(mean - half, mean + half, 0.95, "t")
    made = MetricSummary(metric, mean, interval, 0.1, counts, None, is_score=True)
    return json.dumps(Summary(100, 100, 0, 0, (made,), (), 0, {}, {}, "sgi:1").to_dict())


def add_runs(database, means, *, data="answers.jsonl", first=0):
    """Add a finished run for each mean, a minute apart; the id of run 7 is r0007."""
    with database.writing() as connection:
        numbers = range(first, first + len(means))
        insert_rows(connection, schema.datasets, [(data, data, 100, "2026-01-01T00:00:00")])
        made = []
        for n, mean in zip(numbers, means, strict=True):
            at = f"2026-01-{1 + n // 1440:02}T{n // 60 % 24:02}:{n % 60:02}:00"
            facts = ("{}", "hash", "sgi:1", "{}", at, at, None, 0, summary(mean))
            made.append((f"r{n:04}", data, f"run {n}", *facts))
        insert_rows(connection, schema.runs, made)
        batches = [(f"r{n:04}", 0, 100 - n % 7, "{}", "{}", None) for n in numbers]
        insert_rows(connection, schema.batches, batches)
        for n in numbers:
            row = {"run": f"r{n:04}", "position": 0, "metric": "grounding", "version": 1}
            connection.execute(sa.insert(schema.run_metrics).values(row | {"higher_is_better": True}))


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


def test_a_run_has_its_change_and_its_course(many):
    client, database = many
    add_runs(database, [*[0.8] * 25, 0.7, 0.71])
    add_runs(database, [0.1], data="other.jsonl", first=30)
    page = client.get("/").text
    text = visible_text(page)
    assert text.count("▼ worse: -0.1000") == 1
    assert text.count("● no clear change: +0.0100") == 1
    assert 'href="/compare?base=r0024&amp;new=r0025"' in page
    assert 'aria-label="Last 20 runs of this data: from 0.8 to 0.71, between 0.7 and 0.8"' in page
    assert page.count("<svg") == 24  # the first run of some data has no course
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
