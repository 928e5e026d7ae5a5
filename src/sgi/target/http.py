"""An HTTP service as target: sends questions by POST as JSON, and reads answers from JSON."""

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

from sgi.kernel.environment import MIN_IN_CONTENT, SecretMask
from sgi.kernel.errors import MissingExtraError, TargetError, UsageError
from sgi.kernel.protocols import Reply
from sgi.kernel.raw_values import get_path, kind_of, set_path
from sgi.kernel.short_text import quote
from sgi.kernel.tls import tls_context
from sgi.target.reply import costs_of, encodable, ranking_of
from sgi.target.target_limits import TransientError
from sgi.target.target_spec import Environment, names_a_secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from httpx2 import AsyncClient, Response
    from pydantic import JsonValue

    from sgi.kernel.sample_parts import Ranking
    from sgi.target.target_spec import TargetSpec

MAX_REPLY = 10_000_000
"""The maximum size of a reply in bytes."""
_MAX_ERROR_BODY = 65_536
"""The maximum number of bytes that are read from an error reply."""
_ENCODINGS = ("identity", "gzip", "deflate")
_TRANSIENT = {408, 425, 429}
_HINTS = {
    400: "Check question_field and body.",
    401: "Check the header with the credentials.",
    403: "Check the header with the credentials.",
    404: "Check the URL.",
    405: "Check the URL: questions are sent by POST.",
    422: "Check question_field and body.",
}


class HttpTarget:
    """An HTTP service that answers questions.

    Args:
        spec: the settings; they contain the JSON paths of question, answer and passages.
        client: the HTTP client, with the headers of the requests.
        url: the address, in which variables are replaced by their secret values.
        body: the constant part of each request, in which variables are replaced by their secret values.
        secrets: the values that messages must not contain.
        credentials: the secrets that answers and passages must not contain either. A variable such as the
            name of a collection is not a credential: a passage may contain it.
    """

    def __init__(
        self,
        spec: TargetSpec,
        client: AsyncClient,
        *,
        url: str,
        body: dict[str, JsonValue],
        secrets: Iterable[str],
        credentials: Iterable[str] = (),
    ) -> None:
        self.fingerprint = spec.fingerprint
        self._spec = spec
        self._client = client
        self._url = url
        self._body = body
        self._place = _place(url)
        self._redact = SecretMask(secrets)
        self._redact_content = SecretMask(credentials)

    async def answer(self, question: str, /) -> Reply:
        """Return the service's answer.

        Raises:
            TransientError: the service cannot be reached, closed the connection, or is busy (408, 425, 429,
                5xx).
            TargetError: the service sent another error, or a reply without an answer.
        """
        import httpx2

        content = json.dumps(set_path(self._body, self._spec.question_field, question)).encode()
        faults = (
            httpx2.NetworkError,
            httpx2.TimeoutException,
            httpx2.RemoteProtocolError,
            httpx2.ProxyError,
        )
        body = bytearray()
        # Messages do not quote the client's errors, which may contain an address or a header.
        try:
            async with self._client.stream("POST", self._url, content=content) as response:
                if not response.is_success:
                    raise await self._status_error(response)
                await self._read(response, body, MAX_REPLY)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            message = f"{self._place} cannot be reached."
            raise TransientError(
                message, hint="Check the URL and the network, and whether it runs."
            ) from None
        except faults as error:
            message = f"{self._place} closed the connection ({type(error).__name__})."
            raise TransientError(message) from None
        except httpx2.HTTPError as error:
            raise TargetError(f"{self._place}: the request failed ({type(error).__name__}).") from None
        if len(body) > MAX_REPLY:
            raise TargetError(f"{self._place} sent more than {MAX_REPLY:,} bytes.")
        return self._reply(bytes(body))

    async def _read(self, response: Response, body: bytearray, most: int) -> None:
        """Append the reply's bytes to ``body``, and stop when there are more than ``most``.

        Encodings with unlimited compression are refused; 64 KB of gzip expand to at most 64 MB.
        """
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in _ENCODINGS:
            message = f"{self._place} sent a body with the encoding {quote(encoding)}."
            raise TargetError(message, hint=f"The supported encodings are {', '.join(_ENCODINGS)}.")
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > most:
                break

    async def _status_error(self, response: Response) -> TargetError:
        import httpx2

        status = response.status_code
        phrase = httpx2.codes.get_reason_phrase(status)
        message = f"{self._place} answered {status}{f' ({phrase})' if phrase else ''}"
        if response.has_redirect_location:
            location = self._quote(_redirect_target(self._url, response.headers["location"]))
            hint = "Redirects are not followed; give the URL of the service itself."
            return TargetError(f"{message}: it redirects to {location}.", hint=hint)
        body = bytearray()
        with suppress(httpx2.HTTPError, TargetError):  # an incomplete body does not hide the status
            await self._read(response, body, _MAX_ERROR_BODY)
        words = self._quote(body.decode(errors="replace"))
        message += f": {words}" if words else "."
        if status in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return TransientError(message, retry_after=_seconds(response.headers.get("retry-after")))
        return TargetError(message, hint=_HINTS.get(status, ""))

    def _reply(self, raw: bytes) -> Reply:
        if not raw.strip():
            raise TargetError(f"{self._place} sent an empty body.", hint="The reply must be JSON.")
        try:
            document = json.loads(raw)
        except (ValueError, RecursionError):
            words = self._quote(raw[:_MAX_ERROR_BODY].decode(errors="replace"))
            raise TargetError(f"{self._place} sent invalid JSON: {words}") from None
        try:
            answer = get_path(document, self._spec.answer_field)
            if not isinstance(answer, str):
                raise LookupError(f"{self._spec.answer_field} is {kind_of(answer)}, not a text")  # noqa: TRY301 - handled like a missing one
            passages = _passages(document, self._spec.contexts_field)
        except LookupError as error:
            problem = self._quote(str(error.args[0]))
            hint = "Set answer_field and contexts_field to the JSON paths of the answer and the passages."
            raise TargetError(f"{self._place} sent {problem}.", hint=hint) from None
        usage = _optional(document, self._spec.usage_field)
        costs = costs_of(self._place, usage, _optional(document, self._spec.cost_field))
        shown = None if passages is None else tuple(map(self._redact_content, passages))
        ranking = self._ranking(document, shown)
        return encodable(self._place, Reply(self._redact_content(answer), shown, costs, ranking))

    def _ranking(self, document: object, passages: tuple[str, ...] | None) -> Ranking:
        try:
            ids = _value(document, self._spec.context_ids_field)
            scores = _value(document, self._spec.context_scores_field)
        except LookupError as error:
            problem = self._quote(str(error.args[0]))
            hint = "Set context_ids_field and context_scores_field to JSON paths; end an optional one with ?."
            raise TargetError(f"{self._place} sent {problem}.", hint=hint) from None
        if isinstance(ids, list):
            ids = [self._redact_content(name) if isinstance(name, str) else name for name in ids]
        try:
            return ranking_of(self._place, passages, ids, scores)
        except TargetError as error:
            sent = json.dumps([ids, scores])
            if self._redact(sent) == sent:
                raise
            message = f"{self._place} sent wrong ids or scores of passages, which contain a secret."
            raise TargetError(message, hint=error.hint) from None

    def _quote(self, text: str) -> str:
        """Return the start of a text from the service, cleaned; secrets are removed before and after."""
        return self._redact(quote(self._redact(text)))


