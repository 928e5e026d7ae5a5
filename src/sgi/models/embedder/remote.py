"""Remote embedders: OpenAI, Azure OpenAI, or any server with the same embeddings API."""

from __future__ import annotations

import base64
import re
from functools import partial
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from sgi.kernel.errors import DimensionError, EmbedderError, MissingExtraError, UsageError
from sgi.kernel.protocols import Embeddings
from sgi.kernel.vectors import unit_rows
from sgi.models.batching import current_work, distinct
from sgi.models.embedder.remote_service import Service, deployment_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from openai import APIStatusError

_MAX_TEXTS = 2048
_REDIRECTS = range(300, 400)
_MAX_BYTES = 250_000
"""The maximum bytes of a request: a service allows 300,000 tokens, and a token has at least one byte."""
_MAX_QUOTED = 60
_MAX_SIZES = 5
_SHORT_TEXT = "text"
"""Every embedding service accepts this text; it shows whether a service refuses one text or all requests."""


class _RequestError(EmbedderError):
    """The service refuses a request: a text is too long or filtered, or there are too many texts."""


class RemoteEmbedder:
    """Computes unit vectors with a remote model.

    Each distinct text is sent once, in sequential requests of at most 2,048 texts and 250,000 bytes. Requests
    are repeated after rate limits, server errors and broken connections. A service refuses texts that are too
    long for its model, so this class truncates nothing.

    Args:
        service: the address and the key of the service.
        model: the name of the model or deployment.
        timeout: seconds without a received byte after which an attempt fails.
        deadline: seconds for a request with all its attempts.
        retries: the number of further attempts after the first.

    >>> service = Service("openai", "http://localhost:8080/v1", "a-secret", "OPENAI_API_KEY")
    >>> RemoteEmbedder(service, "bge-m3").fingerprint
    'openai:bge-m3@localhost:8080,remote'
    """

    texts_per_write = 512
    """A `CachedEmbedder` stores the vectors of this many texts before it requests more."""

    def __init__(
        self,
        service: Service,
        model: str,
        *,
        timeout: float = 60.0,
        deadline: float = 300.0,
        retries: int = 4,
    ) -> None:
        if find_spec("openai") is None:
            raise MissingExtraError("A remote embedder", "openai")
        self.service = service
        self.model = model
        # Percent-encoding hides the characters that separate parts of a fingerprint.
        self.name = f"{service.kind}:{quote(model, safe='/:')}"
        self.fingerprint = f"{self.name}@{service.address},remote"
        self.timeout = timeout
        self.deadline = deadline
        self.retries = retries
        self._dimension = 0

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the vectors of `encode`; raise NonFiniteVectorError if the service refuses some texts."""
        return unit_rows(self.name, texts, self.encode(texts).rows)

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return the unit vectors; zeros for a text that the service refuses, for example for its length.

        Raises an EmbedderError if a text is blank or not Unicode, or the service fails or refuses every text;
        a DimensionError, which is also a ValueError, if its vectors have different dimensions.
        """
        unique, positions = distinct(texts)
        _check_texts(unique)
        work = current_work()
        parts = []
        for part in _requests(unique):
            parts.append(self._request(part))
            work.add(len(part))
        rows = np.concatenate([np.zeros((0, self._dimension), dtype=np.float32), *parts])
        return Embeddings(rows[positions], np.zeros(len(texts), dtype=np.bool_))

    def _request(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the unit vectors of the texts of one request; zeros for a text that the service refuses.

        A refused request is split in halves until each refused text is alone in a request. For k refused
        texts of n this takes at most 2k·⌈log₂ n⌉ + 2 requests.
        """
        try:
            rows = self._vectors(texts)
        except _RequestError as refusal:
            self._require_working(refusal)
            if len(texts) == 1:
                return np.zeros((1, self._dimension), dtype=np.float32)
            half = len(texts) // 2
            return np.concatenate([self._request(texts[:half]), self._request(texts[half:])])
        return unit_rows(self.name, texts, rows)

    def _require_working(self, refusal: _RequestError) -> None:
        """Raise an EmbedderError if the service refuses every text: the fault is then not in one text.

        If the service has not accepted a text yet, this sends one short text to find out.
        """
        if self._dimension:
            return
        try:
            self._vectors([_SHORT_TEXT])
        except _RequestError:
            message = f"{refusal.message.removesuffix('.')}, and it also refused the text {_SHORT_TEXT!r}."
            hint = "Check the model's name and whether it is an embedding model."
            raise EmbedderError(message, hint=hint) from None

    def _vectors(self, texts: list[str]) -> NDArray[np.floating]:
        body = self._post(texts)
        try:
            rows = _rows(body, len(texts))
        except ValueError as error:
            raise self._reply_error(str(error)) from None
        sizes = list(dict.fromkeys(map(len, rows)))
        if len(sizes) > 1:
            shown = " and ".join(map(str, sizes[:_MAX_SIZES]))
            raise self._reply_error(f"vectors of different dimensions: {shown}", DimensionError)
        if self._dimension not in (0, sizes[0]):
            what = f"vectors of {sizes[0]} dimensions after vectors of {self._dimension}"
            raise self._reply_error(what, DimensionError)
        self._dimension = sizes[0]
        return np.stack(rows)

    def _post(self, texts: list[str]) -> bytes:
        """Return the body of the reply; errors omit the client's errors, which may contain the key."""
        import openai
        from anyio.from_thread import start_blocking_portal

        from sgi.models.embedder.bounded_reply import ReplyRefusedError

        try:
            # A separate event loop in a separate thread also works if a loop already runs here.
            with start_blocking_portal() as portal:
                return portal.call(partial(self._send, texts))
        except openai.APIStatusError as error:
            problem = self._status_error(error, texts)
        except TimeoutError:
            problem = self._connection_error(f"did not answer within {self.deadline:g} s")
        except openai.APITimeoutError:
            problem = self._connection_error(f"sent nothing for {self.timeout:g} s, {self.retries + 1} times")
        except openai.OpenAIError as error:
            if isinstance(error.__cause__, ReplyRefusedError):
                problem = self._reply_error(str(error.__cause__))
            else:
                problem = self._connection_error("cannot be reached, or the connection was closed")
        raise problem

    async def _send(self, texts: list[str]) -> bytes:
        from anyio import fail_after

        async with self.service.client(self.timeout, self.retries) as client:
            with fail_after(self.deadline):
                raw = await client.embeddings.with_raw_response.create(model=self.model, input=texts)
                return bytes(raw.content)

    def _status_error(self, error: APIStatusError, texts: list[str]) -> EmbedderError:
        """Return the error for an HTTP status, without the service's message, which may contain the key."""
        status = error.status_code
        who = f"{self.name} at {self.service.address}"
        longest = max(map(len, texts))
        if status in (401, 403):
            message = f"{who} refused the key ({status})."
            return EmbedderError(message, hint=f"Check {self.service.key_name}.")
        if status == HTTPStatus.NOT_FOUND:
            what = "deployment" if self.service.kind == "azure" else "model"
            message = f"{self.service.address} has no {what} {self.model!r} (404)."
            return EmbedderError(message, hint=f"Check the {what}'s name and the URL.")
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            used_up = error.code == "insufficient_quota"
            why = "the account's quota is used up" if used_up else f"still after {self.retries} retries"
            return EmbedderError(f"{who} limits the rate of requests (429): {why}.", hint="Try again later.")
        if status in (400, 413, 422):
            what = "a text" if len(texts) == 1 else f"{len(texts)} texts, the longest"
            message = f"{who} refused {what} of {longest:,} characters ({status})."
            return _RequestError(message, hint="Shorten texts that exceed the model's token limit.")
        if status in _REDIRECTS:
            hint = "Redirects are not followed; give the URL of the service itself."
            return EmbedderError(f"{who} answered with a redirect ({status}).", hint=hint)
        return EmbedderError(f"{who} answered with an error ({status}).", hint="Try again later.")

    def _connection_error(self, what: str) -> EmbedderError:
        message = f"{self.name}: the service at {self.service.address} {what}."
        return EmbedderError(message, hint="Check the URL and the network, and whether the server runs.")

    def _reply_error(self, what: str, kind: type[EmbedderError] = EmbedderError) -> EmbedderError:
        message = f"{self.name}: the service at {self.service.address} sent {what}."
        return kind(message, hint="Check that the URL belongs to an embeddings API.")


def open_remote(name: str) -> RemoteEmbedder:
    """Open a remote embedder by name; it sends nothing before its first use.

    The name is ``openai:MODEL``, ``openai:MODEL@http://host:port/v1`` or ``azure:DEPLOYMENT``; ``azure:``
    alone uses AZURE_OPENAI_DEPLOYMENT_NAME.

    Raises:
        UsageError: the name has another form, or a variable is missing.
        MissingExtraError: the extra ``openai`` is not installed.
    """
    kind, _, rest = name.partition(":")
    if kind == "azure":
        return RemoteEmbedder(Service.of("azure"), deployment_name(rest))
    match = re.fullmatch(r"(.+?)(?:@(\w+://.*))?", rest)
    if kind != "openai" or match is None or "://" in match[1] or not match[1].strip():
        hint = "Write openai:MODEL, openai:MODEL@http://host:port/v1 or azure:DEPLOYMENT."
        raise UsageError("`name` is not the name of a remote model.", hint=hint)
    return RemoteEmbedder(Service.of("openai", match[2] or ""), match[1])


def _check_texts(texts: Sequence[str]) -> None:
    for text in texts:
        if not text.strip():
            raise EmbedderError("A blank text has no vector.", hint="Leave out blank texts.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            message = f"A text has a lone surrogate at character {error.start}: {text[:_MAX_QUOTED]!a}."
            raise EmbedderError(message, hint="A text must be valid Unicode.") from None


def _requests(texts: list[str]) -> Iterator[list[str]]:
    """Yield the texts of each request, in order; a text above the size limit is alone in its request."""
    part: list[str] = []
    left = _MAX_BYTES
    for text in texts:
        size = len(text.encode())
        if part and (size > left or len(part) == _MAX_TEXTS):
            yield part
            part, left = [], _MAX_BYTES
        part.append(text)
        left -= size
    if part:
        yield part


def _rows(body: bytes, n: int) -> list[NDArray[np.floating]]:
    """Return the vectors of a reply, ordered by index; raise a ValueError that describes an invalid reply."""
    import orjson

    try:
        answer = orjson.loads(body)
    except ValueError:
        raise ValueError("something other than JSON") from None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("JSON without a list of vectors")
    if len(data) != n:
        raise ValueError(f"{len(data)} vectors for {n} texts")
    by_index = {item.get("index"): item for item in data if type(item.get("index")) is int}
    if sorted(by_index) != list(range(n)):
        raise ValueError("vectors whose indices are not those of the texts")
    return [_row(by_index[index].get("embedding")) for index in range(n)]


def _row(value: object) -> NDArray[np.floating]:
    """Parse a vector: a list of numbers, or base64 of little-endian float32."""
    if isinstance(value, str):
        try:
            row = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        except ValueError:  # binascii's error is one
            raise ValueError("a vector that is not base64 of float32 numbers") from None
        return row
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        raise ValueError("a vector with values that are not numbers")
    return np.asarray(value, dtype=np.float64)
