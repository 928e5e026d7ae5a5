from __future__ import annotations

import logging
from html import unescape

import pytest

from sgi.kernel.errors import StoreError
from sgi_web import security
from sgi_web.routes import run_list_pages as listing
from sgi_web.work_limits import ServerBusyError
from support.web_server import form_key, visible_text


def _broken(*_, **__):
    raise RuntimeError("the secret inside of a bug")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/runs/befor", "Did you mean 'before'?"),
        ("/runs/nothing-like-it", "The list of runs shows all runs."),
        ("/runs/before/samples/item-999", "Did you mean 'item-9'"),
        ("/runs/before/nothing", "This page does not exist."),
        ("/runs/before/rows.exe", "This page does not exist."),
        ("/upload/nothing", "This upload does not exist any more"),
        ("/static/../app.py", "This page does not exist."),
        ("/static/app.py", "This file does not exist."),
        ("/nothing", "This page does not exist."),
        ("/compare?base=before&new=nobody", "Unknown run 'nobody'"),
        ("/leaderboard?run=before&run=nobody", "Unknown run 'nobody'"),
    ],
)
def test_what_is_missing_is_said_clearly(client, path, message):
    response = client.get(path)
    assert response.status_code == 404
    assert message in visible_text(response.text)
    assert "<h1>" in response.text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/runs/before?low=much", "low: Input should be a valid number"),
        ("/runs/before?page=x", "page: Input should be a valid integer"),
        ("/runs/before?metric=nothing&sort=lowest", "nothing"),
        ("/runs/before?label=7", "label: Input should be a valid boolean"),
        ("/leaderboard", "run: Field required"),
        ("/leaderboard?run=before&run=after&quality=content_f1", "A Pareto front needs two metrics"),
        ("/leaderboard?run=before&by=colour", "colour"),
        ("/leaderboard?run=before&run=after&by=topic", "2 runs are given"),
    ],
)
def test_an_invalid_parameter_is_named(client, path, message):
    response = client.get(path)
    assert response.status_code == 400
    assert message in visible_text(response.text)


def test_a_script_gets_the_words_alone(client):
    response = client.get("/runs/before?low=x", headers={"HX-Request": "true", "HX-Request-Type": "partial"})
    assert (response.status_code, "<h1>" in response.text) == (400, False)
    assert "low: Input should be a valid number" in response.text


def test_a_store_that_is_away_is_said_with_503(client, monkeypatch):
    def away(*_, **__):
        raise StoreError("The database is away.", hint="Bring it back.")

    monkeypatch.setattr(listing, "page_of_runs", away)
    response = client.get("/")
    assert (response.status_code, "The database is away. Bring it back." in visible_text(response.text)) == (
        503,
        True,
    )


def test_a_bug_is_told_without_its_inside_which_goes_to_the_log(client, monkeypatch, caplog):
    monkeypatch.setattr(listing, "page_of_runs", _broken)
    with caplog.at_level(logging.ERROR, "sgi_web"):
        response = client.get("/")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    assert response.headers["content-security-policy"]
    assert "the secret inside of a bug" in caplog.text


@pytest.mark.parametrize("path", ["/", "/api/v1/runs"])
def test_a_bug_in_what_stands_before_the_pages_is_told_too(client, monkeypatch, caplog, path):
    monkeypatch.setattr(security, "find_person", _broken)
    response = client.get(path)
    assert response.status_code == 500
    assert "The server log has the details" in unescape(response.text)
    assert response.headers["content-security-policy"]
    assert "the secret inside of a bug" in caplog.text


def test_what_is_busy_is_said_with_503_and_when_to_come_again(client, monkeypatch):
    def busy(*_, **__):
        raise ServerBusyError("Too many.", hint="Wait.")

    monkeypatch.setattr(listing, "page_of_runs", busy)
    response = client.get("/")
    assert (response.status_code, int(response.headers["retry-after"]) > 0) == (503, True)
    assert "Too many. Wait." in visible_text(response.text)


def test_a_form_that_cannot_be_read(client):
    key = form_key(client, "/upload")
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert client.post("/upload", content=b"nonsense", headers=kind).status_code in {400, 403}
    response = client.post("/upload", data={"form_key": key, "file": "no file"})
    assert response.status_code == 400
    assert client.put("/", content=b"x").status_code == 405


def test_the_api_tells_json(client):
    response = client.get("/api/v1/nothing")
    assert (response.status_code, response.headers["content-type"]) == (404, "application/json")
    assert response.json()["error"]["message"]


def test_the_api_never_tells_where_the_database_is(empty, monkeypatch):
    place = empty.app.state.site.database.shown
    made = empty.get("/api/v1/runs/any").json()["error"]
    assert (made["message"], place in str(made)) == ("No run is stored in the database yet.", False)

    def gone(*_, **__):
        raise StoreError(f"The database {place} was removed.", hint=f"Put {place} back.")

    monkeypatch.setattr("sgi_web.api.router.page_of_runs", gone)
    response = empty.get("/api/v1/runs")
    error = response.json()["error"]
    assert response.status_code == 503
    assert (error["message"], error["hint"]) == ("The database was removed.", "Put the database back.")
    assert place in empty.get("/").text
