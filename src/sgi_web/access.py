"""Who may use the server: by a token, by the login of a browser, or by the header of a proxy."""

from __future__ import annotations

import math
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Form
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time

from sgi.kernel.names import name_problem
from sgi_web.site import site_of

if TYPE_CHECKING:
    from sgi_web.site import Site

SESSION = "sgi_session"
"""Name of the cookie. It holds a random id and, after a login, its end, its right and a signature."""
LOGIN_SECONDS = 12 * 3600
VIEW, EDIT = "view", "edit"
TOKEN_NAME = "token"  # noqa: S105 - a name
"""Name of whoever uses a token of the server."""
_ID_BYTES = 24
_COOKIE = re.compile(r"([\w-]{32})(?:\.([0-9]{1,12})\.(view|edit)\.([0-9a-f]{64}))?", re.ASCII)


@dataclass(frozen=True)
class Person:
    """Who sends a request. The name is printable and has at most 200 characters."""

    name: str
    may_edit: bool = True


LOCAL = Person("local")
"""Everybody on a server that only this machine can reach, and that has no token."""


@dataclass(frozen=True)
class Refusal:
    """Reason for refusing a request: HTTP status, title, what to do, and seconds until a retry."""

    status: int
    title: str
    message: str
    retry_after: int | None = None


_UNKNOWN = Refusal(401, "Authentication required", "This server requires a token.")


@dataclass(frozen=True)
class Session:
    """The session of a browser; after a login it has a right and an end, in seconds since 1970."""

    id: str
    right: str = ""
    ends: int = 0

    @classmethod
    def new(cls, right: str = "") -> Session:
        """Return a session with a new id, so that nobody can know the id of a later login."""
        return cls(secrets.token_urlsafe(_ID_BYTES), right, int(time.time()) + LOGIN_SECONDS)

    @classmethod
    def of(cls, site: Site, cookie: str) -> Session:
        """Return the session of a cookie: without its login if that has ended, new if it is malformed."""
        match = _COOKIE.fullmatch(cookie)
        if match is None:
            return cls.new()
        session_id, ends, right, _ = match.groups()
        session = cls(session_id, right or "", int(ends or 0))
        is_signed = secrets.compare_digest(session.cookie(site), cookie)
        is_valid = is_signed and time.time() < session.ends and session_id not in site.ended_logins
        return session if is_valid else cls(session_id)

    def cookie(self, site: Site) -> str:
        """Return the value of the cookie."""
        if not self.right:
            return self.id
        login = f"{self.id}.{self.ends}.{self.right}"
        return f"{login}.{site.sign('login', login)}"


def end_login(site: Site, session: Session) -> None:
    """Refuse the cookie of a session from now on, also if somebody has copied it."""
    kept = {name: ends for name, ends in site.ended_logins.items() if ends > time.time()}
    site.ended_logins = kept | ({session.id: session.ends} if session.right else {})


def form_key(request: Request) -> str:
    """Return the key of the forms of this session (OWASP: signed double submit)."""
    return site_of(request).sign("form", request.state.session.id)


def check_form(request: Request, sent_key: Annotated[str, Form(alias="form_key")] = "") -> None:
    """Refuse a form that does not come from a page of this session.

    Raises:
        HTTPException: status 403.
    """
    if not secrets.compare_digest(form_key(request).encode(), sent_key.encode("utf-8", "replace")):
        raise HTTPException(403, "This form is out of date. Go back, reload the page and submit it again.")


def find_person(site: Site, request: Request) -> Person | Refusal:
    """Return who sends a request, or why it is refused."""
    if site.identity_header is not None:
        return _person_of_proxy(site, request, site.identity_header)
    if not site.has_login:
        return LOCAL
    if right := request.state.session.right:
        return Person(TOKEN_NAME, right == EDIT)
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        return _UNKNOWN
    found = try_token(site, request, token.strip())
    return found if isinstance(found, Refusal) else Person(TOKEN_NAME, found == EDIT)


def try_token(site: Site, request: Request, text: str) -> str | Refusal:
    """Return the right that a token gives, or why it is refused. Wrong tokens are counted and throttled."""
    address = request.client.host if request.client else ""
    if seconds := math.ceil(site.throttle.seconds_left(address)):
        message = f"Too many wrong tokens came from this address. Try again in {seconds} s."
        return Refusal(429, "Too many wrong tokens", message, seconds)
    sent = text.encode("utf-8", "replace")
    rights = [
        right
        for right, token in ((EDIT, site.token), (VIEW, site.view_token))
        if token is not None and secrets.compare_digest(token.encode(), sent)
    ]
    if not rights:
        site.throttle.count_wrong(address)
        return _UNKNOWN
    # Otherwise a reader could guess the other token, and send the own one after each fifth guess.
    if rights[0] == EDIT or site.token is None:
        site.throttle.forget(address)
    return rights[0]


def _person_of_proxy(site: Site, request: Request, header: str) -> Person | Refusal:
    """Return the person whom the proxy names; the peer is the other end of the connection."""
    if getattr(request.state, "peer", None) not in site.proxies:
        return Refusal(403, "Forbidden", "Only the proxy of this server may send requests.")
    values = request.headers.getlist(header)
    if not any(values):
        return Refusal(401, "Authentication required", f"The proxy did not send the header {header}.")
    try:
        name = values[0].encode("latin-1").decode()
    except UnicodeDecodeError:
        return Refusal(400, "Bad request", f"The header {header} is not valid UTF-8.")
    # Proxies can join repeated headers with a comma.
    problem = "it has a comma, or was sent twice" if len(values) > 1 or "," in name else name_problem(name)
    if problem:
        return Refusal(400, "Bad request", f"The name in the header {header} is not valid: {problem}.")
    return Person(name)


def person_of(request: Request) -> Person | None:
    """Return who sends a request; None on a page that needs nobody, or if the request was refused."""
    person: Person | None = getattr(request.state, "person", None)
    return person


def may_edit(request: Request) -> bool:
    """Return whether the sender of a request may change something."""
    person = person_of(request)
    return person is not None and person.may_edit


async def require_editor(request: Request) -> None:
    """Refuse readers (status 403). Pages with forms need this; requests that change are refused anyway."""
    if not may_edit(request):
        raise HTTPException(403, "Your token may only read.")


EDITOR, OWN_FORM = Depends(require_editor), Depends(check_form)
