from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import Request

from sgi_web.site import (
    field_text,
    from_field,
    local,
    requested_sample,
    run_path,
    sample_path,
    segment,
    with_query,
)

IDS = st.text(st.characters(), min_size=1, max_size=30)


def _request(address):
    path, _, query = address.partition("?")
    return Request(
        {
            "type": "http",
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [],
            "path": path,
        }
    )


@given(IDS)
@example("../../etc/passwd")
@example("..")
@example(".")
@example("%2e%2e")
@example("a/samples/b")
@example("\n")
@example("\ud800 half")
@example("q?x=1#f&id=2")
@example("\x00")
def test_an_id_comes_out_of_its_address_as_it_was(sample_id):
    path = sample_path("20260101-1", sample_id)
    assert requested_sample(_request(path)) == sample_id
    assert path.isascii()
    assert path.isprintable()
    assert not {".", ".."} & set(urlsplit(path).path.split("/"))


def test_bytes_that_are_no_text_are_no_id_and_no_error():
    assert requested_sample(_request("/runs/r/samples/%FF%FE")) == "\ufffd\ufffd"


@given(IDS)
def test_a_segment_is_one_segment(text):
    encoded = segment(text)
    assert not set(encoded) & set("/?#\\ \"'<>")


def test_a_path_below_a_run():
    assert run_path("a/b", "edit") == "/runs/a%2Fb/edit"


@given(st.dictionaries(st.sampled_from("abc"), st.text(st.characters(codec="utf-8"), max_size=10)))
def test_a_query_holds_what_is_not_empty(values):
    address = with_query("/", values)
    found = {name: texts[0] for name, texts in parse_qs(urlsplit(address).query).items()}
    assert found == {name: text for name, text in values.items() if text}


def test_a_query_goes_on_after_another():
    assert with_query("/runs/r/samples?id=..", {"at": 3}) == "/runs/r/samples?id=..&at=3"
    assert with_query("/", {"low": 0.0, "none": None}) == "/?low=0.0"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "",
        "a",
        "/\r\nX: y",
        "/\t/e",
    ],
)
def test_nobody_is_led_elsewhere(elsewhere):
    assert local(elsewhere) == "/"


def test_a_path_of_ours_is_gone_on_to():
    assert local("/runs/r?q=a%2Fb") == "/runs/r?q=a%2Fb"


@given(IDS)
@example("%:a\r")
@example("\ud800")
def test_a_name_survives_a_field(name):
    sent = field_text(name)
    assert from_field(sent) == name
    assert not any(ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 for sign in sent)
