"""Settings and shared objects of a server."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sgi.web.token_throttle import TokenThrottle

if TYPE_CHECKING:
    from starlette.requests import Request

    from sgi.service.scorer import Scorer
    from sgi.store.database import Database

UPLOAD_LIMIT = 100_000_000
"""Bytes of an upload, unless something else is asked for."""


@dataclass
class Site:
    """Settings and shared objects of one application.

    Attributes:
        database: where runs are kept.
        place: the same, as for ``open_database``: what a job opens for itself.
        token: what a caller must know; None where everyone who can reach the server may use it.
        scorer: what ``POST /score`` asks; None while there is none.
        upload_limit: bytes of an upload at most.
        folder: where uploads lie while they are scored; made when the first comes.
        scoring: whether the application opens a scorer when it starts.
        embedders: names, for runs of uploads; none for the embedded model.
        backend: how models known by name are run.
        precision: in which arithmetic.
        hosts: the ``Host`` headers that are answered, in lower case; None for any.
        secret: what makes cookies and form tokens; of this process alone.
        throttle: limits how often an address can try tokens.
    """

    database: Database
    place: str | Path | None = None
    token: str | None = field(default=None, repr=False)
    scorer: Scorer | None = None
    upload_limit: int = UPLOAD_LIMIT
    folder: Path = Path("sgi-uploads")
    scoring: bool = False
    embedders: tuple[str, ...] = ()
    backend: str = "auto"
    precision: str = "auto"
    hosts: frozenset[str] | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    throttle: TokenThrottle = field(default_factory=TokenThrottle, repr=False)

    def without_place(self, text: str) -> str:
        """A message without the place of the database, which is nothing to callers of the API."""
        return text.replace(self.database.shown, "the database").replace("database the database", "database")


def site_of(request: Request) -> Site:
    """The site of the application."""
    return cast("Site", request.app.state.site)
