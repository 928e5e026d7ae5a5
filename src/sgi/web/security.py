"""Security of requests: headers, Host check, CSRF protection and token.

Forms carry an HMAC of the session cookie under a secret of this process (OWASP: signed double submit).
Requests that change something must come from a page of this site, as far as the browser reports it.
"""

from __future__ import annotations

import hmac
import math
import re
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from fastapi import Form
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sgi.kernel.errors import UsageError
from sgi.web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sgi.web.site import Site

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
MIN_TOKEN_LENGTH = 16
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SESSION = "sgi_session"
LOGIN = "sgi_login"
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC_PATHS = frozenset({"/login", "/healthz", "/readyz"})
"""Paths that need no token."""
_AUTHORITY = re.compile(r"(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
"""``host[:port]`` (RFC 9110, 7.2): names and addresses without escapes."""
_LOGIN_SECONDS = 12 * 3600
_SESSION_BYTES = 24
_SESSION_LENGTH = _SESSION_BYTES * 4 // 3
_DIGITS = 15


@dataclass(frozen=True)
class Refusal:
    """Reason for refusing a request: HTTP status, title, what to do, and seconds until a retry."""

    status: int
    title: str
    message: str
    retry_after: int | None = None


def check_token(token: str | None, host: str, *, proxied: bool = False) -> str | None:
    """Return the token that a server on this address requires.

    ``proxied`` means that a reverse proxy forwards other callers to it.

    Raises:
        UsageError: others can reach the server and there is no token, or the token is too short.
    """
    if not token:
        if host in LOOPBACK and not proxied:
            return None
        reach = "Others can reach the server through its proxy" if proxied else f"Others can reach {host}"
        raise UsageError(
            f"{reach}, so a token is required.",
            hint=f"Set SGI_SERVE_TOKEN to at least {MIN_TOKEN_LENGTH} characters, or serve on 127.0.0.1.",
        )
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable():
        hint = "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one."
        raise UsageError(f"A token has at least {MIN_TOKEN_LENGTH} printable ASCII characters.", hint=hint)
    return token


def allowed_hosts(host: str, port: int, public: Iterable[str] = ()) -> frozenset[str] | None:
    """Return the ``Host`` headers that a server accepts; None if it accepts any.

    A server on a local address accepts only local names, against DNS rebinding, and the public names of its
    reverse proxy. On another address it accepts the public names, or any name if none is given.
    """
    named = frozenset(name.lower() for name in public)
    if host not in LOOPBACK:
        return named or None
    names = ("localhost", "127.0.0.1", "[::1]")
    return named.union(names if port == 80 else (f"{name}:{port}" for name in names))  # noqa: PLR2004 - default port of HTTP


def form_token(request: Request) -> str:
    """Return the CSRF token of the forms of this session."""
    return _sign(site_of(request), "form", request.state.session)


def check_form(request: Request, form_key: Annotated[str, Form()] = "") -> None:
    """Refuse a form that does not come from a page of this session.

    Raises:
        HTTPException: status 403.
    """
    if not secrets.compare_digest(form_token(request).encode(), form_key.encode("utf-8", "replace")):
        raise HTTPException(403, "This form is out of date. Go back, reload the page and submit it again.")


def login_cookie(request: Request) -> tuple[str, int]:
    """Return the login cookie, which does not contain the token, and its lifetime in seconds."""
    ends = int(time.time()) + _LOGIN_SECONDS
    return f"{ends}.{_login_signature(site_of(request), request.state.session, ends)}", _LOGIN_SECONDS


def try_token(site: Site, request: Request, text: str) -> bool:
    """Return whether the token is right; wrong tokens are counted and throttled."""
    address = _address(request)
    if site.throttle.seconds_left(address):
        return False
    right = site.token is not None and secrets.compare_digest(
        site.token.encode(), text.encode("utf-8", "replace")
    )
    if right:
        site.throttle.forget(address)
    else:
        site.throttle.count_wrong(address)
    return right


def seconds_to_wait(site: Site, request: Request) -> int:
    """Return the whole seconds until tokens from the address of this request are checked again."""
    return math.ceil(site.throttle.seconds_left(_address(request)))


def is_authenticated(site: Site, request: Request) -> bool:
    """Return whether the caller sent the token or logged in with it; True if the server has no token."""
    if site.token is None or _is_login(site, request.state.session, request.cookies.get(LOGIN, "")):
        return True
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return kind.lower() == "bearer" and try_token(site, request, token.strip())


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


class SessionMiddleware:
    """ASGI middleware that sets the session cookie and the security headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        known = request.cookies.get(SESSION, "")
        is_valid = len(known) == _SESSION_LENGTH and known.isascii()
        session = known if is_valid else secrets.token_urlsafe(_SESSION_BYTES)
        scope.setdefault("state", {})["session"] = session
        secure = "; Secure" if scope["scheme"] == "https" else ""
        cookie = f"{SESSION}={session}; Path=/; HttpOnly; SameSite=Strict{secure}"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                if session != known and headers.get("Content-Type", "").startswith("text/html"):
                    headers.append("Set-Cookie", cookie)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class SecurityMiddleware:
    """ASGI middleware that refuses requests with a wrong host, from other sites, or without the token.

    It decides by the path that routing uses, never by a URL built from the ``Host`` header of the caller.
    ``respond`` creates the response to a refused request.
    """

    def __init__(self, app: ASGIApp, site: Site, respond: Callable[[Request, Refusal], Response]) -> None:
        self._app = app
        self._site = site
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        await self._respond(Request(scope), refusal)(scope, receive, send)

    def _refusal(self, request: Request) -> Refusal | None:
        hosts = [host.lower() for host in request.headers.getlist("host")]
        host = hosts[0] if hosts else ""
        if self._site.hosts is not None and host not in self._site.hosts:
            names = ", ".join(sorted(self._site.hosts))
            return Refusal(400, "Wrong host", f"This server only answers requests for {names}.")
        if len(hosts) > 1 or not all(map(_AUTHORITY.fullmatch, hosts)):
            return Refusal(400, "Wrong host", "The Host header of this request is not valid.")
        if request.method not in _SAFE_METHODS and _is_cross_site(request, host):
            return Refusal(403, "Cross-site request", "Only pages of this server can change data.")
        if _is_embedded(request):
            return Refusal(403, "Cross-site request", "Other sites can link to this page but not embed it.")
        path = request.scope["path"]
        if path in _PUBLIC_PATHS or path.startswith("/static/") or is_authenticated(self._site, request):
            return None
        seconds = seconds_to_wait(self._site, request) if "authorization" in request.headers else 0
        refusal = Refusal(401, "Authentication required", "This server requires its token.")
        return too_many_tokens(seconds) if seconds else refusal


def too_many_tokens(seconds: int) -> Refusal:
    """Return the refusal after too many wrong tokens."""
    message = f"Too many wrong tokens came from this address. Try again in {seconds} s."
    return Refusal(429, "Too many wrong tokens", message, seconds)


def _is_cross_site(request: Request, host: str) -> bool:
    """Return whether the browser reports a page of another site as the origin; other clients report none."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return True
    origin = request.headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != host
    except ValueError:  # not an IP address
        return True


def _is_embedded(request: Request) -> bool:
    """Return whether the browser reports that another site embeds this page instead of linking to it."""
    headers = request.headers
    return headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate"


def _is_login(site: Site, session: str, login: str) -> bool:
    ends, _, mark = login.partition(".")
    if not (ends.isascii() and ends.isdecimal() and len(ends) < _DIGITS and int(ends) > time.time()):
        return False
    return secrets.compare_digest(
        _login_signature(site, session, int(ends)).encode(), mark.encode("utf-8", "replace")
    )


def _login_signature(site: Site, session: str, ends: int) -> str:
    return _sign(site, "login", f"{session}.{ends}.{site.token}")


def _sign(site: Site, purpose: str, text: str) -> str:
    return hmac.new(site.secret, f"{purpose}:{text}".encode(), sha256).hexdigest()
