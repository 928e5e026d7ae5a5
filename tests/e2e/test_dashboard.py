"""The dashboard in a real browser, over a real server and a store with three real runs."""

import re

import pytest

from sgi.store.manage_runs import delete_run
from sgi.store.run_queries import find_run
from support.browser import accessibility_violations, watched_page
from support.kept_runs import rows, store_run, write_rows
from support.slow import slow
from support.web_server import open_site, serve_site

MARKUP = "<script>document.title='stolen'</script><img src=x onerror=alert(1)> {{ 7 * 7 }}"
LEADERBOARD = "/leaderboard?run=before&run=after&within=topic&quality=content_f1&cost=sgi"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dashboard")
    store_run(folder / "sgi.db", folder, rows(120), name="before")
    store_run(folder / "sgi.db", folder, rows(120, answer="Item {k} has {k} old {topic}."), name="after")
    hostile = [
        row | {"id": f"{MARKUP}/../{k}", "question": MARKUP, "response": f"{MARKUP} \u202e {k}"}
        for k, row in enumerate(rows(12))
    ]
    store_run(folder / "sgi.db", folder, hostile, name="hostile")
    with open_site(folder, scoring=True) as made:
        yield made


@pytest.fixture(scope="module")
def address(site):
    with serve_site(site) as made:
        yield made


@pytest.fixture
def page(browser, address):
    """A page on the list of runs; at the end nothing was complained of, and nothing left this server."""
    with watched_page(browser, base_url=address, viewport={"width": 1280, "height": 1000}) as watched:
        watched.page.goto("/")
        yield watched.page
        assert watched.errors == []
        assert watched.requests_outside(address, "data:", "blob:") == []


def _drawn(page):
    page.evaluate("() => document.querySelectorAll('details.section').forEach(e => { e.open = true; })")
    page.wait_for_selector("[data-drawn]", timeout=60_000)
    page.wait_for_selector("#more table")


def _rows_say(page, text):
    page.wait_for_function("text => document.querySelector('#rows').innerText.includes(text)", arg=text)


@pytest.mark.slow
def test_the_list_is_searched_as_one_types(page):
    assert page.locator("#runs tbody tr").count() >= 2
    page.get_by_label("Search").fill("befor")  # no part of a run's id, which is hexadecimal
    page.wait_for_function("() => document.querySelectorAll('#runs tbody tr').length === 1")
    assert page.locator("#runs tbody th").inner_text() == "before"
    assert "search=befor" in page.url
    page.wait_for_function("() => document.querySelector('#announcement').textContent === '1 run'")
    page.get_by_role("link", name="before", exact=True).click()
    assert page.get_by_role("heading", level=1).inner_text() == "before"


def test_charts_are_drawn_and_a_brush_filters_the_rows(page):
    page.goto("/runs/before")
    _drawn(page)
    # A function, not an expression: an expression is evaluated in the page, which its policy refuses.
    drawn = "() => document.querySelectorAll('.chart svg, .chart canvas').length >= 5"
    page.wait_for_function(drawn, timeout=60_000)
    plane = page.locator("[data-chart=plane] canvas")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6, steps=6)
    page.mouse.up()
    page.wait_for_url(re.compile("rc_low=0"))
    shown = page.locator("#rows p").first.inner_text()
    assert re.match(r"\d+ of 120 rows", shown)
    assert not shown.startswith("120 ")
    assert page.locator("#rc_low").input_value() != ""
    page.get_by_role("link", name="show all").click()
    _rows_say(page, "120 of 120 rows")


@pytest.mark.slow
def test_a_header_sorts_and_dark_cells_are_the_worst(page):
    page.goto("/runs/before")
    page.locator("#rows thead").get_by_role("link", name="content_f1").click()
    page.wait_for_url(re.compile("metric=content_f1&sort=lowest"))
    head = page.locator("#rows thead th[aria-sort=ascending]")
    head.wait_for()
    assert head.inner_text() == "content_f1"
    first = page.locator("#rows tbody tr").first
    assert first.locator("td.shade-5").count() >= 1
    head.get_by_role("link").click()
    page.wait_for_url(re.compile("sort=highest"))
    page.locator("#rows thead th[aria-sort=descending]").wait_for()
    assert page.locator("#rows tbody tr").first.locator("td.shade-5").count() == 0
    assert [page.locator(name).input_value() for name in ("#metric", "#sort")] == ["content_f1", "highest"]


