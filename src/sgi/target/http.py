"""A service as target: questions are sent by POST as JSON, and answers are read from JSON."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as percent_encode
from urllib.parse import urljoin, urlsplit

from sgi.kernel.errors import MissingExtraError, TargetError, UsageError
from sgi.kernel.json_path import get_path, kind_of, set_path
from sgi.kernel.protocols import Reply
from sgi.kernel.short_text import quote
from sgi.target.environment import Environment
from sgi.target.errors import TransientError
from sgi.target.reply import encodable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from httpx2 import AsyncClient, Response
    from pydantic import JsonValue

    from sgi.target.spec import TargetSpec

MOST_BYTES = 10_000_000
"""A longer reply is refused."""
_MOST_BYTES_OF_AN_ERROR = 65_536
_ENCODINGS = ("identity", "gzip", "deflate")
_TRANSIENT = {408, 425, 429}
_HINTS = {
    400: "Check question_field and body.",
    401: "Check the header that lets you in.",
    403: "Check the header that lets you in.",
    404: "Check the URL.",
    405: "Check the URL: questions are sent by POST.",
    422: "Check question_field and body.",
}


class HttpTarget:
    """A service that answers questions.

    Args:
        spec: the paths of question, answer and passages.
        client: sends the requests; it has the headers.
        url: the address, with its secrets.
        body: the constant part of each request, with its secrets.
        secrets: texts that messages never show.
    """

    def __init__(
        self,
        spec: TargetSpec,
        client: AsyncClient,
        *,
        url: str,
        body: dict[str, JsonValue],
        secrets: Iterable[str],
    ) -> None:
        self.fingerprint = spec.fingerprint
        self._spec = spec
        self._client = client
        self._url = url
        self._body = body
        self._place = _place(url)
        forms = {form for secret in secrets for form in _forms(secret)}
        self._secrets = sorted(forms, key=len, reverse=True)

    async def answer(self, question: str, /) -> Reply:
        """Return the service's answer.

        Raises:
            TransientError: the service cannot be reached, closed the connection, or is busy (408, 425, 429,
                5xx).
            TargetError: it answered with another error, or with something without an answer.
        """
        import httpx2

        content = json.dumps(set_path(self._body, self._spec.question_field, question)).encode()
        broken = (httpx2.NetworkError, httpx2.TimeoutException, httpx2.RemoteProtocolError, httpx2.ProxyError)
        # The client's own words are not repeated: they may hold an address or a header.
        try:
            async with self._client.stream("POST", self._url, content=content) as response:
                if not response.is_success:
                    raise await self._refused(response)
                raw = await self._read(response)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            message = f"{self._place} cannot be reached."
            raise TransientError(message, hint="Check the URL, the network and whether it runs.") from None
        except broken as error:
            raise TransientError(f"{self._place} broke off ({type(error).__name__}).") from None
        except httpx2.HTTPError as error:
            raise TargetError(f"{self._place}: the request failed ({type(error).__name__}).") from None
        return self._reply(raw)

    async def _read(self, response: Response) -> bytes:
        self._check_encoding(response)
        raw = bytearray()
        async for chunk in response.aiter_bytes():
            raw += chunk
            if len(raw) > MOST_BYTES:
                raise TargetError(f"{self._place} sent more than {MOST_BYTES:,} bytes.")
        return bytes(raw)

    def _check_encoding(self, response: Response) -> None:
        """Refuse encodings with unlimited compression; 64 KB of gzip are at most 64 MB."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in _ENCODINGS:
            message = f"{self._place} sent a body with the encoding {quote(encoding)}."
            raise TargetError(message, hint=f"Supported are {', '.join(_ENCODINGS)}.")

    async def _refused(self, response: Response) -> TargetError:
        import httpx2

        status = response.status_code
        message = f"{self._place} answered {status}{_phrase(status)}"
        if response.has_redirect_location:
            elsewhere = self._shown(_elsewhere(self._url, response.headers["location"]))
            hint = "Redirects are not followed; give the URL they lead to."
            return TargetError(f"{message}: it redirects to {elsewhere}.", hint=hint)
        raw = bytearray()
        with suppress(httpx2.HTTPError, TargetError):  # a body that breaks off does not hide the status
            self._check_encoding(response)
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > _MOST_BYTES_OF_AN_ERROR:
                    break
        words = self._shown(raw.decode(errors="replace"))
        message += f": {words}" if words else "."
        if status in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return TransientError(message, retry_after=_seconds(response.headers.get("retry-after")))
        return TargetError(message, hint=_HINTS.get(status, ""))

    def _reply(self, raw: bytes) -> Reply:
        if not raw.strip():
            raise TargetError(f"{self._place} sent an empty body.", hint="Expected is JSON.")
        try:
            document = json.loads(raw)
        except (ValueError, RecursionError):
            words = self._shown(raw[:_MOST_BYTES_OF_AN_ERROR].decode(errors="replace"))
            raise TargetError(f"{self._place} sent no JSON: {words}", hint="Expected is JSON.") from None
        try:
            answer = get_path(document, self._spec.answer_field)
            if not isinstance(answer, str):
                raise LookupError(f"{self._spec.answer_field} is {kind_of(answer)}, not a text")  # noqa: TRY004, TRY301 - told below
            reply = Reply(answer, _passages(document, self._spec.contexts_field))
        except LookupError as error:
            problem = self._shown(str(error.args[0]))
            hint = "Set answer_field and contexts_field to where they stand."
            raise TargetError(f"{self._place} sent {problem}.", hint=hint) from None
        return encodable(self._place, reply)

    def _shown(self, words: str) -> str:
        """The start of the service's text; cleaning can complete a secret, so they are removed twice."""
        return self._redacted(quote(self._redacted(words)))

    def _redacted(self, words: str) -> str:
        for secret in self._secrets:
            words = words.replace(secret, "***")
        return words


