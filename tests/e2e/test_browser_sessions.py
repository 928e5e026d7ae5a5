"""What people come to the dashboard for, each task as one scripted session in Chromium."""

import json
import urllib.request
from pathlib import Path

import pytest

from support import web_server
from support.browser import chromium, wait_until, watched_page
from support.kept_runs import store_run

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
PASSAGES = ["The Eiffel Tower is 330 m tall. It is in Paris.", "The tower was built from 1887 to 1889."]
ANSWERS = (
    "The Eiffel Tower is 330 m tall. It was built from 1887 to 1889.",
    "The tower is in Paris.",
    "The tower is 212 m tall. It was built from 1887 to 1889.",
)
CITIES = {"first": "It is in Paris.", "second": "It is in Rome.", "third": "The tower is in Paris."}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    rows = [
        {"id": f"tower-{k}", "question": "How tall is the tower?", "contexts": PASSAGES, "response": answer}
        for k, answer in enumerate(ANSWERS)
    ]
    facts = [
        {"id": f"{k}", "question": f"{k}?", "contexts": [f"It is {k}."], "response": f"It is {k % 7}."}
        for k in range(30)
    ]
    store_run(folder / "sgi.db", folder, facts, name="facts", metrics=("grounding",))
    store_run(folder / "sgi.db", folder, rows, name="towers", metrics=("grounding",))
    for name, answer in CITIES.items():
        cities = [
            {"id": f"city-{k}", "question": f"Where is tower {k}?", "contexts": PASSAGES, "response": answer}
            for k in range(6)
        ]
        store_run(folder / "sgi.db", folder, cities, name=name, metrics=("grounding",))
    with web_server.open_site(folder) as site, web_server.serve_site(site) as made:
        yield made


@pytest.fixture
def page(address):
    viewport = {"width": 1280, "height": 900}
    with chromium() as browser, watched_page(browser, base_url=address, viewport=viewport) as watched:
        yield watched.page
        assert watched.errors == []


def test_find_the_worst_row_and_why_in_four_actions(page, address):
    page.goto(f"{address}/?search=towers")
    page.locator("#runs tbody th a").first.click()
    page.locator("a[href*='sort=lowest']").first.click()
    wait_until(page, "location.search.includes('sort=lowest') && document.readyState === 'complete'")
    page.locator("#rows tbody th a").first.click()
    assert "212" in wait_until(page, "document.querySelector('mark.contradicted').innerText")
    assert "tower-2" in page.evaluate("document.querySelector('h1').innerText")
    page.locator("li.unsupported[data-passage] p").first.click()
    lit = wait_until(page, "document.querySelector('.passages li.lit')?.innerText")
    assert lit.startswith("The Eiffel Tower is 330 m tall.")
    assert page.evaluate("[...CSS.highlights.get('lit')].join()") == "The Eiffel Tower is 330 m tall."


@pytest.mark.slow
def test_label_twenty_rows_by_keyboard(page, address):
    page.goto(f"{address}/runs/facts/label")
    wait_until(page, "document.readyState === 'complete'")
    for done in range(20):
        if done == 4:
            page.keyboard.press("c")
            wait_until(page, "document.activeElement.id === 'comment'")
            page.keyboard.press("y")  # types into the comment
            page.keyboard.press("Escape")
        page.keyboard.press("n" if done % 3 == 0 else "y")
        wait_until(
            page,
            f"document.querySelector('.pager')?.innerText.includes('You labelled {done + 1} of 30 rows')"
            " && document.readyState === 'complete'",
        )
    page.keyboard.press("b")
    wait_until(page, "location.search.includes('row=') && document.readyState === 'complete'")
    assert wait_until(page, "document.querySelector('[aria-pressed=true]').value") == "yes"
    page.keyboard.press("u")
    lines = wait_until(
        page, "location.pathname.endsWith('/labels') && document.querySelector('main ul')?.innerText"
    )
    assert "People have labelled 20 of 30 rows in the dashboard; 20 of them are a random sample." in lines


def count_runs(address):
    with urllib.request.urlopen(f"{address}/api/v1/runs", timeout=60) as reply:
        return json.load(reply)["total"]


@pytest.mark.slow
def test_upload_a_langfuse_export_with_a_mapping(page, address):
    page.goto(f"{address}/upload")
    page.set_input_files("#file", EXPORTS / "langfuse_observations.jsonl")
    page.locator("button[type=submit]").first.click()
    wait_until(page, "document.querySelector('main').innerText.includes('9 rows can be read')")
    page.evaluate("document.getElementById('map-reference').value = 'metadata.span_name'")
    page.evaluate("document.getElementById('map-id').value = 'metadata.span_id'")
    page.locator("button[value=preview]").first.click()
    wait_until(page, "document.querySelector('[name=\"detected.reference\"]') === null")
    wait_until(page, "document.querySelector('input[value=rouge_l]:enabled') !== null")
    page.evaluate(
        "document.querySelectorAll('[name=metrics]:checked').forEach((box) => { box.checked = false; })"
    )
    page.locator("input[value=rouge_l]").first.click()
    before = count_runs(address)
    page.locator("button[value=score]").first.click()
    web_server.wait_until(lambda: count_runs(address) > before, 300.0)  # its process has started
    wait_until(page, "location.pathname.startsWith('/runs/')")
    wait_until(page, "document.querySelector('#rows')?.innerText.includes('9 of 9 rows')")


@pytest.mark.slow
def test_compare_three_runs_and_read_the_row_that_changed_most(page, address):
    page.goto(address)
    page.locator("th[aria-sort] a[href*='sort=value']").first.click()
    wait_until(page, "location.search.includes('sort=value') && document.readyState === 'complete'")
    for name in CITIES:
        page.locator(f"input[aria-label='Compare {name}']").first.click()
    page.locator("#runs form button").first.click()
    wait_until(page, "location.pathname === '/leaderboard' && document.readyState === 'complete'")
    heads = "[...document.querySelectorAll('#parallel ~ .box thead a')].map(e => e.innerText).join()"
    assert wait_until(page, heads) == "first,second,third"
    line = "document.querySelector('#parallel ~ .box tbody tr')"
    assert page.evaluate(f"{line}.querySelector('del').innerText.trim()") == "Paris."
    assert page.evaluate(f"{line}.querySelector('ins').innerText.trim()") == "Rome."
    lines = "getComputedStyle(document.querySelector('td del')).textDecorationLine"
    assert page.evaluate(lines) == "line-through"
    page.locator("#parallel ~ .box tbody td:nth-child(3) a.value").first.click()
    wait_until(page, "location.pathname.endsWith('/samples/city-0') && document.readyState === 'complete'")
    assert "Rome" in page.evaluate("document.querySelector('main').innerText")
