"""Security of requests: headers, Host check, CSRF protection, and refusal of unknown users.

Forms carry an HMAC of the session cookie under a secret of this process (OWASP: signed double submit).
Requests that change something must come from a page of this site, as far as the browser reports it.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from fastapi import Form
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sgi.kernel.errors import StoreError, UsageError
from sgi_web.authentication import Refusal, authenticate
from sgi_web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sgi_web.site import Site
    from sgi_web.users import User

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
MIN_TOKEN_LENGTH = 16
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SESSION = "sgi_session"
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC_PATHS = frozenset({"/login", "/healthz", "/readyz"})
"""Paths that need no user."""
_AUTHENTICATIONS = 8
"""Number of requests whose users are read at the same time; slow pages do not use these threads."""
_AUTHORITY = re.compile(r"(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
"""``host[:port]`` (RFC 9110, 7.2): names and addresses without escapes."""
_SESSION_BYTES = 24
_SESSION_LENGTH = _SESSION_BYTES * 4 // 3


def is_reachable(host: str, *, proxied: bool = False) -> bool:
    """Return whether others can reach a server on this address, directly or through a reverse proxy."""
    return proxied or host not in LOOPBACK


def check_token(
    token: str | None, host: str, *, proxied: bool = False, has_users: Callable[[], bool] = lambda: False
) -> str | None:
    """Return the token of a server on this address; None without a token.

    ``proxied`` means that a reverse proxy forwards other callers to it; ``has_users`` returns whether users
    have tokens of their own, or the proxy names them.

    Raises:
        UsageError: others can reach the server and there is neither a token nor a user, or the token is too
            short.
    """
    if not token:
        if not is_reachable(host, proxied=proxied) or has_users():
            return None
        reach = "Others can reach the server through its proxy" if proxied else f"Others can reach {host}"
        raise UsageError(
            f"{reach}, so a token is required.",
            hint=f"Set SGI_SERVE_TOKEN to at least {MIN_TOKEN_LENGTH} characters, add users with "
            "`sgi users add`, or serve on 127.0.0.1.",
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
    return site_of(request).sign("form", request.state.session)


def check_form(request: Request, form_key: Annotated[str, Form()] = "") -> None:
    """Refuse a form that does not come from a page of this session.

    Raises:
        HTTPException: status 403.
    """
    if not secrets.compare_digest(form_token(request).encode(), form_key.encode("utf-8", "replace")):
        raise HTTPException(403, "This form is out of date. Go back, reload the page and submit it again.")


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
    """ASGI middleware that refuses requests with a wrong host, from other sites, or without a user.

    It decides by the path that routing uses, never by a URL built from the ``Host`` header of the caller.
    ``respond`` creates the response to a refused request.
    """

    def __init__(self, app: ASGIApp, site: Site, respond: Callable[[Request, Refusal], Response]) -> None:
        self._app = app
        self._site = site
        self._respond = respond
        self._limiter = anyio.CapacityLimiter(_AUTHENTICATIONS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        refusal = await self._refusal_or_user(Request(scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        await self._respond(Request(scope), refusal)(scope, receive, send)

    async def _refusal_or_user(self, request: Request) -> Refusal | None:
        """Return why a request is refused; None if it is not, and then its state has the user."""
        path = request.scope["path"]
        refusal = self._refusal(request)
        if refusal is not None or path in _PUBLIC_PATHS or path.startswith("/static/"):
            return refusal
        found = await anyio.to_thread.run_sync(self._authenticate, request, limiter=self._limiter)
        if isinstance(found, Refusal):
            return found
        request.state.user = found
        return None

    def _authenticate(self, request: Request) -> User | Refusal:
        try:
            return authenticate(self._site, request)
        except StoreError as error:
            return Refusal(503, "Unavailable", self._site.without_place(str(error)))

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
        return None


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
