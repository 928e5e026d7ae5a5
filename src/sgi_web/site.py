"""Settings and shared objects of a server."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sgi_web.token_throttle import TokenThrottle

if TYPE_CHECKING:
    from starlette.requests import Request

    from sgi.llm.judge_spec import JudgeSpec
    from sgi.service.scorer import Scorer
    from sgi.store.database import Database
    from sgi_traces.live.receiver import TraceReceiver


@dataclass
class Site:
    """Settings and shared objects of one application.

    Attributes:
        place: the argument of ``open_database`` for the database; jobs open their own connection.
        token: a token that may edit; None if there is none.
        view_token: a token that may only read; None if there is none.
        identity_header: header in which the proxies name who sends a request; None without such proxies.
        proxies: addresses of the proxies. With this header, only they may send requests.
        scorer: scores the rows of ``POST /score``; None if this server does not score.
        upload_limit: maximum size of an upload in bytes.
        folder: temporary folder of uploads; created on first use.
        scoring: whether the application opens a scorer at startup.
        models: the settings of the models: ``embedders`` and ``long_texts``.
        judge: the judge of uploads; None if they have none. Its key is read from the environment.
        judge_budget: maximum cost of this judge in US dollars, until the server stops; None for any.
        receiver: receives and scores traces; None if this server does not. The caller closes it.
        hosts: accepted ``Host`` headers in lower case; None for any.
        label_guide: what people who label answers should know; empty for the guide of `label.html`.
        trace_url: address of a trace in a tracing tool, with ``{trace_id}``; empty for none.
        secret: key of cookies and form keys, new in each process.
        ended_logins: the ids of sessions that were signed out, with the ends of their logins.
    """

    database: Database
    place: str | Path | None = None
    token: str | None = field(default=None, repr=False)
    view_token: str | None = field(default=None, repr=False)
    identity_header: str | None = None
    proxies: frozenset[str] = frozenset()
    scorer: Scorer | None = None
    upload_limit: int = 100_000_000
    folder: Path = Path("sgi-uploads")
    scoring: bool = False
    models: dict[str, Any] = field(default_factory=dict)
    judge: JudgeSpec | None = None
    judge_budget: float | None = None
    receiver: TraceReceiver | None = None
    hosts: frozenset[str] | None = None
    label_guide: str = ""
    trace_url: str = ""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    ended_logins: dict[str, int] = field(default_factory=dict, repr=False)
    throttle: TokenThrottle = field(default_factory=TokenThrottle, repr=False)

    @property
    def has_login(self) -> bool:
        """Whether every request needs a token."""
        return self.token is not None or self.view_token is not None

    def sign(self, purpose: str, text: str) -> str:
        """Return an HMAC of the text under the secret of this process."""
        return hmac.new(self.secret, f"{purpose}:{text}".encode(), sha256).hexdigest()

    def without_place(self, text: str) -> str:
        """Remove the location of the database from a message to API callers."""
        return text.replace(self.database.shown, "the database").replace("database the database", "database")


def site_of(request: Request) -> Site:
    """Return the site of the application."""
    return cast("Site", request.app.state.site)
