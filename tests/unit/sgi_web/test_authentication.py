"""Who is let in, and as whom: tokens, logins, the header of a proxy, and attacks on each of them."""

from __future__ import annotations

import http.client
from base64 import urlsafe_b64encode
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.store import schema
from sgi.store.users import Role, add_user, remove_user, renew_token, set_role
from sgi_web.authentication import LOGIN
from sgi_web.security import SESSION, check_token
from sgi_web.token_throttle import FREE_TRIES, TokenThrottle
from support.web_server import serve_site, submit_form, visible_text, web_client

TOKEN = "a token of 24 characters"  # noqa: S105 - of these tests alone
HEADER = "X-Forwarded-User"


@pytest.fixture
def tokens(site):
    """Tokens of a viewer, a labeller and an editor, who are all users of the site."""
    return {role: add_user(site.database, f"{role} ü", role) for role in Role}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


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


def shown_user(client, **options):
    text = visible_text(client.get("/", **options).text)
    return next((str(role) for role in Role if f"{role} ü {role}" in text), None)


def test_without_users_and_token_everybody_here_is_the_editor_local(client):
    page = client.get("/runs/before").text
    assert "Delete" in page
    assert "Sign out" not in page
    assert client.get("/api/v1/runs", headers=bearer("anything")).status_code == 200


def test_with_the_first_user_requests_without_a_token_are_refused(client, site):
    token = add_user(site.database, "ann", Role.VIEWER)
    assert client.get("/").headers["location"] == "/login?next=%2F"
    assert client.get("/api/v1/runs").status_code == 401
    assert client.get("/api/v1/runs", headers=bearer(token)).status_code == 200
    remove_user(site.database, "ann")
    assert client.get("/api/v1/runs").status_code == 200


def test_others_are_never_local_although_the_last_user_is_removed(site):
    site.reachable = True
    token = add_user(site.database, "ann", Role.EDITOR)
    with web_client(site) as client:
        assert client.get("/api/v1/runs", headers=bearer(token)).status_code == 200
        remove_user(site.database, "ann")
        assert client.get("/api/v1/runs", headers=bearer(token)).status_code == 401
        assert client.get("/api/v1/runs").status_code == 401


def test_a_token_gives_the_name_and_the_role_of_its_user(client, tokens, site):
    for role, token in tokens.items():
        assert shown_user(client, headers=bearer(token)) == str(role)
    site.token = TOKEN
    assert "token editor" in visible_text(client.get("/", headers=bearer(TOKEN)).text)
    for wrong in (tokens[Role.EDITOR] + "x", tokens[Role.EDITOR][:-1], "", "editor ü", "\xff"):
        refused = client.get("/api/v1/runs", headers={"Authorization": f"Bearer {wrong}".encode("latin-1")})
        assert refused.status_code == 401


@pytest.mark.parametrize("change", ["remove", "role", "token", "again"])
def test_a_login_ends_with_its_user_role_and_token(client, site, tokens, change):
    response = submit_form(client, "/login", token=tokens[Role.EDITOR])
    assert tokens[Role.EDITOR] not in response.headers["set-cookie"]
    assert shown_user(client) == "editor"
    name = "editor ü"
    if change == "role":
        set_role(site.database, name, Role.VIEWER)
    elif change == "token":
        renew_token(site.database, name)
    else:
        remove_user(site.database, name)
    if change == "again":  # another person with the name of a removed user
        add_user(site.database, name, Role.EDITOR)
    assert client.get("/").headers["location"] == "/login?next=%2F"
    assert client.get("/api/v1/runs").status_code == 401


def test_a_login_of_the_server_token_ends_with_it(site):
    site.token = TOKEN
    with web_client(site) as client:
        submit_form(client, "/login", token=TOKEN)
        assert client.get("/").status_code == 200
        site.token = TOKEN + "2"
        assert client.get("/").status_code == 303


def test_a_login_cannot_be_forged(client, site, tokens):
    """Every part of a viewer's login is replaced, and the login of another session and server is used."""
    submit_form(client, "/login", token=tokens[Role.VIEWER])
    session, login = client.cookies[SESSION], client.cookies[LOGIN]
    ends, subject, mark = login.split(".")
    editor = urlsafe_b64encode("editor ü".encode()).decode().rstrip("=")
    server = urlsafe_b64encode(b"token").decode().rstrip("=")
    local = urlsafe_b64encode(b"local").decode().rstrip("=")
    forged = [f"{ends}.{other}.{mark}" for other in (editor, server, local, "", "=", "!", "é", "x" * 5000)]
    forged += [f"{int(ends) + 1}.{subject}.{mark}", f"{ends}.{subject}.{mark[:-1]}", f"{ends}.{mark}"]
    forged += [f"{ends}.{subject}.{mark}.", f"{ends}.{subject}.", f"{ends}.{subject}.é", f".{subject}.{mark}"]
    forged += [f"{ends}.{subject}.{site.sign('form', session)}", "..", ".", f"-1.{subject}.{mark}"]
    for value in forged:
        headers = {"Cookie": f"{SESSION}={session}; {LOGIN}={value}".encode()}
        client.cookies.clear()
        assert client.get("/api/v1/runs", headers=headers).status_code == 401, value
    with web_client(site) as other:
        other.cookies.set(LOGIN, login)
        assert other.get("/api/v1/runs").status_code == 401
    right = {"Cookie": f"{SESSION}={session}; {LOGIN}={login}"}
    assert client.get("/api/v1/runs", headers=right).status_code == 200
    site.secret = b"of another process"
    assert client.get("/api/v1/runs", headers=right).status_code == 401


