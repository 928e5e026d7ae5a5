"""What people come to the dashboard for, each task as one scripted session in Chromium and in Firefox."""

from __future__ import annotations

import json
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.browser import ChromiumTab, chromium, watched_page
from support.firefox import firefox
from support.kept_runs import store_run
from support.web_server import open_site, serve_site, wait_until

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
PASSAGES = ["The Eiffel Tower is 330 m tall. It is in Paris.", "The tower was built from 1887 to 1889."]
ANSWERS = (
    "The Eiffel Tower is 330 m tall. It was built from 1887 to 1889.",
    "The tower is in Paris.",
    "The tower is 212 m tall. It was built from 1887 to 1889.",
)
CITIES = {"first": "It is in Paris.", "second": "It is in Rome.", "third": "The tower is in Paris."}


@contextmanager
def _chromium_tab(address):
    with chromium() as browser, watched_page(browser, base_url=address) as watched:
        yield ChromiumTab(watched)


@contextmanager
def _firefox_tab(_):
    with firefox() as tab:
        yield tab


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    rows = [
        {"id": f"tower-{k}", "question": "How tall is the tower?", "contexts": PASSAGES, "response": answer}
        for k, answer in enumerate(ANSWERS)
    ]
    for browser in ("chromium", "firefox"):
        facts = [
            {
                "id": f"{browser}-{k}",
                "question": f"{k}?",
                "contexts": [f"It is {k}."],
                "response": f"It is {k % 7}.",
            }
            for k in range(30)
        ]
        store_run(folder / "sgi.db", folder, facts, name=f"facts-{browser}", metrics=("grounding",))
    store_run(folder / "sgi.db", folder, rows, name="towers", metrics=("grounding",))
    for name, answer in CITIES.items():
        cities = [
            {"id": f"city-{k}", "question": f"Where is tower {k}?", "contexts": PASSAGES, "response": answer}
            for k in range(6)
        ]
        store_run(folder / "sgi.db", folder, cities, name=name, metrics=("grounding",))
    with open_site(folder) as site, serve_site(site) as made:
        yield made


@pytest.fixture(
    params=[
        pytest.param(_chromium_tab, id="chromium"),
        pytest.param(_firefox_tab, id="firefox", marks=pytest.mark.slow),
    ]
)
def tab(request, address):
    with request.param(address) as made:
        made.resize(1280, 900)
        yield made
        assert made.errors == []


def test_find_the_worst_row_and_why_in_four_actions(tab, address):
    tab.goto(f"{address}/?search=towers")
    tab.click("#runs tbody th a")
    tab.click("a[href*='sort=lowest']")
    tab.wait_until("location.search.includes('sort=lowest') && document.readyState === 'complete'")
    tab.click("#rows tbody th a")
    assert "212" in tab.wait_until("document.querySelector('mark.contradicted').innerText")
    assert "tower-2" in tab.evaluate("document.querySelector('h1').innerText")
    tab.click("li.unsupported[data-passage] p")
    lit = tab.wait_until("document.querySelector('.passages li.lit')?.innerText")
    assert lit.startswith("The Eiffel Tower is 330 m tall.")
    assert tab.evaluate("[...CSS.highlights.get('lit')].join()") == "The Eiffel Tower is 330 m tall."


@pytest.mark.slow
def test_label_twenty_rows_by_keyboard(tab, address, request):
    tab.goto(f"{address}/runs/facts-{request.node.callspec.id}/label")
    tab.wait_until("document.readyState === 'complete'")
    for done in range(20):
        if done == 4:
            tab.press("c")
            tab.wait_until("document.activeElement.id === 'comment'")
            tab.press("y")  # types into the comment
            tab.press("Escape")
        tab.press("n" if done % 3 == 0 else "y")
        tab.wait_until(
            f"document.querySelector('.pager')?.innerText.includes('You labelled {done + 1} of 30 rows')"
            " && document.readyState === 'complete'"
        )
    tab.press("b")
    tab.wait_until("location.search.includes('row=') && document.readyState === 'complete'")
    assert tab.wait_until("document.querySelector('[aria-pressed=true]').value") == "yes"
    tab.press("u")
    lines = tab.wait_until(
        "location.pathname.endsWith('/labels') && document.querySelector('main ul')?.innerText"
    )
    assert "20 of 30 rows have a label; 20 of them are a random sample." in lines


def count_runs(address):
    with urllib.request.urlopen(f"{address}/api/v1/runs", timeout=60) as reply:  # noqa: S310 - our own server
        return json.load(reply)["total"]


@pytest.mark.slow
def test_upload_a_langfuse_export_with_a_mapping(tab, address):
    tab.goto(f"{address}/upload")
    tab.choose_files("#file", EXPORTS / "langfuse_observations.jsonl")
    tab.click("button[type=submit]")
    tab.wait_until("document.querySelector('main').innerText.includes('9 rows can be read')")
    tab.evaluate("document.getElementById('map-reference').value = 'metadata.span_name'")
    tab.evaluate("document.getElementById('map-id').value = 'metadata.span_id'")
    tab.click("button[value=preview]")
    tab.wait_until("document.querySelector('[name=\"detected.reference\"]') === null")
    tab.wait_until("document.querySelector('input[value=rouge_l]:enabled') !== null")
    tab.evaluate(
        "document.querySelectorAll('[name=metrics]:checked').forEach((box) => { box.checked = false; })"
    )
    tab.click("input[value=rouge_l]")
    before = count_runs(address)
    tab.click("button[value=score]")
    wait_until(lambda: count_runs(address) > before, 300.0)  # its process has started
    tab.wait_until("location.pathname.startsWith('/runs/')")
    tab.wait_until("document.querySelector('#rows')?.innerText.includes('9 of 9 rows')")


@pytest.mark.slow
def test_compare_three_runs_and_read_the_row_that_changed_most(tab, address):
    tab.goto(address)
    tab.click("th[aria-sort] a[href*='sort=value']")
    tab.wait_until("location.search.includes('sort=value') && document.readyState === 'complete'")
    for name in CITIES:
        tab.click(f"input[aria-label='Compare {name}']")
    tab.click("#runs form button")
    tab.wait_until("location.pathname === '/leaderboard' && document.readyState === 'complete'")
    heads = "[...document.querySelectorAll('#parallel ~ .box thead a')].map(e => e.innerText).join()"
    assert tab.wait_until(heads) == "first,second,third"
    line = "document.querySelector('#parallel ~ .box tbody tr')"
    assert tab.evaluate(f"{line}.querySelector('del').innerText.trim()") == "Paris."
    assert tab.evaluate(f"{line}.querySelector('ins').innerText.trim()") == "Rome."
    lines = "getComputedStyle(document.querySelector('td del')).textDecorationLine"
    assert tab.evaluate(lines) == "line-through"
    tab.click("#parallel ~ .box tbody td:nth-child(3) a.value")
    tab.wait_until("location.pathname.endsWith('/samples/city-0') && document.readyState === 'complete'")
    assert "Rome" in tab.evaluate("document.querySelector('main').innerText")