def _passages(document: Any, path: str | None) -> tuple[str, ...] | None:
    """The passages of a reply; LookupError if they are not texts."""
    if path is None:
        return None
    wanted = path.removesuffix("?")
    first = wanted.partition(".")[0]
    if path != wanted and isinstance(document, dict) and document.get(first) is None:
        return None
    value: Any = get_path(document, wanted)
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise LookupError(f"{wanted} is {kind_of(value)}, not a list of texts")  # noqa: TRY004 - told like a missing one
    strangers = [index for index, passage in enumerate(value) if not isinstance(passage, str)]
    if strangers:
        raise LookupError(f"{wanted}: item {strangers[0]} is {kind_of(value[strangers[0]])}, not a text")
    return tuple(value)


def _place(url: str) -> str:
    """The URL without user, query and fragment, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _elsewhere(url: str, location: str) -> str:
    try:
        return _place(urljoin(url, location))
    except ValueError:
        return "what is no URL"


def _forms(secret: str) -> tuple[str, ...]:
    """A secret as a service may repeat it: plain, in a URL, in JSON."""
    return secret, percent_encode(secret, safe=""), percent_encode(secret), json.dumps(secret)[1:-1]


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _seconds(retry_after: str | None) -> float | None:
    """The seconds of a Retry-After header, a number or a date (RFC 9110, 10.2.3); None if invalid.

    >>> _seconds("2"), _seconds("Fri, 31 Dec 1999 23:59:59 GMT"), _seconds("soon")
    (2.0, 0.0, None)
    """
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            date = parsedate_to_datetime(retry_after)
        except (ValueError, OverflowError):
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if isfinite(seconds) else None


@asynccontextmanager
async def open_http(spec: TargetSpec) -> AsyncIterator[HttpTarget]:
    """Open the service of a spec with one HTTP client.

    The client follows no redirects and stores no cookies: questions are independent, and secrets stay with
    the service.

    Raises:
        MissingExtraError: the extra ``http`` is not installed.
        UsageError: the URL, the proxy or a variable in the spec cannot be used.
    """
    if find_spec("httpx2") is None:
        raise MissingExtraError("A target behind a URL", "http")
    environment = Environment()
    url = environment.expand(spec.where, partial(percent_encode, safe=""))
    body = {name: environment.expand_all(value) for name, value in spec.body.items()}
    headers = {name: _header(name, environment.expand(value)) for name, value in spec.headers.items()}
    secrets = {*environment.secrets, *filter(None, headers.values())}
    async with _client(url, headers) as client:
        yield HttpTarget(spec, client, url=url, body=body, secrets=secrets)


def _client(url: str, headers: dict[str, str]) -> AsyncClient:
    import httpx2

    common = httpx2.Headers(
        {"Accept": "application/json", "Accept-Encoding": "gzip, deflate", "Content-Type": "application/json"}
    )
    common.update(headers)
    try:
        httpx2.URL(url)
    except httpx2.InvalidURL:
        message = f"The URL {quote(_place(url))} is not valid."
        raise UsageError(message, hint="Check its host and its length.") from None
    try:
        return httpx2.AsyncClient(
            headers=common,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            timeout=None,  # LimitedTarget bounds the whole try
            limits=httpx2.Limits(max_connections=None),
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        message = f"No HTTP client can be made ({type(error).__name__})."
        raise UsageError(
            message, hint="Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
        ) from None


def _header(name: str, value: str) -> str:
    """Check the value of a header; the client's own error would show it."""
    if not (value.isascii() and value.isprintable()):
        raise UsageError(
            f"The variable in the header {name} holds characters no header has.",
            hint="Set it again, without line breaks.",
        )
    return value