def test_wrong_tokens_are_counted_whoever_has_users(site, tokens):
    now = [1000.0]
    site.throttle = TokenThrottle(lambda: now[0])
    with web_client(site) as client:
        for _ in range(FREE_TRIES + 1):
            client.get("/api/v1/runs", headers=bearer("a guess"))
        right = bearer(tokens[Role.VIEWER])
        assert client.get("/api/v1/runs", headers=right).status_code == 429
        now[0] += 1
        assert client.get("/api/v1/runs", headers=right).status_code == 200


def test_a_user_cannot_reset_the_count_of_wrong_server_tokens(site, tokens):
    site.token = TOKEN
    with web_client(site) as client:
        statuses = []
        for _ in range(FREE_TRIES + 2):
            statuses.append(client.get("/api/v1/runs", headers=bearer("a guess")).status_code)
            client.get("/api/v1/runs", headers=bearer(tokens[Role.VIEWER]))
    assert statuses[-1] == 429


def test_users_that_cannot_be_read_let_nobody_in(client, site):
    with site.database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE sgi_users RENAME TO gone")
    for path in ("/", "/api/v1/runs", "/runs/before"):
        response = client.get(path)
        assert (response.status_code, "Retry-After" in response.headers) == (503, True)
        assert site.database.shown not in response.text
    assert client.get("/healthz").status_code == 200
    assert client.get("/static/sgi.css").status_code == 200


@pytest.fixture
def proxied(site):
    """The address of a site that trusts the header of the proxy at 127.0.0.1."""
    site.reachable, site.user_header, site.proxies = True, HEADER, frozenset({"127.0.0.1"})
    add_user(site.database, "ann ü", Role.VIEWER)
    with serve_site(site) as address:
        yield address


def test_the_proxy_names_the_user(proxied, site):
    name = "ann ü".encode()
    assert "ann ü <small" in ask(proxied, (HEADER, name), path="/")[1]
    assert ask(proxied, (HEADER.lower(), name))[0] == 200
    assert ask(proxied)[0] == 401
    assert ask(proxied, (HEADER, ""))[0] == 401
    status, text = ask(proxied, (HEADER, "bob"))
    assert (status, "bob is not a user of this server" in text) == (403, True)
    site.default_role = Role.VIEWER
    assert "bob <small" in ask(proxied, (HEADER, "bob"), path="/")[1]
    assert ask(proxied, (HEADER, "bob"), path="/upload")[0] == 403


@pytest.mark.parametrize("forwarded", ["127.0.0.1", "127.0.0.1, 127.0.0.1", "", "127.0.0.2"])
def test_from_another_peer_the_header_is_refused(proxied, site, forwarded):
    site.token = TOKEN
    more = [("X-Forwarded-For", forwarded), ("Authorization", f"Bearer {TOKEN}")]
    status, text = ask(proxied, (HEADER, "ann ü".encode()), *more, peer="127.0.0.2")
    assert (status, "Only the proxy of this server may send the header" in text) == (403, True)
    assert ask(proxied, *more, peer="127.0.0.2")[0] == 200


def test_the_address_that_the_proxy_forwards_is_not_the_peer(site):
    """The server that uses X-Forwarded-For must still see the proxy as the peer, and only the proxy."""
    from sgi_web.connections import ConnectionLimits

    site.reachable, site.user_header, site.proxies = True, HEADER, frozenset({"127.0.0.1"})
    add_user(site.database, "ann", Role.VIEWER)
    with serve_site(site, ConnectionLimits(proxies=site.proxies)) as address:
        assert ask(address, (HEADER, "ann"), ("X-Forwarded-For", "192.0.2.7"))[0] == 200
        assert ask(address, (HEADER, "ann"), ("X-Forwarded-For", "127.0.0.1"), peer="127.0.0.3")[0] == 403


def test_two_headers_are_refused(proxied):
    for others in ("ann ü", "bob", ""):
        names = [(HEADER, "ann ü".encode()), (HEADER.upper(), others.encode())]
        for order in (names, names[::-1]):
            assert ask(proxied, *order)[0] == 400
    assert ask(proxied, (HEADER, "ann ü, bob".encode()))[0] == 400


@pytest.mark.parametrize(
    "name",
    [
        b"a\x1b[31m",
        "a\u202eb".encode(),
        "a\u200bb".encode(),
        "a\x85b".encode(),
        b"\xff",
        b"x" * 10_000,
        b"local",
        b"token",
    ],
)
def test_a_header_that_names_nobody_is_refused(proxied, site, name):
    site.default_role = Role.EDITOR
    status, text = ask(proxied, (HEADER, name))
    assert status == 400
    assert len(text) < 500
    assert text.isascii()


def test_without_the_option_the_header_means_nothing(site):
    site.token, site.proxies = TOKEN, frozenset({"127.0.0.1"})
    with serve_site(site) as address:
        assert ask(address, (HEADER, "ann"))[0] == 401


def test_a_name_from_the_proxy_is_text_in_the_page(proxied, site):
    site.default_role = Role.VIEWER
    status, text = ask(proxied, (HEADER, "<script>alert(1)</script>"), path="/")
    assert (status, "<script>alert" in text, "&lt;script&gt;alert" in text) == (200, False, True)


def test_a_server_for_others_needs_a_token_or_users():
    with pytest.raises(UsageError, match="so a token is required"):
        check_token(None, "192.168.1.5", has_users=lambda: False)
    assert check_token(None, "192.168.1.5", has_users=lambda: True) is None
    with pytest.raises(UsageError, match="16"):
        check_token("short", "192.168.1.5", has_users=lambda: True)


def test_a_damaged_role_gives_no_rights(client, site, tokens):
    with site.database.writing() as connection:
        connection.execute(sa.update(schema.users).values(role="administrator"))
    assert client.get("/api/v1/runs", headers=bearer(tokens[Role.VIEWER])).status_code == 503
