"""The page of live traces in a real browser, over a real receiver."""

import urllib.request
from contextlib import closing

import pytest

from sgi_traces.live.open_receiver import TraceOptions, open_receiver
from sgi_traces.live.receiver import ReceiverSettings
from support.browser import accessibility_violations, wait_until, watched_page
from support.otlp import JSON, PROTOBUF, answered_trace, request, span, trace_id
from support.slow import slow
from support.web_server import open_site, serve_site

MARKUP = "<script>document.title='stolen'</script> {{ 7 * 7 }}"
GOOD = (
    b'{"traceId": "000000000000000000000000000000aa", "spanId": "00000000000000aa", "attributes": '
    b'[{"key": "input.value", "value": {"stringValue": "Who?"}}]}'
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    settings = ReceiverSettings(quiet=0.2)
    options = TraceOptions(receiver=settings, runs_by="service", metrics=["grounding"])
    with (
        open_site(tmp_path_factory.mktemp("traces")) as site,
        closing(open_receiver(site.database, options)) as receiver,
    ):
        site.receiver = receiver
        with serve_site(site) as served:
            yield served


def post(address, body, head=PROTOBUF):
    call = urllib.request.Request(f"{address}/v1/traces", data=body, headers=head)
    with urllib.request.urlopen(call, timeout=60) as answer:
        assert answer.status == 200


def failed_trace(number):
    root = span(trace_id(number), "chain", input__value="Who?")
    root.events.add(name="exception").attributes.add(key="exception.message").value.string_value = MARKUP
    return root


@pytest.mark.parametrize(("scheme", "first"), [("light", 10), *slow(("dark", 20))])
def test_the_page_shows_new_traces_without_a_reload(browser, address, scheme, first):
    with watched_page(browser, base_url=address, color_scheme=scheme) as watched:
        page = watched.page
        page.goto("/")
        page.get_by_role("link", name="Traces", exact=True).click()
        assert page.locator("nav [aria-current=page]").inner_text() == "Traces"
        waiting = span(trace_id(first), "search", parent=b"12345678")
        spans = [*answered_trace(first + 1), *answered_trace(first + 2), failed_trace(first + 3), waiting]
        post(address, request(spans, f"shop {scheme} {MARKUP}").SerializeToString())
        bad = b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "zz"}, ' + GOOD + b"]}]}]}"
        post(address, bad, JSON)
        shown = "name => document.querySelector('#traces').innerText.includes(name)"
        wait_until(page, shown, f"traces-shop {scheme}")
        text = page.locator("#traces").inner_text()
        assert "hexadecimal digits, found text 'zz'" in text
        assert MARKUP[:30] in text
        assert page.title() == "Live traces · SGI"
        assert accessibility_violations(page) == []
        page.get_by_role("link", name=f"traces-shop {scheme}").click()
        assert f"When did bridge {first + 1} open?" in page.locator("#rows").inner_text()
        assert watched.errors == []
        assert watched.requests_outside(address, "data:", "blob:") == []


@pytest.mark.slow
def test_without_scripts_and_on_a_phone_everything_is_there(browser, address):
    phone = {"width": 360, "height": 740}
    with watched_page(browser, base_url=address, viewport=phone, java_script_enabled=False) as watched:
        watched.page.goto("/traces")
        assert watched.page.get_by_role("heading", name="Live traces").count() == 1
        box = watched.page.locator("main").bounding_box()
        assert box["x"] + box["width"] <= phone["width"]
