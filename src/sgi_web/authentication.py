"""Finds the user of a request: by the header of a trusted proxy, the login cookie, or a token.

The login cookie names the user. Its signature covers the role and the hash of the token, so that a login ends
when the user is removed, or the role or the token changes.
"""

from __future__ import annotations

import math
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.store.users import TOKEN_NAME, Role, find_user, has_users, user_name_problem, user_of_token
from sgi_web.site import site_of
from sgi_web.users import LOCAL, User

if TYPE_CHECKING:
    from starlette.requests import Request

    from sgi.store.users import UserRecord
    from sgi_web.site import Site

LOGIN = "sgi_login"
_LOGIN_SECONDS = 12 * 3600
_MAX_COOKIE = 2000
_DIGITS = 15


@dataclass(frozen=True)
class Refusal:
    """Reason for refusing a request: HTTP status, title, what to do, and seconds until a retry."""

    status: int
    title: str
    message: str
    retry_after: int | None = None


@dataclass(frozen=True)
class Account:
    """A user with a token. ``secret`` is the token of the server, or the hash of the user's token."""

    user: User
    secret: str


def authenticate(site: Site, request: Request) -> User | Refusal:
    """Return the user of a request, or why it is refused. Raises StoreError if users cannot be read."""
    if site.user_header is not None:
        name = site.user_header.lower().encode()
        values = [value for key, value in request.headers.raw if key == name]
        if any(values):
            return _user_of_header(site, request, values)
    if not site.needs_login and not has_users(site.database):
        return LOCAL
    account = _account_of_login(site, request) or _account_of_bearer(site, request)
    if account is not None:
        return account.user
    seconds = seconds_to_wait(site, request) if "authorization" in request.headers else 0
    refusal = Refusal(401, "Authentication required", "This server requires a token.")
    return too_many_tokens(seconds) if seconds else refusal


def try_token(site: Site, request: Request, text: str) -> Account | None:
    """Return the account with this token; None if it is wrong. Wrong tokens are counted and throttled."""
    address = _address(request)
    if site.throttle.seconds_left(address):
        return None
    if account := _account_of_token(site, text):
        # Otherwise a user could guess the token of the server, with their own token after each fifth guess.
        if site.token is None or account.user.name == TOKEN_NAME:
            site.throttle.forget(address)
    else:
        site.throttle.count_wrong(address)
    return account


def login_cookie(request: Request, account: Account) -> tuple[str, int]:
    """Return the login cookie, which does not contain the token, and its lifetime in seconds."""
    ends = int(time.time()) + _LOGIN_SECONDS
    subject = urlsafe_b64encode(account.user.name.encode()).decode().rstrip("=")
    return f"{ends}.{subject}.{_signature(request, ends, subject, account)}", _LOGIN_SECONDS


def seconds_to_wait(site: Site, request: Request) -> int:
    """Return the whole seconds until tokens from the address of this request are checked again."""
    return math.ceil(site.throttle.seconds_left(_address(request)))


def too_many_tokens(seconds: int) -> Refusal:
    """Return the refusal after too many wrong tokens."""
    message = f"Too many wrong tokens came from this address. Try again in {seconds} s."
    return Refusal(429, "Too many wrong tokens", message, seconds)


def _user_of_header(site: Site, request: Request, values: list[bytes]) -> User | Refusal:
    """Return the user that the proxy names; the peer is the other end of the connection."""
    header = site.user_header
    if getattr(request.state, "peer", None) not in site.proxies:
        return Refusal(403, "Forbidden", f"Only the proxy of this server may send the header {header}.")
    if len(values) > 1:
        return Refusal(400, "Bad request", f"The header {header} was sent more than once.")
    try:
        name = values[0].decode()
    except UnicodeDecodeError:
        return Refusal(400, "Bad request", f"The header {header} is not valid UTF-8.")
    if problem := user_name_problem(name):
        return Refusal(400, "Bad request", f"The name in the header {header} is not valid: {problem}.")
    record = find_user(site.database, name)
    role = site.default_role if record is None else record.role
    if role is None:
        message = f"{name} is not a user of this server. Ask its administrator to run `sgi users add`."
        return Refusal(403, "Unknown user", message)
    return User(name, role)


def _account_of_login(site: Site, request: Request) -> Account | None:
    cookie = request.cookies.get(LOGIN, "")
    ends, _, rest = cookie.partition(".")
    subject, _, mark = rest.partition(".")
    if len(cookie) > _MAX_COOKIE or not (ends.isascii() and ends.isdecimal() and len(ends) < _DIGITS):
        return None
    if int(ends) <= time.time():
        return None
    try:
        name = urlsafe_b64decode(subject + "=" * (-len(subject) % 4)).decode()
    except ValueError:
        return None
    account = _server_account(site) if name == TOKEN_NAME else _account_of(find_user(site.database, name))
    if account is None:
        return None
    right = _signature(request, int(ends), subject, account)
    return account if secrets.compare_digest(right.encode(), mark.encode("utf-8", "replace")) else None


def _account_of_bearer(site: Site, request: Request) -> Account | None:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return try_token(site, request, token.strip()) if kind.lower() == "bearer" else None


def _account_of_token(site: Site, text: str) -> Account | None:
    server = _server_account(site)
    if server is not None and secrets.compare_digest(server.secret.encode(), text.encode("utf-8", "replace")):
        return server
    return _account_of(user_of_token(site.database, text))


def _account_of(record: UserRecord | None) -> Account | None:
    return None if record is None else Account(User(record.name, record.role), record.token_hash)


def _server_account(site: Site) -> Account | None:
    return None if site.token is None else Account(User(TOKEN_NAME, Role.EDITOR), site.token)


def _signature(request: Request, ends: int, subject: str, account: Account) -> str:
    session = request.state.session  # of a fixed length, so that no part can extend into the next one
    text = f"{session}.{ends}.{subject}.{account.user.role}.{account.secret}"
    return site_of(request).sign("login", text)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
