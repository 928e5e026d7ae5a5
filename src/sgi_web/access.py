"""Access to the server: by a token, by the login of a browser, or by the header of a proxy."""

from __future__ import annotations

import math
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Form
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sgi.kernel.short_text import name_problem
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
    """The sender of a request. The name is printable and has at most 200 characters."""

    name: str
    may_edit: bool = True


LOCAL, NOBODY = Person("local"), Person("", may_edit=False)
"""Everybody on a server that only this machine can reach and that has no token; who is not let in yet."""


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


def find_person(site: Site, request: Request) -> Person:
    """Return the sender of a request. Raises HTTPException if it is refused."""
    if site.identity_header is not None:
        return _person_of_proxy(site, request, site.identity_header)
    if not site.has_login:
        return LOCAL
    right = request.state.session.right
    if not right:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        right = try_token(site, request, token.strip() if kind.lower() == "bearer" else None)
    return Person(TOKEN_NAME, right == EDIT)


def try_token(site: Site, request: Request, text: str | None) -> str:
    """Return the permission that a token grants. Wrong tokens are counted and throttled.

    Raises:
        HTTPException: status 401 for a wrong token or none, 429 after too many.
    """
    address = request.client.host if request.client else ""
    if text is not None and not site.throttle.seconds_left(address):
        sent = text.encode("utf-8", "replace")
        tokens = {EDIT: site.token, VIEW: site.view_token}
        rights = [
            right for right, token in tokens.items() if token and secrets.compare_digest(token.encode(), sent)
        ]
        # A reader must not reset the count: otherwise they could guess the other token, with the own token
        # after each fifth guess.
        if EDIT in rights or (rights and site.token is None):
            site.throttle.forget(address)
        if rights:
            return rights[0]
        site.throttle.count_wrong(address)
    seconds = math.ceil(site.throttle.seconds_left(address))
    if text is not None and seconds:
        message = f"Too many wrong tokens came from this address. Try again in {seconds} s."
        raise HTTPException(429, message, {"Retry-After": str(seconds)})
    raise HTTPException(401, "This server requires a token.", {"WWW-Authenticate": "Bearer"})


def _person_of_proxy(site: Site, request: Request, header: str) -> Person:
    """Return the person whom the proxy names; the peer is the other end of the connection."""
    if getattr(request.state, "peer", None) not in site.proxies:
        raise HTTPException(403, "Only the proxy of this server may send requests.")
    values = request.headers.getlist(header)
    if not any(values):
        raise HTTPException(401, f"The proxy did not send the header {header}.")
    try:
        name = values[0].encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"The header {header} is not valid UTF-8.") from error
    # Proxies can join repeated headers with a comma.
    problem = "it has a comma, or was sent twice" if len(values) > 1 or "," in name else name_problem(name)
    if problem:
        raise HTTPException(400, f"The name in the header {header} is not valid: {problem}.")
    return Person(name)


def refuse_readers(request: Request) -> None:
    """Refuse people who may only read (status 403)."""
    if not request.state.person.may_edit:
        raise HTTPException(403, "Your token may only read.")


async def require_editor(request: Request) -> None:
    """Refuse readers. Pages with forms need this; requests that change are refused anyway."""
    refuse_readers(request)


EDITOR, OWN_FORM = Depends(require_editor), Depends(check_form)
