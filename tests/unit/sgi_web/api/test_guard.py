from __future__ import annotations

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from jsonschema import Draft202012Validator

import sgi
from sgi.service.guard_file import CaughtShare
from sgi_web.body_limit import API_LIMIT
from support.guards import fitted_guard
from support.web_server import open_site, serve_site

PASSAGES = ["The tower is 330 m tall. It stands in Paris."]
GOOD = {"question": "How tall is it?", "contexts": PASSAGES, "response": "The tower is 330 m tall."}
BAD = GOOD | {"response": "The tower is 312 m tall."}
UNKNOWN = GOOD | {"contexts": []}
TOKENS = {"token": "the token of editors", "view_token": "the token of readers"}


@pytest.fixture
def guard():
    return sgi.Guard(fitted_guard())


@pytest.fixture
def site(tmp_path, guard):
    with open_site(tmp_path, guard=guard) as site:
        yield site


@pytest.fixture
def address(site):
    with serve_site(site) as address:
        yield address


def call(address, body=None, path="/api/v1/guard", **headers):
    """The status of a response, and its JSON or text."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        address + path, data=data, headers={"Content-Type": "application/json"} | headers
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            status, text = response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    return status, json.loads(text) if text.startswith("{") else text


@cache
def api_document():
    """The OpenAPI document, which describes every server."""
    with TemporaryDirectory() as folder, open_site(Path(folder)) as site, serve_site(site) as address:
        return call(address, path="/api/v1/openapi.json")[1]


def checked(address, body=None):
    """The JSON of a response, which must be as OpenAPI describes it."""
    status, found = call(address, body)
    document = api_document()
    method = "get" if body is None else "post"
    described = document["paths"]["/api/v1/guard"][method]["responses"][str(status)]
    schema = described["content"]["application/json"]["schema"] | {"components": document["components"]}
    Draft202012Validator(schema).validate(found)
    return status, found


def test_verdicts_are_those_of_the_guard(address):
    own = sgi.Guard(fitted_guard())
    for body in (GOOD, BAD, GOOD | {"response": "Hello!"}):
        status, found = checked(address, body)
        verdict = own.check(**body)
        assert status == 200
        assert found == {name: getattr(verdict, name) for name in found}
        assert [*found] == ["blocked", "score", "reason", "promise", "withdrawn", "error"]
    assert checked(address, GOOD)[1]["blocked"] is False
    assert "312" in checked(address, BAD)[1]["reason"]


@pytest.mark.parametrize("on_error", ["block", "allow"])
def test_an_answer_without_a_score_is_blocked_or_allowed_and_counted(site, on_error):
    site.guard = sgi.Guard(fitted_guard(), on_error=on_error)
    with serve_site(site) as address:
        status, found = checked(address, UNKNOWN)
        assert (status, found["score"], found["promise"]) == (200, None, None)
        assert found["blocked"] is (on_error == "block")
        assert found["error"]
        _, facts = checked(address)
    blocked = int(on_error == "block")
    assert facts["counts"] == {"checked": 1, "blocked": blocked, "errors": 1, "withdrawn": 0}
    assert facts["on_error"] == on_error


def test_eight_threads_share_the_guard_and_its_counts(address, guard):
    bodies = [GOOD, BAD, UNKNOWN, GOOD] * 16
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda body: call(address, body), bodies))
    assert [(status, verdict["blocked"]) for status, verdict in found] == [
        (200, body is not GOOD) for body in bodies
    ]
    _, facts = checked(address)
    assert facts["counts"] == asdict(guard.counts)
    assert (guard.counts.checked, guard.counts.blocked, guard.counts.errors) == (64, 32, 16)
    file = guard.file
    assert (facts["limit"], facts["promise"], facts["questions"], facts["digest"], facts["caught"]) == (
        file.limit,
        file.promise,
        60,
        file.digest,
        None,
    )
    _, metrics = call(address, path="/metrics")
    lines = metrics.splitlines()
    for line in ("checked_total 64.0", "blocked_total 32.0", "errors_total 16.0"):
        assert f"sgi_guard_{line}" in lines


def test_a_withdrawn_promise_is_in_verdicts_facts_and_metrics(address, guard):
    assert "sgi_guard_promise_withdrawn 0.0" in call(address, path="/metrics")[1].splitlines()
    for _ in range(60):
        guard.check(**BAD)
    _, found = checked(address, BAD)
    assert found["promise"] is None
    assert found["withdrawn"] == guard.withdrawn != ""
    assert checked(address)[1]["withdrawn"] == guard.withdrawn
    assert "sgi_guard_promise_withdrawn 1.0" in call(address, path="/metrics")[1].splitlines()


def test_without_a_guard_the_error_says_how_to_start_the_server(site):
    site.guard = None
    with serve_site(site) as address:
        for body in (GOOD, None):
            status, found = checked(address, body)
            assert status == 404
            assert "sgi serve --guard FILE" in found["error"]["hint"]
        assert "sgi_guard" not in call(address, path="/metrics")[1]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 422, None),
        ({"contexts": PASSAGES}, 422, "response"),
        ({"response": "It is red."}, 422, "contexts"),
        (GOOD | {"contexts": [3]}, 422, "contexts"),
        (GOOD | {"context": PASSAGES}, 422, "context"),
        (GOOD | {"response": "a" * 20_001}, 422, "response"),
        (GOOD | {"question": "a" * 2001}, 422, "question"),
        (GOOD | {"contexts": ["a" * API_LIMIT]}, 413, None),
    ],
    ids=[
        "not JSON",
        "no response",
        "no contexts",
        "a number",
        "unknown field",
        "long response",
        "long question",
        "large body",
    ],
)
def test_a_bad_request_is_an_error_in_json_and_is_not_counted(address, guard, body, status, field):
    found_status, found = checked(address, body)
    assert (found_status, found["error"].get("field")) == (status, field)
    assert guard.counts.checked == 0


def test_the_body_must_be_json(address):
    assert call(address, GOOD, **{"Content-Type": "text/plain"})[0] == 415


def test_both_tokens_may_check_answers_and_nobody_else(site, guard):
    site.token, site.view_token = TOKENS["token"], TOKENS["view_token"]
    with serve_site(site) as address:
        for token in TOKENS.values():
            for body in (GOOD, None):
                assert call(address, body, Authorization=f"Bearer {token}")[0] == 200
        for body in (GOOD, None):
            assert call(address, body)[0] == 401
    assert guard.counts.checked == 2


def test_readers_cannot_withdraw_the_promise(site, guard):
    site.token, site.view_token = TOKENS["token"], TOKENS["view_token"]
    with serve_site(site) as address:
        for token, withdrawn in ((TOKENS["view_token"], False), (TOKENS["token"], True)):
            for _ in range(30):
                call(address, BAD, Authorization=f"Bearer {token}")
            assert bool(guard.withdrawn) is withdrawn
    assert guard.counts.checked == 60


def test_the_share_of_caught_answers_is_in_the_facts(site):
    caught = CaughtShare.of(8, 10)
    site.guard = sgi.Guard(fitted_guard().model_copy(update={"caught": caught}))
    with serve_site(site) as address:
        assert checked(address)[1]["caught"] == caught.model_dump()
