"""A client of OpenAI's chat completions that spends little time of its own on a request."""

from __future__ import annotations

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
from openai.types.chat import ChatCompletion
from pydantic import ValidationError
from yarl import URL

from sgi.kernel.errors import JudgeMalformedError, JudgeRejectedError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import ClientResponse

    from sgi.llm.service import Service
    from sgi.llm.spec import JudgeSpec

_ABSENT = (Omit, NotGiven, type(None))
_LONGEST_REPLY = 16 * 2**20
"""Bytes of a completion, unpacked."""
_MAX_ERROR_BODY = 65_536
"""Bytes that are read of an error's body, unpacked."""
_LONGEST_DIRECT = 2**20
"""Bytes of a request from where on aiohttp wants a file."""
_OF_THE_WIRE = {b"content-encoding", b"content-length", b"transfer-encoding"}


class Completions:
    """What the model layer calls, in place of the client's own resource.

    That one translates names, copies options, guesses types and counts retries on the way of every request,
    which takes as long as all the rest; here a request is sent as it is given.

    Args:
        service: where requests go, and the key.
        url: the whole address.
        session: what sends them.
    """

    def __init__(self, service: Service, url: URL, session: ClientSession) -> None:
        self._url = url
        self._session = session
        azure = service.kind == "azure"
        key = {"api-key": service.key} if azure else {"authorization": f"Bearer {service.key}"}
        self._headers = {**key, "content-type": "application/json"}
        self._told = Request("POST", str(url))  # what errors hold: the address, but neither key nor texts

    async def create(
        self, *, extra_headers: Any = None, extra_body: Any = None, **asked: Any
    ) -> ChatCompletion:
        """The completion.

        Raises:
            APIStatusError: the service answered with an error.
            APIConnectionError: it could not be reached, broke off or was silent for too long.
            ValueError: what it sent is no JSON object.
            JudgeMalformedError: its reply is longer than any completion.
            JudgeRejectedError: it redirects.
        """
        asked.pop("timeout", None)  # the session has it
        body = {name: value for name, value in asked.items() if not isinstance(value, _ABSENT)}
        content = orjson.dumps({**body, **(extra_body or {})})
        response, read = await self._sent(content, {**(extra_headers or {}), **self._headers})
        if 300 <= response.status < 400:  # noqa: PLR2004 - HTTP's numbers for redirects
            hint = "Redirects are not followed; give the URL of the service itself."
            raise JudgeRejectedError(
                f"The judge's service answered with a redirect ({response.status}).", hint=hint
            )
        if not _is_success(response):
            raise self._status_error(response, read)
        return _completion(orjson.loads(read))

    async def _sent(self, content: bytes, headers: dict[str, str]) -> tuple[ClientResponse, bytes]:
        """What comes back. The client's own words are not repeated: they may hold an address or a header."""
        data = content if len(content) <= _LONGEST_DIRECT else BytesIO(content)
        try:
            # Redirects aren't followed, so the key stays where it was sent.
            async with self._session.post(
                self._url, data=data, headers=headers, allow_redirects=False
            ) as response:
                read = _whole if _is_success(response) else _beginning
                return response, await read(response)
        except TimeoutError:
            raise APITimeoutError(request=self._told) from None
        except (ClientError, OSError) as error:
            raise APIConnectionError(message=type(error).__name__, request=self._told) from None

    def _status_error(self, response: ClientResponse, read: bytes) -> APIStatusError:
        headers = [(name, value) for name, value in response.raw_headers if name.lower() not in _OF_THE_WIRE]
        told = Response(response.status, headers=headers, content=read, request=self._told)
        try:
            body = told.json()
        except ValueError:
            body = told.text
        inner = body.get("error", body) if isinstance(body, dict) else body
        return APIStatusError(f"status {response.status}", response=told, body=inner)


def _is_success(response: ClientResponse) -> bool:
    return 200 <= response.status < 300  # noqa: PLR2004 - HTTP's numbers for success


