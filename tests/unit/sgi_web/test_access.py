"""Who is let in, and with which rights: tokens, logins, the header of a proxy, and attacks on each."""

from __future__ import annotations

import http.client
import re
from urllib.parse import urlsplit

import pytest

from sgi.store.run_queries import list_runs
from sgi_web.access import SESSION
from sgi_web.connections import ConnectionLimits
from sgi_web.site import FREE_TRIES, TokenThrottle
from support.web_server import form_key, serve_site, submit_form, visible_text, web_client

HEADER = "X-Forwarded-User"
FOR_READERS = {("POST", "/login"), ("POST", "/logout"), ("POST", "/api/v1/score"), ("POST", "/api/v1/guard")}
"""The only routes with a method other than GET that readers may use; they store nothing."""
SAFE = {"GET", "HEAD", "OPTIONS"}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def routes(router):
    """All routes with their methods, also those of included routers."""
    for route in router.routes:
        if hasattr(route, "original_router"):
            yield from routes(route.original_router)
        else:
            yield from ((method, route.path) for method in route.methods)


def changing_routes(client):
    found = {(method, path) for method, path in routes(client.app) if method not in SAFE}
    assert found >= FOR_READERS | {
        ("POST", "/upload"),
        ("DELETE", "/api/v1/runs/{run}"),
        ("POST", "/v1/traces"),
    }
    return sorted(found - FOR_READERS)


def concrete(path):
    """The path of a route with a value for each parameter: an existing run."""
    return re.sub(r"\{[^}]*\}", "before", path)


def test_a_reader_can_use_no_route_that_changes_anything(guarded, signed_in):
    reader, editor = signed_in("view"), signed_in("edit")
    key = form_key(reader, "/")
    before = list_runs(guarded.database)
    for method, path in changing_routes(reader):
        by_cookie = reader.request(method, concrete(path), data={"form_key": key, "name": "x", "tags": "x"})
        with web_client(guarded) as program:
            by_token = program.request(method, concrete(path), headers=bearer(guarded.view_token))
        assert (by_cookie.status_code, by_token.status_code) == (403, 403), f"{method} {path}"
    assert list_runs(guarded.database) == before
    assert submit_form(editor, "/runs/before/edit", name="x", tags="x").status_code == 303


def test_without_a_token_every_route_but_the_public_ones_is_refused(guarded):
    with web_client(guarded) as anonymous:
        every = {(method, path) for method, path in routes(anonymous.app) if "/static/" not in path}
        public = {("POST", "/login"), *(("GET", path) for path in ("/login", "/healthz", "/readyz"))}
        for method, path in sorted(every - public):
            response = anonymous.request(method, concrete(path))
            assert response.status_code in {303, 401}, f"{method} {path}"
            assert response.headers.get("location", "/login").startswith("/login")


def test_a_reader_sees_no_buttons_and_no_forms_that_change(signed_in):
    reader, editor = signed_in("view"), signed_in("edit")
    for path in ("/", "/runs/before", "/runs/before/labels", "/trends", "/runs/before/samples/item-1"):
        forms = [
            {*re.findall(r'<form method="post" action="([^"]+)"', client.get(path).text)}
            for client in (reader, editor)
        ]
        assert forms[0] == {"/logout"}, path
    for path in ("/upload", "/runs/before/edit", "/runs/before/delete", "/runs/before/label"):
        assert (reader.get(path).status_code, editor.get(path).status_code) == (403, 200)
        step = re.compile(f'href="[^"]*/{path.rpartition("/")[2]}"')
        pages = [client.get(path.rpartition("/")[0] or "/").text for client in (reader, editor)]
        assert step.search(pages[0]) is None
        assert step.search(pages[1]) is not None or path.endswith("/label")
    for path in ("/runs/before/report.html", "/compare?base=before&new=after", "/api/v1/runs/before"):
        assert reader.get(path).status_code == 200
    assert reader.post("/api/v1/score", json={"rows": []}).status_code not in {401, 403}


def test_a_server_of_this_machine_asks_for_nothing(client):
    page = client.get("/runs/before").text
    assert "/delete" in page
    assert "/logout" not in page
    assert client.get("/api/v1/runs", headers=bearer("anything")).status_code == 200