def test_keys_lead_to_the_next_row_and_back(page):
    page.goto("/runs/before")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=2 of 120")
    page.wait_for_load_state()  # the keys work from then on
    page.keyboard.press("j")
    page.wait_for_selector("text=3 of 120")
    page.wait_for_load_state()  # the keys work from then on
    page.keyboard.press("k")
    page.wait_for_selector("text=2 of 120")
    page.wait_for_load_state()  # the keys work from then on
    page.keyboard.press("u")
    page.wait_for_selector("#rows")
    page.wait_for_load_state()  # the keys work from then on
    page.keyboard.press("/")
    page.keyboard.type("jk/u")
    assert page.locator("#q").input_value() == "jk/u"


@pytest.mark.slow
def test_an_error_replaces_rows_that_cannot_be_read(browser, address):
    with watched_page(browser, base_url=address) as watched:
        watched.page.goto("/runs/before")
        watched.page.get_by_text("Filter and sort").click()
        watched.page.get_by_label("Min", exact=True).first.fill("9")
        watched.page.get_by_label("Max", exact=True).first.fill("1")
        watched.page.wait_for_selector("#rows [role=alert]")


def test_a_file_is_uploaded_scored_renamed_tagged_and_deleted(page, site, tmp_path):
    page.get_by_role("link", name="Upload").click()
    page.get_by_label(re.compile("^File")).set_input_files(write_rows(tmp_path / "mine.jsonl", rows(30)))
    page.get_by_role("button", name="Preview").click()
    assert "30 rows can be read" in page.locator("main").inner_text()
    for metric in ("grounding", "semantic_similarity"):
        page.locator(f"input[value={metric}]").uncheck()
    page.locator("input[value=squad_em]").check()
    page.get_by_label(re.compile("^Name of the run")).fill("mine")
    page.get_by_role("button", name="Score").click()
    page.wait_for_url(re.compile("/runs/"), timeout=300_000)
    assert page.get_by_role("heading", level=1).inner_text() == "mine"
    assert "30 of 30 rows" in page.locator("#rows").inner_text()
    page.get_by_role("link", name="Edit name and tags").click()
    page.get_by_label("Name", exact=True).fill("ours")
    page.get_by_label(re.compile("^Tags")).fill("from, browser")
    page.get_by_role("button", name="Save").click()
    assert page.get_by_role("heading", level=1).inner_text() == "ours"
    assert find_run(site.database, "ours").tags == ("browser", "from")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete the run").click()
    assert "ours" not in page.locator("#runs").inner_text()