async def _whole(response: ClientResponse) -> bytes:
    """All that comes, unpacked, up to a length that no reply has."""
    read = bytearray()
    while part := await response.content.readany():
        read += part
        if len(read) > _LONGEST_REPLY:
            message = (
                f"The judge's service sent more than {_LONGEST_REPLY:,} bytes, which is no chat completion."
            )
            raise JudgeMalformedError(message, hint="Check the judge's URL.")
    return bytes(read)


async def _beginning(response: ClientResponse) -> bytes:
    """The beginning of an error's body; what breaks off or stays silent does not hide the status."""
    read = bytearray()
    with suppress(ClientError, OSError):
        while len(read) < _MAX_ERROR_BODY and (part := await response.content.readany()):
            read += part
    return bytes(read[:_MAX_ERROR_BODY])


def _completion(body: Any) -> ChatCompletion:
    """The completion; where a field is missing that the caller may do without, as it came."""
    if not isinstance(body, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - told like what is no JSON at all
    try:
        return ChatCompletion.model_validate(body)
    except ValidationError:
        return ChatCompletion.construct(**body)


@asynccontextmanager
async def openai_client(service: Service, spec: JudgeSpec) -> AsyncIterator[AsyncOpenAI]:
    """The client; it repeats no request, and opens a connection when the first is made.

    Raises:
        UsageError: the environment names a proxy that cannot be used.
    """
    url = URL(_address(service, spec.named.name))
    # The session is not told to trust the environment: it would send passwords of ~/.netrc.
    async with (
        ClientSession(
            connector=TCPConnector(limit=spec.concurrency, ssl=create_ssl_context()),
            timeout=ClientTimeout(total=spec.timeout),
            cookie_jar=DummyCookieJar(),
            proxy=proxy_of(url),
        ) as session,
        AsyncClient(transport=AsyncBaseTransport()) as nothing,  # all else the client has cannot send
    ):
        client = _client(service, nothing)
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
    """The proxy that the environment names for an address, by the rules of httpx.

    ``HTTP_PROXY`` or ``HTTPS_PROXY`` by the address's scheme, else ``ALL_PROXY``; none where an entry of
    ``NO_PROXY`` covers the address: ``*``, a host with all below it, ``.host`` for those below it only, an IP
    address or a network as ``10.0.0.0/8``, each of the names also with a port.

    Raises:
        UsageError: this is no proxy of http or https.

    >>> proxy_of(URL("http://127.0.0.1:8080/v1")) is None
    True
    """
    named = getproxies()
    proxy = named.get(url.scheme) or named.get("all")
    if not proxy or any(_covers(entry.strip(), url) for entry in named.get("no", "").split(",")):
        return None
    try:
        found = URL(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:
        found = URL()
    if found.scheme not in ("http", "https") or not found.host:
        hint = "HTTP_PROXY, HTTPS_PROXY and ALL_PROXY take http://host:port; NO_PROXY names hosts to spare."
        raise UsageError("The environment names a proxy that a judge cannot use.", hint=hint)
    return found


def _covers(entry: str, url: URL) -> bool:
    """Whether an entry of ``NO_PROXY`` means this address."""
    scheme, _, place = entry.lower().rpartition("://")
    if not place or scheme not in ("", "all", url.scheme):
        return False
    host = url.raw_host or ""
    try:
        return ip_address(host) in ip_network(place.strip("[]"), strict=False)
    except ValueError:
        return place == "*" or _names(place, host, url.port, only=bool(scheme))


def _names(place: str, host: str, port: int | None, *, only: bool) -> bool:
    """Whether a host with or without a port is this one, or above it unless only itself is meant."""
    try:
        parts = urlsplit(f"//{place}")
        name, wanted = parts.hostname or "", parts.port
    except ValueError:  # an entry that cannot be read is none
        return False
    below = name.removeprefix("*") if name.startswith(("*.", ".")) else f".{name}"
    itself = name == host
    above = host.endswith(below) and not (only and not name.startswith("*."))
    return (itself or (above and name != "localhost")) and wanted in (None, port)
