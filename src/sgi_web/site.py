"""Settings and shared objects of a server."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sgi_web.label_queue import LabelQueue
from sgi_web.token_throttle import TokenThrottle

if TYPE_CHECKING:
    from starlette.requests import Request

    from sgi.llm.spec import JudgeSpec
    from sgi.models.embedder.long_texts import LongTexts
    from sgi.service.scorer import Scorer
    from sgi.service.traces.receiver import TraceReceiver
    from sgi.store.database import Database
    from sgi.store.users import Role

UPLOAD_LIMIT = 100_000_000
"""Default limit of an upload, in bytes."""


@dataclass
class Site:
    """Settings and shared objects of one application.

    Attributes:
        place: the argument of ``open_database`` for the database; jobs open their own connection.
        token: a token that gives the role editor; None if there is none.
        reachable: whether others than the user of this machine can reach the server, so that it needs a login
            even without users.
        user_header: header in which the proxies name the user; None to accept no such header.
        proxies: addresses of the proxies that may send this header.
        default_role: role of users whom a proxy names and the database does not have; None to refuse them.
        scorer: scores the rows of ``POST /score``; None if this server does not score.
        upload_limit: maximum size of an upload in bytes.
        folder: temporary folder of uploads; created on first use.
        scoring: whether the application opens a scorer at startup.
        embedders: model names for uploads; empty for the embedded model.
        judge: the judge of uploads; None if they have none. Its key is read from the environment.
        judge_budget: maximum cost of this judge in US dollars, until the server stops; None for any.
        receiver: receives and scores traces; None if this server does not. The caller closes it.
        hosts: accepted ``Host`` headers in lower case; None for any.
        label_guide: what people who label answers should know; empty for the guide of `label.html`.
        trace_url: address of a trace in a tracing tool, with ``{trace_id}``; empty for none.
        secret: key of cookies and form tokens, new in each process.
    """

    database: Database
    place: str | Path | None = None
    token: str | None = field(default=None, repr=False)
    reachable: bool = False
    user_header: str | None = None
    proxies: frozenset[str] = frozenset()
    default_role: Role | None = None
    scorer: Scorer | None = None
    upload_limit: int = UPLOAD_LIMIT
    folder: Path = Path("sgi-uploads")
    scoring: bool = False
    embedders: tuple[str, ...] = ()
    long_texts: LongTexts = "windows"
    judge: JudgeSpec | None = None
    judge_budget: float | None = None
    receiver: TraceReceiver | None = None
    hosts: frozenset[str] | None = None
    label_guide: str = ""
    trace_url: str = ""
    label_queue: LabelQueue = field(default_factory=LabelQueue, repr=False)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    throttle: TokenThrottle = field(default_factory=TokenThrottle, repr=False)

    @property
    def needs_login(self) -> bool:
        """Whether every request needs a user, also while the database has no users."""
        return self.reachable or self.token is not None or self.user_header is not None

    def sign(self, purpose: str, text: str) -> str:
        """Return an HMAC of the text under the secret of this process."""
        return hmac.new(self.secret, f"{purpose}:{text}".encode(), sha256).hexdigest()

    def without_place(self, text: str) -> str:
        """Remove the location of the database from a message to API callers."""
        return text.replace(self.database.shown, "the database").replace("database the database", "database")


def site_of(request: Request) -> Site:
    """Return the site of the application."""
    return cast("Site", request.app.state.site)
