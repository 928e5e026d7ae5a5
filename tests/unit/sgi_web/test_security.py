from __future__ import annotations

import logging
import socket
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.datastructures import URL
from starlette.requests import Request

from sgi_web.access import SESSION
from sgi_web.security import POLICY, allowed_hosts
from support.web_server import ADDRESS, form_key, open_site, serve_site, submit_form, web_client

TOKEN = "a token of 24 characters"


@pytest.fixture
def guarded(site):
    site.token = TOKEN
    with web_client(site) as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/runs/before", "/nothing", "/static/sgi.css", "/runs/before/charts.json"]
)
def test_every_answer_has_the_strict_headers(client, path):
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:1", "localhost", ""])
def test_a_name_from_outside_does_not_lead_here(client, host):
    response = client.get("/", headers={"Host": host})
    assert response.status_code == 400
    assert "localhost:8765" in response.text
    assert client.get("/api/v1/runs", headers={"Host": host}).json()["error"]["message"]


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_the_names_of_this_machine_do(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_on_other_addresses_any_name_may_lead_here():
    assert allowed_hosts("192.168.1.5", 8765) is None
    assert "localhost" in allowed_hosts("localhost", 80)


def test_a_public_name_is_answered_beside_those_of_this_machine():
    assert allowed_hosts("127.0.0.1", 8765, ["SGI.example.org"]) >= {"sgi.example.org", "localhost:8765"}
    assert allowed_hosts("0.0.0.0", 80, ["sgi.example.org"]) == {"sgi.example.org"}  # noqa: S104 - a name


NO_HOSTS = [
    "x/static/?",
    "x/static/",
    "x/healthz?",
    "x/login#",
    "x?",
    "x#",
    "u@x",
    "x:port",
    "x:123456",
    "x y",
    "[",
    "[::1",
    "::1",
    "x/",
    "",
    "x,y",
    "x\\y",
    "%78",
]


@pytest.mark.parametrize("host", NO_HOSTS)
@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/healthz", "/static/sgi.css"])
def test_a_host_that_is_none_is_refused_on_every_address(guarded, site, host, path):
    site.hosts = None
    response = guarded.get(path, headers={"Host": host})
    assert (response.status_code, "Host header of this request is not valid" in response.text) == (400, True)


@pytest.mark.parametrize("host", ["x", "a-b.example.org:80", "[2001:db8::1]:8765", "10.0.0.7", "a_b", "X.Y"])
def test_a_host_by_any_name_is_answered_elsewhere(guarded, site, host):
    site.hosts = None
    assert guarded.get("/healthz", headers={"Host": host}).status_code == 200
    assert guarded.get("/api/v1/runs", headers={"Host": host}).status_code == 401


def test_two_hosts_are_none(site):
    site.hosts = None
    with web_client(site) as client:
        assert client.get("/healthz", headers=[("Host", "x"), ("Host", "y")]).status_code == 400


@pytest.mark.parametrize(
    "spoofed", ["http://x/static/?/", "http://x/healthz", "http://x/api/", "http://x/login"]
)
def test_an_address_made_of_the_host_decides_nothing(guarded, monkeypatch, spoofed):
    monkeypatch.setattr(Request, "url", URL(spoofed))  # as older Starlettes take it from the Host header
    assert guarded.get("/api/v1/runs").status_code == 401
    assert guarded.get("/api/v1/nothing").headers["content-type"] == "application/json"
    asked = guarded.get("/runs/before")
    assert (asked.status_code, asked.headers["location"]) == (303, "/login?next=%2Fruns%2Fbefore")


def test_over_a_real_connection_no_host_leads_past_the_token(site):
    with serve_site(site) as address:
        site.hosts, site.token = None, TOKEN
        place = urlsplit(address)
        for host in ("x/static/?", "x/healthz?", "[", "x"):
            with socket.create_connection((place.hostname, place.port), timeout=30) as wire:
                wire.sendall(
                    f"GET /api/v1/runs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
                )
                status = wire.makefile("rb").readline()
            assert status.split()[1] in {b"400", b"401"}, host


@pytest.mark.parametrize("path", ["/", "/runs/before/report.html", "/api/v1/runs", "/readyz"])
def test_other_sites_link_here_and_build_nothing_in(client, path):
    cross_site = {"Sec-Fetch-Site": "cross-site"}
    for mode in ("no-cors", "cors", "same-origin", None):
        response = client.get(path, headers=cross_site | ({"Sec-Fetch-Mode": mode} if mode else {}))
        assert response.status_code == 403
    assert client.get(path, headers=cross_site | {"Sec-Fetch-Mode": "navigate"}).status_code == 200
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert client.get(path, headers=own).status_code == 200


def test_a_session_is_begun_once_and_is_strict(client):
    first = client.get("/").headers["set-cookie"]
    assert first.startswith(f"{SESSION}=")
    assert "HttpOnly" in first
    assert "SameSite=Strict" in first
    assert "Secure" not in first
    assert "set-cookie" not in client.get("/").headers
    assert client.get("/", headers={"Cookie": f"{SESSION}=short"}).headers["set-cookie"]


def test_a_form_needs_the_key_of_its_session(client, site):
    key = form_key(client, "/runs/before/edit")
    path = "/runs/before/edit"
    assert client.post(path, data={"name": "x"}).status_code == 403
    assert client.post(path, data={"name": "x", "form_key": "0" * 64}).status_code == 403
    assert client.post(path, data={"name": "x", "form_key": "é😀"}).status_code == 403
    with web_client(site) as other:
        assert other.post(path, data={"name": "x", "form_key": key}).status_code == 403
    assert client.post(path, data={"name": "x", "form_key": key}).status_code == 303
    assert client.get("/runs/x").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:8766"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": ADDRESS},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/runs/before/delete"), ("DELETE", "/api/v1/runs/before")]
)
def test_pages_of_others_change_nothing(client, method, path, headers):
    key = form_key(client, "/runs/before/delete")
    response = client.request(method, path, data={"form_key": key}, headers=headers)
    assert response.status_code == 403
    assert client.get("/runs/before").status_code == 200


