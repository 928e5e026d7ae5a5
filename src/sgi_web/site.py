"""Settings and shared objects of a server, and the URLs of its pages."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import IPv4Address, ip_address, ip_network
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote_to_bytes, urlencode

from starlette.convertors import PathConvertor, register_url_convertor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from sgi.llm.judge_spec import JudgeSpec
    from sgi.service.guard import Guard
    from sgi.service.scorer import Scorer
    from sgi.store.database import Database
    from sgi_quiz.review_file import Review
    from sgi_traces.live.receiver import TraceReceiver

_SAMPLES = b"/samples/"
_ENCODED = "%:"
"""Begins the value of a field that is encoded."""
_CHANGED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_STEPS = frozenset({"", ".", ".."})
"""Segments that browsers resolve as relative steps, even if they are escaped."""


class _AnyPath(PathConvertor):
    """Path parameter with any characters, including line breaks."""

    regex = r"[\s\S]+"


register_url_convertor("anything", _AnyPath())


def segment(text: str) -> str:
    """Encode a text as one path segment, or as the value of a field that `unescaped` reads."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def unescaped(text: str | bytes) -> str:
    r"""Decode a text that `segment` encoded.

    HTML replaces some control characters, and browsers change line breaks in the values of fields.

    >>> unescaped(segment("a\x01\r\n%"))
    'a\x01\r\n%'
    """
    try:
        return unquote_to_bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return unquote_to_bytes(text).decode("utf-8", "replace")


def field_text(text: str) -> str:
    r"""Return the value of a form's field for a name, encoded as in a URL if HTML would change it.

    >>> field_text("50% of a"), field_text("a\rb"), field_text("%:a")
    ('50% of a', '%:a%0Db', '%:%25%3Aa')
    """
    is_changed = text.startswith(_ENCODED) or _CHANGED.search(text) is not None
    return f"{_ENCODED}{segment(text)}" if is_changed else text


def from_field(text: str) -> str:
    r"""Decode a value of a form that `field_text` encoded, and return the name.

    >>> [from_field(field_text(name)) for name in ("50% of a", "a\rb", "%:a", "a%0Db")]
    ['50% of a', 'a\rb', '%:a', 'a%0Db']
    """
    return unescaped(text.removeprefix(_ENCODED)) if text.startswith(_ENCODED) else text


def run_path(run: str, *further: str) -> str:
    """Return the path of the page of a run, or of a page below it."""
    return "/".join(("/runs", segment(run), *further))


def sample_path(run: str, sample_id: str) -> str:
    """Return the path of the page of a sample.

    >>> sample_path("r", "q/1"), sample_path("r", "..")
    ('/runs/r/samples/q%2F1', '/runs/r/samples?id=..')
    """
    if sample_id in _STEPS:
        return f"{run_path(run, 'samples')}?{urlencode({'id': sample_id})}"
    return run_path(run, "samples", segment(sample_id))


def requested_sample(request: Request) -> str:
    """Return the sample id of the request, even if it is not valid Unicode."""
    if "id" in request.query_params:
        return request.query_params["id"]
    _, _, escaped = bytes(request.scope["raw_path"]).partition(_SAMPLES)
    return unescaped(escaped)


def with_query(path: str, values: Mapping[str, object]) -> str:
    """Add query parameters to a path; empty parameters are left out, and a list repeats its parameter.

    >>> with_query("/leaderboard", {"run": ["a", "b"], "by": None, "page": 2})
    '/leaderboard?run=a&run=b&page=2'
    """
    parameters = {
        name: value if isinstance(value, list) else str(value)
        for name, value in values.items()
        if value is not None and value != ""
    }
    text = urlencode(parameters, doseq=True, errors="replace")
    return f"{path}{'&' if '?' in path else '?'}{text}" if text else path


def trace_address(template: str, metadata: Mapping[str, object]) -> str:
    """Return the address of the trace of a row in a tracing tool; empty without a template or a trace.

    >>> trace_address("https://traces.example.org/{trace_id}", {"trace_id": "a/b"})
    'https://traces.example.org/a%2Fb'
    """
    trace = metadata.get("trace_id")
    return template.replace("{trace_id}", segment(trace)) if isinstance(trace, str) and trace else ""


def local(path: str) -> str:
    r"""Return the path if it is on this site, otherwise ``/``; this prevents open redirects.

    >>> local("/runs/r?page=2"), local("//evil.example"), local("/\\evil.example"), local("https://evil.example")
    ('/runs/r?page=2', '/', '/', '/')
    """
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_ours else "/"


FREE_TRIES = 5
"""Number of wrong tokens before the first delay."""
MAX_SECONDS = 300.0
MAX_ADDRESSES = 10_000
_MAX_DOUBLINGS = 16
_NETWORK_BITS = 64


class TokenThrottle:
    """Delays an address by 1, 2, 4 … 300 s after 5 wrong tokens; during a delay no token is checked.

    A delay also refuses the right token, so that the response reveals nothing. A right token after the delay
    resets the count. One IPv6 network (/64) counts as one address. Memory is bounded: the least recently seen
    of more than 10,000 addresses is dropped.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}
        self._lock = Lock()

    def seconds_left(self, address: str) -> float:
        """Return the seconds until tokens of this address are checked again; 0 if they are checked now."""
        _, until = self._wrong.get(_network(address), (0, 0.0))
        return max(0.0, until - self._clock())

    def count_wrong(self, address: str) -> None:
        """Count a wrong token."""
        key = _network(address)
        with self._lock:
            count = self._wrong.pop(key, (0, 0.0))[0] + 1
            doublings = min(count - FREE_TRIES - 1, _MAX_DOUBLINGS)
            delay = 0.0 if doublings < 0 else min(2.0**doublings, MAX_SECONDS)
            self._wrong[key] = count, self._clock() + delay
            if len(self._wrong) > MAX_ADDRESSES:
                del self._wrong[next(iter(self._wrong))]

    def forget(self, address: str) -> None:
        """Reset the count of an address after a right token."""
        with self._lock:
            self._wrong.pop(_network(address), None)


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
        guard: decides on the answers of ``POST /guard``; None if this server has none.
        hosts: accepted ``Host`` headers in lower case; None for any.
        label_guide: what people who label answers should know; empty for the guide of `label.html`.
        quiz: the review of a quiz; None if this server has none.
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
    guard: Guard | None = None
    hosts: frozenset[str] | None = None
    label_guide: str = ""
    quiz: Review | None = None
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


def _network(address: str) -> str:
    """Return the IPv4 address, or the IPv6 network (/64), because one caller can use all its addresses."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv4Address):
        return address
    return str(ip.ipv4_mapped or ip_network((int(ip), _NETWORK_BITS), strict=False))
