"""Settings and shared objects of a server."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sgi.web.token_throttle import TokenThrottle

if TYPE_CHECKING:
    from starlette.requests import Request

    from sgi.llm.spec import JudgeSpec
    from sgi.models.embedder.long_texts import LongTexts
    from sgi.service.scorer import Scorer
    from sgi.service.traces.receiver import TraceReceiver
    from sgi.store.database import Database

UPLOAD_LIMIT = 100_000_000
"""Default limit of an upload, in bytes."""


@dataclass
class Site:
    """Settings and shared objects of one application.

    Attributes:
        place: the argument of ``open_database`` for the database; jobs open their own connection.
        token: the required token; None if everyone who can reach the server may use it.
        scorer: scores the rows of ``POST /score``; None if this server does not score.
        upload_limit: maximum size of an upload in bytes.
        folder: temporary folder of uploads; created on first use.
        scoring: whether the application opens a scorer at startup.
        embedders: model names for uploads; empty for the embedded model.
        judge: the judge of uploads; None if they have none. Its key is read from the environment.
        judge_budget: maximum cost of this judge in US dollars, until the server stops; None for any.
        receiver: receives and scores traces; None if this server does not. The caller closes it.
        hosts: accepted ``Host`` headers in lower case; None for any.
        secret: key of cookies and form tokens, new in each process.
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
    long_texts: LongTexts = "windows"
    judge: JudgeSpec | None = None
    judge_budget: float | None = None
    receiver: TraceReceiver | None = None
    hosts: frozenset[str] | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    throttle: TokenThrottle = field(default_factory=TokenThrottle, repr=False)

    def without_place(self, text: str) -> str:
        """Remove the location of the database from a message to API callers."""
        return text.replace(self.database.shown, "the database").replace("database the database", "database")


def site_of(request: Request) -> Site:
    """Return the site of the application."""
    return cast("Site", request.app.state.site)