def test_our_own_pages_do(client):
    key = form_key(client, "/runs/before/delete")
    headers = {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/runs/before/delete", data={"form_key": key}, headers=headers).status_code == 303
    assert client.get("/runs/before").status_code == 404


def test_without_the_token_a_person_is_asked_for_it(guarded):
    response = guarded.get("/runs/before?q=a%26b")
    assert response.status_code == 303
    assert response.headers["location"] == "/login?next=%2Fruns%2Fbefore%3Fq%3Da%2526b"
    assert guarded.get("/login").status_code == 200
    assert guarded.get("/static/sgi.css").status_code == 200
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/metrics").status_code == 303


def test_an_id_with_a_slash_survives_the_login(guarded):
    path = "/runs/before/samples/a%2Fb%3Fc%25"
    asked = guarded.get(f"{path}?at=%2F1")
    further = parse_qs(urlsplit(asked.headers["location"]).query)["next"]
    assert further == [f"{path}?at=%2F1"]
    response = submit_form(guarded, "/login", token=TOKEN, further=further[0])
    assert response.headers["location"] == f"{path}?at=%2F1"


def test_the_token_opens_the_pages_and_is_kept_nowhere(guarded, caplog):
    with caplog.at_level(logging.DEBUG):
        wrong = submit_form(guarded, "/login", token=TOKEN[1:], further="/runs/before")
        assert (wrong.status_code, "Wrong token." in wrong.text) == (403, True)
        response = submit_form(guarded, "/login", token=TOKEN, further="/runs/before")
        assert (response.status_code, response.headers["location"]) == (303, "/runs/before")
    cookie = response.headers["set-cookie"]
    page = guarded.get("/runs/before")
    assert page.status_code == 200
    assert not any(
        TOKEN in text for text in (cookie, page.text, caplog.text, str(page.headers), response.text)
    )


def test_after_the_login_nobody_is_led_elsewhere(guarded):
    for elsewhere in ("//evil.example", "https://evil.example"):
        assert 'value="/"' in guarded.get("/login", params={"next": elsewhere}).text
        response = submit_form(guarded, "/login", token=TOKEN, further=elsewhere)
        assert response.headers["location"] == "/"


def test_behind_tls_cookies_stay_there(site):
    site.hosts = None
    with web_client(site) as client:
        assert "Secure" in client.get("https://example.org/").headers["set-cookie"]


def test_a_site_does_not_show_its_secrets(tmp_path):
    with open_site(tmp_path, token=TOKEN, view_token=f"{TOKEN} reader") as site:
        assert TOKEN not in repr(site)
        assert "reader" not in repr(site)
        assert repr(site.secret) not in repr(site)
