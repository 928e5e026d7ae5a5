"""A fast client of OpenAI's chat completions."""

from __future__ import annotations

from codecs import BOM_UTF8
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies

import orjson
from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from httpx2 import AsyncBaseTransport, AsyncClient, Request, Response, create_ssl_context
from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AsyncAzureOpenAI,
    AsyncOpenAI,
    NotGiven,
    Omit,
)
from yarl import URL

from sgi.kernel.errors import JudgeMalformedError, JudgeRejectedError, UsageError
from sgi.kernel.tls import tls_context
from sgi.llm.calls import REDIRECTS, SUCCESS
from sgi.llm.envelope import NO_CHOICES, ErrorReplyError, NoChoicesError, read_completion

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from aiohttp import ClientResponse
    from openai.types.chat import ChatCompletion

    from sgi.kernel.environment import Service
    from sgi.llm.judge_spec import JudgeSpec

_ABSENT = (Omit, NotGiven, type(None))
_MAX_REPLY = 16 * 2**20
"""The maximum size of a decompressed completion in bytes."""
_MAX_ERROR_BODY = 65_536
"""The maximum size of a decompressed error body in bytes."""
_MAX_BYTES_BODY = 2**20
"""The size in bytes from which aiohttp expects the body of a request as a file."""
_TRANSFER_HEADERS = {b"content-encoding", b"content-length", b"transfer-encoding"}


class Completions:
    """Fast replacement for the completions resource of the OpenAI client.

    With 64 concurrent calls of 200 ms on 2 busy cores, a call takes 0.70 ms of processor time with this
    class, 2.70 ms with ``DefaultAioHttpClient`` and 4.01 ms with the default HTTP client of `openai`. The
    calls per second are 0.70, 0.31 and 0.18 of the ideal (medians of five alternating rounds).
    """

    def __init__(self, service: Service, url: URL, session: ClientSession) -> None:
        self._url = url
        self._session = session
        azure = service.kind == "azure"
        key = {"api-key": service.key} if azure else {"authorization": f"Bearer {service.key}"}
        self._headers = {**key, "content-type": "application/json"}
        self._request = Request("POST", str(url))  # for errors: without key and texts

    async def create(
        self, *, extra_headers: Any = None, extra_body: Any = None, **options: Any
    ) -> ChatCompletion:
        """Send a request and return the completion.

        Raises:
            APIStatusError: the service answers with an error.
            APIConnectionError: the service cannot be reached or does not answer in time.
            ValueError: the reply is not a JSON object.
            JudgeMalformedError: the reply is too long.
            JudgeRejectedError: the service answers with a redirect.
        """
        data = request_body(options, extra_body)
        response, content = await self._send(data, {**(extra_headers or {}), **self._headers})
        if response.status in REDIRECTS:
            hint = "Redirects are not followed; give the URL of the service itself."
            raise JudgeRejectedError(
                f"The judge's service answered with a redirect ({response.status}).", hint=hint
            )
        if not _is_success(response):
            raise self._status_error(response, content)
        try:
            return read_completion(orjson.loads(content.removeprefix(BOM_UTF8)))
        except ErrorReplyError as error:
            raise self._error_of_reply(response, error) from None
        except NoChoicesError:
            copy = Response(response.status, request=self._request)
            raise APIStatusError(NO_CHOICES, response=copy, body=None) from None

    async def _send(self, content: bytes, headers: dict[str, str]) -> tuple[ClientResponse, bytes]:
        data = content if len(content) <= _MAX_BYTES_BODY else BytesIO(content)
        try:
            # Redirects aren't followed, so the key stays where it was sent.
            async with self._session.post(
                self._url, data=data, headers=headers, allow_redirects=False
            ) as response:
                read = _read_all if _is_success(response) else _read_start
                return response, await read(response)
        except TimeoutError:
            raise APITimeoutError(request=self._request) from None
        except (ClientError, OSError) as error:
            raise APIConnectionError(message=type(error).__name__, request=self._request) from None

    def _error_of_reply(self, response: ClientResponse, error: ErrorReplyError) -> APIStatusError:
        headers = _body_headers(response)
        if error.retry_after is not None and "retry-after" not in response.headers:
            headers.append((b"retry-after", f"{error.retry_after:g}".encode()))
        copy = Response(error.status, headers=headers, request=self._request)
        return APIStatusError(f"status {error.status}", response=copy, body=error.error)

    def _status_error(self, response: ClientResponse, content: bytes) -> APIStatusError:
        headers = _body_headers(response)
        copy = Response(response.status, headers=headers, content=content, request=self._request)
        try:
            body = copy.json()
        except ValueError:
            body = copy.text
        inner = body.get("error", body) if isinstance(body, dict) else body
        return APIStatusError(f"status {response.status}", response=copy, body=inner)


