"""A client of OpenAI's chat completions that spends little time of its own on a request."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

from httpx2 import AsyncBaseTransport, AsyncClient, AsyncHTTPTransport, Limits, create_ssl_context
from openai import AsyncAzureOpenAI, AsyncOpenAI, NotGiven, Omit
from openai.types.chat import ChatCompletion

if TYPE_CHECKING:
    from httpx2 import Request, Response
    from openai._types import RequestOptions

    from sgi.judge.service import Service
    from sgi.judge.spec import JudgeSpec

_CALLS_A_LANE = 4
_ABSENT = (Omit, NotGiven, type(None))
_OPTIONS = {"extra_headers": "headers", "extra_body": "extra_json", "timeout": "timeout"}


class Lanes(AsyncBaseTransport):
    """Small pools of connections in turn: a pool looks at all it has whenever a request comes or goes."""

    def __init__(self, lanes: int) -> None:
        verify = create_ssl_context()
        limits = Limits(max_connections=None, max_keepalive_connections=2 * _CALLS_A_LANE)
        self._lanes = [AsyncHTTPTransport(verify=verify, limits=limits) for _ in range(lanes)]
        self._next = cycle(self._lanes)

    async def handle_async_request(self, request: Request) -> Response:
        """Send it by the next of the pools."""
        return await next(self._next).handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        for lane in self._lanes:
            await lane.aclose()


class _Completions:
    """Sends a request as it is given.

    The client's own method walks through every value, to translate names that Python writes differently; in
    what is sent here there are none.
    """

    def __init__(self, client: AsyncOpenAI) -> None:
        self._client = client

    async def create(self, **asked: Any) -> ChatCompletion:
        """The completion; arguments are those of the client's own method."""
        given = {name: value for name, value in asked.items() if not isinstance(value, _ABSENT)}
        options = {option: given.pop(name) for name, option in _OPTIONS.items() if name in given}
        return await self._client.post(
            "/chat/completions", body=given, cast_to=ChatCompletion, options=cast("RequestOptions", options)
        )


def openai_client(service: Service, spec: JudgeSpec) -> AsyncOpenAI:
    """The client; it neither repeats a request nor follows a redirect, so the key stays where it was sent."""
    # As a mount, since a client with a transport of its own would ignore the environment's proxies.
    lanes = Lanes(-(-spec.concurrency // _CALLS_A_LANE))
    http = AsyncClient(mounts={"all://": lanes}, timeout=spec.timeout, limits=Limits(max_connections=None))
    if service.kind == "azure":
        client: AsyncOpenAI = AsyncAzureOpenAI(
            api_key=service.key,
            azure_endpoint=service.url,
            api_version=service.api_version,
            http_client=http,
            timeout=spec.timeout,
            max_retries=0,
        )
    else:
        client = AsyncOpenAI(
            api_key=service.key,
            base_url=service.url,
            http_client=http,
            timeout=spec.timeout,
            max_retries=0,
        )
    client.chat.__dict__["completions"] = _Completions(client)
    return client