@pytest.mark.parametrize("right", ["view", "edit"])
def test_one_token_alone_gives_its_right(site, right):
    token = "one token of the server"
    site.token, site.view_token = (token, None) if right == "edit" else (None, token)
    with web_client(site) as client:
        refused = client.get("/api/v1/runs")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert client.get("/api/v1/runs", headers=bearer(token)).status_code == 200
        changed = client.patch("/api/v1/runs/after", json={"tags": ["z"]}, headers=bearer(token))
        assert changed.status_code == (200 if right == "edit" else 403)
        for wrong in (token + "x", token[:-1], "", "\xff"):
            sent = {"Authorization": f"Bearer {wrong}".encode("latin-1")}
            assert client.get("/api/v1/runs", headers=sent).status_code == 401


def test_a_login_begins_a_new_session_and_does_not_hold_the_token(guarded):
    with web_client(guarded) as client:
        client.get("/login")
        before = client.cookies[SESSION]
        cookie = submit_form(client, "/login", token=guarded.token).headers["set-cookie"]
        assert client.cookies[SESSION].partition(".")[0] != before
        assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"))
        assert guarded.token not in cookie
        assert [*client.cookies.keys()] == [SESSION]


def test_a_login_ends_at_logout_restart_and_after_its_time(guarded, signed_in, monkeypatch):
    client = signed_in("edit")
    copied = {"Cookie": f"{SESSION}={client.cookies[SESSION]}"}
    with web_client(guarded) as other:
        assert other.get("/api/v1/runs", headers=copied).status_code == 200
        assert submit_form(client, "/", to="/logout").headers["location"] == "/login"
        assert client.get("/").headers["location"] == "/login?next=%2F"
        assert other.get("/api/v1/runs", headers=copied).status_code == 401
    login = signed_in("view").cookies[SESSION]
    kept = {"Cookie": f"{SESSION}={login}"}
    with web_client(guarded) as later:
        with monkeypatch.context() as patch:
            patch.setattr("sgi_web.access.time.time", lambda: int(login.split(".")[1]) + 1)
            assert later.get("/", headers=kept).status_code == 303
        assert later.get("/", headers=kept).status_code == 200
        guarded.secret = b"of another process"
        assert later.get("/", headers=kept).status_code == 303


def test_a_login_cannot_be_forged(guarded, signed_in):
    """Every part of a reader's login is replaced, and the login of another session is used."""
    login = signed_in("view").cookies[SESSION]
    session, ends, right, mark = login.split(".")
    forged = [f"{session}.{ends}.{other}.{mark}" for other in ("edit", "", "é", "view.edit", "x" * 5000)]
    forged += [f"{session}.{int(ends) + 1}.{right}.{mark}", f"{session}.{ends}.{right}.{mark[:-1]}"]
    forged += [
        f"{session[::-1]}.{ends}.{right}.{mark}",
        f"{session}.{ends}.{right}.",
        f"{session}.-1.{right}.{mark}",
    ]
    forged += [f"{session}.{ends}.{right}.{guarded.sign('form', session)}", session, "", "...", f"{login}."]
    forged += [f"{session}.{ends}.{right}.{'0' * 64}", f"{session}.{'9' * 20}.{right}.{mark}"]
    with web_client(guarded) as client:
        for value in forged:
            headers = {"Cookie": f"{SESSION}={value}".encode()}
            assert client.get("/api/v1/runs", headers=headers).status_code == 401, value
        right = {"Cookie": f"{SESSION}={login}"}
        assert client.get("/api/v1/runs", headers=right).status_code == 200


def test_a_login_of_another_server_on_this_machine_is_left_alone(client, signed_in):
    login = signed_in("view").cookies[SESSION]
    client.app.state.site.secret = b"of another process"
    client.app.state.site.token = client.app.state.site.view_token = None
    response = client.get("/", headers={"Cookie": f"{SESSION}={login}"})
    assert (response.status_code, "set-cookie" in response.headers) == (200, False)


