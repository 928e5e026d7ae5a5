"""Security of requests: headers, and refusal of wrong hosts, of other sites and of people without rights.

Requests that change something must come from a page of this site, as far as the browser reports it.
"""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sgi_web.access import LOGIN_SECONDS, NOBODY, SESSION, Session, find_person, refuse_readers
from sgi_web.error_responses import error_response, http_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sgi_web.site import Site

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HTTP_PORT = 80
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC_PATHS = frozenset({"/login", "/healthz", "/readyz"})
"""Paths that need nobody."""
_FOR_READERS = frozenset({"/logout", "/api/v1/score", "/api/v1/guard"})
"""Paths with other methods that readers may use: they store nothing; the guard only counts answers."""
_AUTHORITY = re.compile(r"(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
"""``host[:port]`` (RFC 9110, 7.2): names and addresses without escapes."""
_log = logging.getLogger("sgi_web")


def needs_edit(method: str, path: str) -> bool:
    """Return whether a request needs the right to edit."""
    return method not in _SAFE_METHODS and path not in _FOR_READERS


def allowed_hosts(host: str, port: int, public: Iterable[str] = ()) -> frozenset[str] | None:
    """Return the ``Host`` headers that a server accepts; None if it accepts any.

    A server on a local address accepts only local names, against DNS rebinding, and the public names of its
    reverse proxy. On another address it accepts the public names, or any name if none is given.
    """
    named = frozenset(name.lower() for name in public)
    if host not in LOOPBACK:
        return named or None
    names = ("localhost", "127.0.0.1", "[::1]")
    return named.union(names if port == HTTP_PORT else (f"{name}:{port}" for name in names))


class SecurityMiddleware:
    """ASGI middleware that refuses requests, and sets the session cookie and the security headers.

    It decides by the path that routing uses, never by a URL built from the ``Host`` header of the caller. An
    unexpected error becomes a page with status 500; the log has its traceback.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        sent = request.cookies.get(SESSION, "")
        request.state.session, request.state.person = Session.of(self._site, sent), NOBODY
        has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            has_started = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                session = request.state.session
                kind, status = headers.get("Content-Type", ""), message["status"]
                is_page = kind.startswith("text/html") or status == HTTPStatus.SEE_OTHER
                if is_page and not sent.startswith(session.id):
                    headers.append("Set-Cookie", _set_cookie(self._site, session, scope["scheme"]))
            await send(message)

        try:
            await self._admitted(request)(scope, receive, send_with_headers)
        except Exception:
            if has_started:
                raise
            _log.exception("%s %s failed", request.method, scope["path"])
            message = "Internal error in SGI. The server log has the details. Please report it."
            await error_response(request, 500, message)(scope, receive, send_with_headers)

    def _admitted(self, request: Request) -> ASGIApp:
        """Return the application, or the response to a refusal; the state of the request gets the person."""
        try:
            _admit(request, self._site)
        except HTTPException as error:
            return http_error(request, error)
        return self._app


def _admit(request: Request, site: Site) -> None:
    """Refuse a request that may not come in; otherwise its state gets the person."""
    _check_source(request, site.hosts)
    path = request.scope["path"]
    if path in _PUBLIC_PATHS or path.startswith("/static/"):
        return
    request.state.person = find_person(site, request)
    if needs_edit(request.method, path):
        refuse_readers(request)


def _check_source(request: Request, accepted: frozenset[str] | None) -> None:
    """Refuse a request because of its Host header, or of the page that sent it."""
    hosts = [host.lower() for host in request.headers.getlist("host")]
    host = hosts[0] if hosts else ""
    if accepted is not None and host not in accepted:
        raise HTTPException(400, f"This server only answers requests for {', '.join(sorted(accepted))}.")
    if len(hosts) > 1 or not all(map(_AUTHORITY.fullmatch, hosts)):
        raise HTTPException(400, "The Host header of this request is not valid.")
    if request.method not in _SAFE_METHODS and _is_cross_site(request, host):
        raise HTTPException(403, "Only pages of this server can change data.")
    headers = request.headers
    if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
        raise HTTPException(403, "Other sites can link to this page but not embed it.")


def _set_cookie(site: Site, session: Session, scheme: str) -> str:
    age = f"; Max-Age={LOGIN_SECONDS}" if session.right else ""
    secure = "; Secure" if scheme == "https" else ""
    return f"{SESSION}={session.cookie(site)}; Path=/; HttpOnly; SameSite=Strict{age}{secure}"


def _is_cross_site(request: Request, host: str) -> bool:
    """Return whether the browser reports a page of another site as the origin; other clients report none."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return True
    origin = request.headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != host
    except ValueError:  # not an IP address
        return True