def _passages(document: object, path: str | None) -> tuple[str, ...] | None:
    """Return the passages of a reply; None if it has none, LookupError if they are not texts."""
    value = _value(document, path)
    if path is None or (value is None and path.endswith("?")):
        return None
    if isinstance(value, str):
        return (value,)
    required = path.removesuffix("?")
    if not isinstance(value, list):
        raise LookupError(f"{required} is {kind_of(value)}, not a list of texts")
    for index, passage in enumerate(value):
        if not isinstance(passage, str):
            raise LookupError(f"{required}: item {index} is {kind_of(passage)}, not a text")
    return tuple(value)


def _value(document: Any, path: str | None) -> Any:
    """Return the value at a path; None without a path, or if the first name of ``name.…?`` is absent."""
    if path is None:
        return None
    required = path.removesuffix("?")
    if path != required and _optional(document, required.partition(".")[0]) is None:
        return None
    return get_path(document, required)


def _optional(document: object, path: str | None) -> object:
    """Return the value at a path; None if the reply has none."""
    with suppress(LookupError):
        return None if path is None else get_path(document, path)
    return None


def _place(url: str) -> str:
    """Return the URL without user, password, query and fragment, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _redirect_target(url: str, location: str) -> str:
    try:
        return _place(urljoin(url, location))
    except ValueError:
        return "an invalid URL"


def _seconds(retry_after: str | None) -> float | None:
    """Parse a Retry-After header, a number or a date (RFC 9110, 10.2.3); return seconds, None if invalid.

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
    """Context manager that opens the HTTP service of a spec with one HTTP client.

    The client stores no cookies, so questions are independent. It follows no redirects, so no other service
    gets the secrets.

    Raises:
        MissingExtraError: the extra ``http`` is not installed.
        UsageError: the URL or the proxy is invalid, or a variable in the spec is not set or invalid.
    """
    if find_spec("httpx2") is None:
        raise MissingExtraError("A target that is a URL", "http")
    environment = Environment()
    url = environment.expand(spec.where, partial(percent_encode, safe=""))
    body = {name: environment.expand_all(value) for name, value in spec.body.items()}
    headers = {name: _header(name, environment.expand(value)) for name, value in spec.headers.items()}
    named = [*environment.values.items(), *headers.items()]
    secrets = [value for _, value in named]
    credentials = [value for name, value in named if names_a_secret(name) and len(value) >= MIN_IN_CONTENT]
    async with _client(url, headers) as client:
        yield HttpTarget(spec, client, url=url, body=body, secrets=secrets, credentials=credentials)


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
            verify=tls_context(httpx2.create_ssl_context),
            headers=common,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            timeout=None,  # LimitedTarget bounds the whole try
            limits=httpx2.Limits(max_connections=None),
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        message = f"The HTTP client cannot be opened ({type(error).__name__})."
        hint = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
        raise UsageError(message, hint=hint) from None


def _header(name: str, value: str) -> str:
    """Return the value of a header; raise UsageError if it is invalid (the client's error would show it)."""
    if not (value.isascii() and value.isprintable()):
        message = f"The variable in the header {name} contains characters that are not allowed in a header."
        raise UsageError(message, hint="Set it again, without line breaks.")
    return value