def test_an_error_of_a_bad_file_has_the_line(page, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"id": "1", "response": "x"}\n{"id": "2", "response": 3}\n')
    page.goto("/upload")
    page.get_by_label(re.compile("^File")).set_input_files(tmp_path / "bad.jsonl")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Rejected rows: 1").click()
    assert page.locator("details li").first.inner_text().startswith("bad.jsonl:2: id '2'")
    page.evaluate("() => document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert accessibility_violations(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_slow_upload_shows_its_progress_and_is_cancelled(page, site, tmp_path):
    page.goto("/upload")
    page.get_by_label(re.compile("^File")).set_input_files(write_rows(tmp_path / "long.jsonl", rows(3000)))
    page.get_by_role("button", name="Preview").click()
    page.get_by_label(re.compile("^Name of the run")).fill("long")
    page.get_by_role("button", name="Score").click()
    page.wait_for_selector("progress[value='256']", timeout=300_000)
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=You cancelled this upload.", timeout=60_000)
    assert "sgi run --resume" in page.locator("main").inner_text()
    page.get_by_role("link", name="Show the rows that are scored so far").click()
    assert 0 < find_run(site.database, "long").scored < 3000
    delete_run(site.database, find_run(site.database, "long").id)


def test_hostile_rows_are_text(page):
    page.goto("/runs/hostile")
    _drawn(page)
    assert MARKUP in page.locator("#rows").inner_text()
    page.locator("#rows tbody a").first.click()
    assert page.get_by_role("heading", level=1).inner_text().startswith("Row <script>")
    assert MARKUP in page.locator("main").inner_text()
    assert page.title() != "stolen"
    assert page.locator("main img, main script").count() == 0


@pytest.mark.slow
def test_the_api_page_sends_requests_and_shows_replies(page):
    page.goto("/api/v1/docs")
    for method, path, expected in (
        ("get", "/api/v1/runs", '"name": "before"'),
        ("post", "/api/v1/score", '"status": "ok"'),
        ("get", "/api/v1/compare", '"comparison"'),
        ("get", "/api/v1/leaderboard", '"systems"'),
        ("get", "/api/v1/runs/{run}", '"headline"'),
        ("get", "/api/v1/runs/{run}/samples/{sample_id}", '"response"'),
        ("patch", "/api/v1/runs/{run}", '"tags": []'),
    ):
        block = page.locator(f".opblock-{method}", has=page.locator(f"[data-path='{path}']"))
        block.locator(".opblock-summary-control").click()
        if path in {"/api/v1/compare", "/api/v1/leaderboard"}:  # the newest runs have other data
            names = block.locator(".parameters tbody input[type=text]").all()[:2]
            for field, name in zip(names, ("before", "after"), strict=True):
                field.fill(name)
        block.get_by_role("button", name="Execute").click()
        reply = block.locator(".live-responses-table .response .response-col_description")
        reply.locator(".highlight-code").first.wait_for(timeout=60_000)
        assert expected in reply.inner_text(), path


def test_without_scripts_everything_is_there(browser, address):
    with watched_page(browser, base_url=address, java_script_enabled=False) as watched:
        page = watched.page
        page.goto("/?search=before")
        page.get_by_role("link", name="before", exact=True).click()
        page.get_by_label("Text").fill('"colour of 12 "')
        page.get_by_role("button", name="Apply", exact=True).click()
        assert "1 of 120 rows" in page.locator("#rows").inner_text()
        watched.page.locator("details#further > summary").click()
        page.get_by_role("link", name=re.compile("Show groups")).click()
        assert page.get_by_role("table").count() > 1


@pytest.mark.parametrize("scheme", ["dark", *slow("light")])
def test_nothing_keeps_people_from_using_the_pages(browser, address, scheme):
    with watched_page(browser, base_url=address, color_scheme=scheme) as watched:
        for path in (
            "/",
            "/runs/before",
            "/runs/before/samples/item-3",
            "/compare",
            "/upload",
            "/nothing",
            "/compare?base=before&new=after",
            LEADERBOARD,
            "/leaderboard?run=before",
            "/runs/before/edit",
            "/runs/before/delete",
        ):
            watched.page.goto(path)
            if path == "/runs/before":
                _drawn(watched.page)
            if path == LEADERBOARD:
                watched.page.wait_for_selector("[data-drawn]", timeout=60_000)
            assert accessibility_violations(watched.page) == [], path


@pytest.mark.slow
def test_a_phone_scrolls_in_one_direction(browser, address):
    with watched_page(browser, base_url=address, viewport={"width": 360, "height": 740}) as watched:
        for path in (
            "/",
            "/runs/before",
            "/runs/before/samples/item-3",
            "/upload",
            "/compare?base=before&new=after",
            LEADERBOARD,
        ):
            watched.page.goto(path)
            if path == "/runs/before":
                _drawn(watched.page)
            if path == LEADERBOARD:
                watched.page.wait_for_selector("[data-drawn]", timeout=60_000)
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= 360, path