def test_wrong_tokens_are_delayed_and_a_reader_cannot_reset_their_count(guarded):
    now = [1000.0]
    guarded.throttle = TokenThrottle(lambda: now[0])
    with web_client(guarded) as client:
        statuses = []
        for _ in range(FREE_TRIES + 2):
            statuses.append(client.get("/api/v1/runs", headers=bearer("a guess")).status_code)
            client.get("/api/v1/runs", headers=bearer(guarded.view_token))
        assert statuses[-1] == 429
        right = bearer(guarded.token)
        delayed = client.get("/api/v1/runs", headers=right)
        assert (delayed.status_code, int(delayed.headers["retry-after"]) >= 1) == (429, True)
        assert submit_form(client, "/login", token=guarded.token).status_code == 429
        now[0] += 5
        assert client.get("/api/v1/runs", headers=right).status_code == 200


def ask(address, *headers, path="/api/v1/runs", peer="127.0.0.1"):
    """Send headers as they are from an address of this machine; returns the status and the text."""
    place = urlsplit(address)
    wire = http.client.HTTPConnection(place.hostname, place.port, timeout=30, source_address=(peer, 0))
    wire.putrequest("GET", path)
    for name, value in headers:
        wire.putheader(name, value)
    wire.endheaders()
    response = wire.getresponse()
    text = response.read().decode()
    wire.close()
    return response.status, text


@pytest.fixture
def proxied(site):
    """The address of a site whose only way in is the proxy at 127.0.0.1."""
    site.identity_header, site.proxies = HEADER, frozenset({"127.0.0.1"})
    with serve_site(site, ConnectionLimits(proxies=site.proxies)) as address:
        yield address


def test_the_proxy_names_the_person(proxied):
    name = "ann ü".encode()
    status, text = ask(proxied, (HEADER, name), path="/")
    assert (status, "ann ü" in visible_text(text), "/logout" in text) == (200, True, False)
    assert ask(proxied, (HEADER.lower(), name))[0] == 200
    assert ask(proxied, (HEADER, name), ("X-Forwarded-For", "192.0.2.7"))[0] == 200
    for path in ("/", "/api/v1/runs"):
        assert ask(proxied, path=path)[0] == 401
        assert ask(proxied, (HEADER, ""), path=path)[0] == 401


@pytest.mark.parametrize("forwarded", ["127.0.0.1", "127.0.0.1, 127.0.0.1", "", "127.0.0.2"])
@pytest.mark.parametrize("name", [b"ann", b""])
def test_no_request_from_another_address_gets_in(proxied, forwarded, name):
    headers = [(HEADER, name), ("X-Forwarded-For", forwarded), ("Authorization", "Bearer anything")]
    for path in ("/", "/api/v1/runs", "/upload"):
        assert ask(proxied, *headers, path=path, peer="127.0.0.2")[0] == 403
    assert ask(proxied, path="/healthz", peer="127.0.0.2")[0] == 200


def test_two_headers_are_refused(proxied):
    for others in ("ann ü", "bob", ""):
        names = [(HEADER, "ann ü".encode()), (HEADER.upper(), others.encode())]
        for order in (names, names[::-1]):
            assert ask(proxied, *order)[0] == 400
    assert ask(proxied, (HEADER, "ann ü, bob".encode()))[0] == 400


@pytest.mark.parametrize(
    "name",
    [b"a\x1b[31m", "a\u202eb".encode(), "a\u200bb".encode(), "a\x85b".encode(), b"\xff", b"x" * 10_000],
)
def test_a_header_that_names_nobody_is_refused(proxied, name):
    status, text = ask(proxied, (HEADER, name))
    assert (status, len(text) < 500, text.isascii()) == (400, True, True)


def test_without_the_option_the_header_means_nothing(guarded):
    guarded.proxies = frozenset({"127.0.0.1"})
    with serve_site(guarded) as address:
        assert ask(address, (HEADER, "ann"))[0] == 401


def test_a_name_from_the_proxy_is_text_in_the_page(proxied):
    status, text = ask(proxied, (HEADER, "<script>alert(1)</script>"), path="/")
    assert (status, "<script>alert" in text, "&lt;script&gt;alert" in text) == (200, False, True)


def test_the_login_page_of_a_server_behind_a_proxy_lets_nobody_in(person):
    client = person("ann")
    client.headers.pop("X-Person")
    assert submit_form(client, "/login", token="").status_code == 403
    assert client.get("/").status_code == 401
