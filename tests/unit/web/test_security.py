from __future__ import annotations

import logging

import pytest

from sgi.kernel.errors import UsageError
from sgi.web.security import LOGIN, POLICY, SESSION, check_token, own_hosts
from support.web_server import ADDRESS, browsing, form_key, send, site_in, words

TOKEN = "a token of 24 characters"  # noqa: S105 - of these tests alone


@pytest.fixture
def guarded(site):
    site.token = TOKEN
    with browsing(site) as client:
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
    made = client.get("/", headers={"Host": host})
    assert made.status_code == 400
    assert "localhost:8765" in made.text
    assert client.get("/api/v1/runs", headers={"Host": host}).json()["error"]["message"]


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_the_names_of_this_machine_do(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_on_other_addresses_any_name_may_lead_here():
    assert own_hosts("192.168.1.5", 8765) is None
    assert "localhost" in own_hosts("localhost", 80)


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
    with browsing(site) as other:
        assert other.post(path, data={"name": "x", "form_key": key}).status_code == 403
    assert client.post(path, data={"name": "x", "form_key": key}).status_code == 303
    assert client.get("/runs/x").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
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
    made = client.request(method, path, data={"form_key": key}, headers=headers)
    assert made.status_code == 403
    assert client.get("/runs/before").status_code == 200


def test_our_own_pages_do(client):
    key = form_key(client, "/runs/before/delete")
    headers = {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/runs/before/delete", data={"form_key": key}, headers=headers).status_code == 303
    assert client.get("/runs/before").status_code == 404


def test_without_the_token_a_person_is_asked_for_it(guarded):
    made = guarded.get("/runs/before?q=a%26b")
    assert made.status_code == 303
    assert made.headers["location"] == "/login?next=%2Fruns%2Fbefore%3Fq%3Da%2526b"
    assert guarded.get("/login").status_code == 200
    assert guarded.get("/static/sgi.css").status_code == 200
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/metrics").status_code == 303


def test_without_the_token_a_program_is_refused(guarded):
    made = guarded.get("/api/v1/runs")
    assert (made.status_code, made.headers["www-authenticate"]) == (401, "Bearer")
    for wrong in ("Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xff"):
        assert (
            guarded.get("/api/v1/runs", headers={"Authorization": wrong.encode("latin-1")}).status_code == 401
        )
    assert guarded.get("/api/v1/runs", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_token_opens_the_pages_and_is_kept_nowhere(guarded, caplog):
    with caplog.at_level(logging.DEBUG):
        wrong = send(guarded, "/login", token=TOKEN[1:], further="/runs/before")
        assert (wrong.status_code, "This is not the token." in wrong.text) == (403, True)
        made = send(guarded, "/login", token=TOKEN, further="/runs/before")
        assert (made.status_code, made.headers["location"]) == (303, "/runs/before")
    cookie = made.headers["set-cookie"]
    assert cookie.startswith(f"{LOGIN}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    page = guarded.get("/runs/before")
    assert page.status_code == 200
    assert not any(TOKEN in text for text in (cookie, page.text, caplog.text, str(page.headers), made.text))
    assert send(guarded, "/", to="/logout").headers["location"] == "/login"
    assert guarded.get("/").status_code == 303


def test_a_login_holds_for_its_session_alone_and_only_for_a_while(guarded, site, monkeypatch):
    send(guarded, "/login", token=TOKEN)
    login = guarded.cookies[LOGIN]
    with browsing(site) as other:
        other.cookies.set(LOGIN, login)
        assert other.get("/").status_code == 303
    assert guarded.get("/").status_code == 200
    monkeypatch.setattr("sgi.web.security.time.time", lambda: int(login.partition(".")[0]) + 1)
    assert guarded.get("/").status_code == 303


@pytest.mark.parametrize(
    "login", ["", "x", "9.", "99999999999999999999.x", "99999999999.é", "9999999999." + "0" * 64]
)
def test_a_login_cannot_be_made_up(guarded, login):
    guarded.get("/login")
    session = guarded.cookies[SESSION]
    headers = {"Cookie": f"{SESSION}={session}; {LOGIN}={login}".encode()}
    assert guarded.get("/", headers=headers).status_code == 303


def test_after_the_login_nobody_is_led_elsewhere(guarded):
    for elsewhere in ("//evil.example", "https://evil.example"):
        assert 'value="/"' in guarded.get("/login", params={"next": elsewhere}).text
        made = send(guarded, "/login", token=TOKEN, further=elsewhere)
        assert made.headers["location"] == "/"


def test_behind_tls_cookies_stay_there(site):
    site.hosts = None
    with browsing(site) as client:
        assert "Secure" in client.get("https://example.org/").headers["set-cookie"]


@pytest.mark.parametrize("host", ["192.168.1.5", "::", "example.org"])
def test_other_addresses_need_a_token(host):
    with pytest.raises(UsageError, match="SGI_SERVE_TOKEN"):
        check_token(None, host)
    with pytest.raises(UsageError, match="16"):
        check_token("fifteen letters", host)
    assert check_token(TOKEN, host) == TOKEN


@pytest.mark.parametrize("token", ["short", "sixteen letters\n!", "sixteen letters é"])
def test_a_token_that_is_no_good_is_not_shown(token):
    with pytest.raises(UsageError) as error:
        check_token(token, "127.0.0.1")
    assert token not in str(error.value)


def test_a_site_does_not_show_its_secrets(tmp_path):
    with site_in(tmp_path, token=TOKEN) as site:
        assert TOKEN not in repr(site)
        assert repr(site.secret) not in repr(site)


def test_a_refusal_says_what_to_do(client):
    assert "Only a page of this server" in words(
        client.post("/logout", headers={"Origin": "http://evil.example"}).text
    )
