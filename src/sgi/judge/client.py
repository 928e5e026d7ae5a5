"""A client of OpenAI's chat completions that spends little time of its own on a request."""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
from httpx2 import (
    AsyncBaseTransport,
    AsyncClient,
    AsyncHTTPTransport,
    HTTPError,
    Limits,
    TimeoutException,
    create_ssl_context,
)
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

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from httpx2 import Request, Response

    from sgi.judge.service import Service
    from sgi.judge.spec import JudgeSpec

_CALLS_A_LANE = 4
_ABSENT = (Omit, NotGiven, type(None))


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


class Completions:
    """What the model layer calls, in place of the client's own resource.

    That one translates names, copies options, guesses types and counts retries on the way of every request,
    which takes as long as all the rest; here a request is sent as it is given.

    Args:
        service: where requests go, and the key.
        http: what sends them.
    """

    def __init__(self, service: Service, http: AsyncClient) -> None:
        self._service = service
        self._http = http
        azure = service.kind == "azure"
        key = {"api-key": service.key} if azure else {"authorization": f"Bearer {service.key}"}
        self._headers = {**key, "content-type": "application/json"}

    async def create(
        self, *, extra_headers: Any = None, extra_body: Any = None, **asked: Any
    ) -> ChatCompletion:
        """The completion.

        Raises:
            APIStatusError: the service answered with an error.
            APIConnectionError: it could not be reached, or broke off.
            ValueError: what it sent is no JSON object.
        """
        asked.pop("timeout", None)  # the client has it
        body = {name: value for name, value in asked.items() if not isinstance(value, _ABSENT)}
        content = orjson.dumps({**body, **(extra_body or {})})
        headers = {**(extra_headers or {}), **self._headers}
        request = self._http.build_request("POST", self._url(body["model"]), content=content, headers=headers)
        # The client's own words are not repeated: they may hold an address or a header.
        try:
            response = await self._http.send(request)
        except TimeoutException:
            raise APITimeoutError(request=request) from None
        except HTTPError as error:
            raise APIConnectionError(message=type(error).__name__, request=request) from None
        if not response.is_success:
            raise _status_error(response)
        return _completion(orjson.loads(response.content))

    def _url(self, model: str) -> str:
        if self._service.kind != "azure":
            return f"{self._service.url}/chat/completions"
        version = quote(self._service.api_version, safe="")
        deployment = f"{self._service.url}/openai/deployments/{quote(model, safe='')}"
        return f"{deployment}/chat/completions?api-version={version}"


def _status_error(response: Response) -> APIStatusError:
    try:
        body = response.json()
    except ValueError:
        body = response.text
    inner = body.get("error", body) if isinstance(body, dict) else body
    return APIStatusError(f"status {response.status_code}", response=response, body=inner)


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
    """The client; it neither repeats a request nor follows a redirect, so the key stays where it was sent."""
    # As a mount, since a client with a transport of its own would ignore the environment's proxies.
    lanes = Lanes(-(-spec.concurrency // _CALLS_A_LANE))
    async with AsyncClient(
        mounts={"all://": lanes}, timeout=spec.timeout, limits=Limits(max_connections=None)
    ) as http:
        client = _client(service, http)
        vars(client.chat)["completions"] = Completions(service, http)
        yield client


def _client(service: Service, http: AsyncClient) -> AsyncOpenAI:
    if service.kind == "azure":
        version = service.api_version
        return AsyncAzureOpenAI(
            api_key=service.key, azure_endpoint=service.url, api_version=version, http_client=http
        )
    return AsyncOpenAI(api_key=service.key, base_url=service.url, http_client=http)