def request_body(options: Mapping[str, object], extra_body: Mapping[str, object] | None) -> bytes:
    """Return the JSON of a request with these options of ``completions.create``."""
    body = {**options, **(extra_body or {})}  # None in extra_body removes a parameter
    body.pop("timeout", None)  # the session has it
    return orjson.dumps({name: value for name, value in body.items() if not isinstance(value, _ABSENT)})


def _body_headers(response: ClientResponse) -> list[tuple[bytes, bytes]]:
    """Return the headers of a decoded body, without the headers about the transfer encoding."""
    return [(name, value) for name, value in response.raw_headers if name.lower() not in _TRANSFER_HEADERS]


def _is_success(response: ClientResponse) -> bool:
    return response.status in SUCCESS


async def _read_all(response: ClientResponse) -> bytes:
    read = bytearray()
    while part := await response.content.readany():
        read += part
        if len(read) > _MAX_REPLY:
            message = (
                f"The judge's service sent more than {_MAX_REPLY:,} bytes, too many for a chat completion."
            )
            raise JudgeMalformedError(message, hint="Check the judge's URL.")
    return bytes(read)


async def _read_start(response: ClientResponse) -> bytes:
    """Return the start of the body of an error; a broken connection does not hide the status."""
    read = bytearray()
    with suppress(ClientError, OSError):
        while len(read) < _MAX_ERROR_BODY and (part := await response.content.readany()):
            read += part
    return bytes(read[:_MAX_ERROR_BODY])


@asynccontextmanager
async def openai_client(service: Service, spec: JudgeSpec) -> AsyncIterator[AsyncOpenAI]:
    """Context manager that opens a client without retries; the first request opens a connection."""
    url = URL(_address(service, spec.name_parts.name))
    # With trust_env the session would send passwords of ~/.netrc.
    async with (
        ClientSession(
            connector=TCPConnector(limit=spec.concurrency, ssl=tls_context(create_ssl_context)),
            timeout=ClientTimeout(total=spec.timeout),
            cookie_jar=DummyCookieJar(),
            proxy=proxy_of(url),
        ) as session,
        AsyncClient(transport=AsyncBaseTransport()) as disabled,  # other resources of the client cannot send
    ):
        client = _client(service, disabled)
        vars(client.chat)["completions"] = Completions(service, url, session)
        yield client


def _client(service: Service, http: AsyncClient) -> AsyncOpenAI:
    if service.kind == "azure":
        version = service.api_version
        return AsyncAzureOpenAI(
            api_key=service.key, azure_endpoint=service.url, api_version=version, http_client=http
        )
    return AsyncOpenAI(api_key=service.key, base_url=service.url, http_client=http)


def _address(service: Service, model: str) -> str:
    if service.kind != "azure":
        return f"{service.url}/chat/completions"
    version = quote(service.api_version, safe="")
    deployment = f"{service.url}/openai/deployments/{quote(model, safe='')}"
    return f"{deployment}/chat/completions?api-version={version}"


def proxy_of(url: URL) -> URL | None:
    """Return the HTTP proxy that the environment sets for a URL, by the rules of httpx, or None.

    The variable is ``HTTP_PROXY`` or ``HTTPS_PROXY``, depending on the scheme of the URL; if it is not set,
    ``ALL_PROXY``. An entry of ``NO_PROXY`` disables the proxy: ``*``, a host (with its subdomains), ``.host``
    (only subdomains), an IP address or a network such as ``10.0.0.0/8``; a host may have a port. Raises a
    UsageError if the proxy is not an HTTP proxy.
    """
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or any(_matches(entry.strip(), url) for entry in proxies.get("no", "").split(",")):
        return None
    try:
        address = URL(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:
        address = URL()
    if address.scheme not in ("http", "https") or not address.host:
        hint = "Write HTTP_PROXY, HTTPS_PROXY and ALL_PROXY as http://host:port, or add the host to NO_PROXY."
        raise UsageError(
            "Judges support only HTTP proxies; the environment sets a proxy of another kind.",
            hint=hint,
        )
    return address


def _matches(entry: str, url: URL) -> bool:
    scheme, _, place = entry.lower().rpartition("://")
    if not place or scheme not in ("", "all", url.scheme):
        return False
    host = url.raw_host or ""
    try:
        return ip_address(host) in ip_network(place.strip("[]"), strict=False)
    except ValueError:
        return place == "*" or _names(place, host, url.port, only=bool(scheme))


def _names(place: str, host: str, port: int | None, *, only: bool) -> bool:
    """Return whether an entry (a host, maybe with a port) is this host, or a domain that contains it."""
    try:
        parts = urlsplit(f"//{place}")
        name, entry_port = parts.hostname or "", parts.port
    except ValueError:  # an invalid entry matches nothing
        return False
    below = name.removeprefix("*") if name.startswith(("*.", ".")) else f".{name}"
    itself = name == host
    above = host.endswith(below) and not (only and not name.startswith("*."))
    return (itself or (above and name != "localhost")) and entry_port in (None, port)
