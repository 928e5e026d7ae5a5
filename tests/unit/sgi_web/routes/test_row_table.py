"""The table of rows: search with an index, columns and saved filters."""

from __future__ import annotations

import pytest

from sgi.store import search_index
from sgi.store.audit_log import list_entries
from sgi.store.run_queries import find_run
from sgi.store.saved_filters import MAX_FILTERS, save_filter, saved_filters
from sgi.store.search_index import has_search_index
from sgi.store.users import Role
from support.web_server import form_key, submit_form, visible_text, wait_until

RUN = "/runs/before"


def test_the_first_search_builds_an_index_that_the_next_ones_use(client, site, monkeypatch):
    monkeypatch.setattr(search_index, "MANY_ROWS", 10)
    record = find_run(site.database, "before")
    assert "60 of 60 rows" in visible_text(client.get(RUN).text)
    assert not has_search_index(site.database, record)
    assert "1 of 60 rows" in visible_text(client.get(f'{RUN}?q="item+12"').text)
    wait_until(lambda: has_search_index(site.database, record))
    monkeypatch.setattr("sgi.store.row_positions.scanned_positions", None)
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


def test_a_viewer_uses_saved_filters_and_cannot_change_them(site, signed_in):
    save_filter(site.database, find_run(site.database, "before").dataset_name, "one", "q=item")
    page = signed_in(Role.VIEWER).get(f"{RUN}?label=0").text
    assert "?q=item#rows-title" in page
    assert "/filters" not in page


def site_metrics(site):
    return find_run(site.database, "before").metrics


def test_filters_are_saved_listed_and_deleted_for_all_runs_of_the_data(client, site):
    name = '<b>worst</b> "rows"'
    filters = "q=colour&label=0&columns=response&columns=question&page=3&unknown=1"
    answer = submit_form(client, f"{RUN}?label=0", to=f"{RUN}/filters", name=f" {name} ", filters=filters)
    address = answer.headers["location"]
    assert answer.status_code == 303
    assert address.endswith("?q=colour&label=0&columns=response&columns=question#rows-title")
    page = client.get(RUN).text
    assert address.replace("&", "&amp;") in page
    assert "<b>worst" not in page
    assert submit_form(client, RUN, to=f"{RUN}/filters/delete", name=name).status_code == 303
    data = find_run(site.database, "before").dataset_name
    assert saved_filters(site.database, data) == ()
    again = submit_form(client, f"{RUN}?label=0", to=f"{RUN}/filters/delete", name=name)
    assert again.status_code == 303
    entries = list_entries(site.database, limit=9)
    assert [(entry.action, entry.target) for entry in entries] == [
        ("delete filter", data),
        ("save filter", data),
    ]
    assert name in entries[1].detail


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"name": "", "filters": "q=x"}, "1 to 80 printable characters"),
        ({"name": "x" * 81, "filters": "q=x"}, "1 to 80 printable characters"),
        ({"name": "safe\u202e", "filters": "q=x"}, "1 to 80 printable characters"),
        ({"name": "x", "filters": ""}, "No filter is set"),
        ({"name": "x", "filters": "page=2"}, "No filter is set"),
        ({"name": "x", "filters": "low=much"}, "not a filter: low"),
        ({"name": "x", "filters": "a=1&" * 1001}, "not a filter"),
    ],
)
def test_what_cannot_be_saved_is_named(client, site, values, problem):
    answer = submit_form(client, f"{RUN}?label=0", to=f"{RUN}/filters", **values)
    assert answer.status_code == 400
    assert problem in visible_text(answer.text)


def test_saving_needs_the_form_token_and_has_a_limit(client, site):
    assert client.post(f"{RUN}/filters", data={"name": "x", "filters": "q=x"}).status_code == 403
    assert client.post(f"{RUN}/filters/delete", data={"name": "x"}).status_code == 403
    data = find_run(site.database, "before").dataset_name
    for number in range(MAX_FILTERS):
        save_filter(site.database, data, f"f{number}", "q=x")
    values = {"form_key": form_key(client, RUN), "filters": "q=y"}
    assert "Delete one of them" in client.post(f"{RUN}/filters", data=values | {"name": "one more"}).text
    assert client.post(f"{RUN}/filters", data=values | {"name": "f0"}).status_code == 303  # replaced
