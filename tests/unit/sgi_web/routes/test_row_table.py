"""The table of rows: search with an index, and columns."""

from __future__ import annotations

from sgi.store import search_index
from sgi.store.run_queries import find_run
from sgi.store.search_index import has_search_index
from support.answers_to_check import rows_to_check
from support.kept_runs import store_run
from support.web_server import visible_text, wait_until

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
