"""Vectors from a service: OpenAI, Azure OpenAI, or any server that speaks their embeddings API."""

from __future__ import annotations

import base64
import re
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from sgi.kernel.errors import EmbedderError, MissingExtraError, UsageError
from sgi.kernel.protocols import Embedded
from sgi.kernel.vectors import unit_rows
from sgi.kernel.work_counter import current_work
from sgi.models.batching import distinct
from sgi.models.embedder.service import Service, deployment_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from openai import APIStatusError

_TEXTS_A_REQUEST = 2048
_BYTES_A_REQUEST = 250_000
"""A request may hold 300,000 tokens, and no text has more tokens than bytes."""
_SHOWN = 60
_SHORT_TEXT = "text"
"""Every embedding service accepts it: shows whether a refusal is about one text or about all requests."""


class _RequestError(EmbedderError):
    """The service refuses a request: a text is too long or filtered, or the texts are too many."""


class RemoteEmbedder:
    """Unit rows from a remote model.

    Each distinct text is sent once, in requests of at most 2,048 texts and 250,000 bytes, one after the
    other. Rate limits, server errors and broken connections are tried again. A service refuses what is longer
    than its model reads, so nothing is cut here.

    Args:
        service: where the model is.
        model: the model's name there, or the deployment's.
        timeout: seconds a try may be silent.
        deadline: seconds a request may take, all its tries together.
        retries: further tries after the first.

    Raises:
        MissingExtraError: the extra ``openai`` is not installed.

    >>> service = Service("openai", "http://localhost:8080/v1", "a-secret", "OPENAI_API_KEY")
    >>> RemoteEmbedder(service, "bge-m3").fingerprint
    'openai:bge-m3@localhost:8080,remote'
    """

    texts_at_once = 512
    """So many texts are kept by a cache before more are paid for."""

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
        self.timeout = timeout
        self.deadline = deadline
        self.retries = retries
        self._dimension = 0

    @property
    def name(self) -> str:
        """Kind and model; characters that divide a fingerprint are percent-coded."""
        return f"{self.service.kind}:{quote(self.model, safe='/:')}"

    @property
    def fingerprint(self) -> str:
        """Name and place. What a service changes behind a name, nobody can see from here."""
        return f"{self.name}@{self.service.place},remote"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, d).

        Raises:
            EmbedderError: a text is blank or not Unicode, or the service fails or refuses every text.
            NonFiniteVectorError: the service refused some of the texts, which the error names.
        """
        return unit_rows(self.name, texts, self.encode(texts).rows)

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows; a text that the service refuses, as when it is too long, has a row of zeros.

        Nothing is cut here, so ``truncated`` is false throughout.

        Raises:
            EmbedderError: a text is blank or not Unicode, or the service fails or refuses every text.
        """
        unique, places = distinct(texts)
        _check_texts(unique)
        work = current_work()
        parts = []
        for part in _requests(unique):
            parts.append(self._request(part))
            work.add(len(part))
        rows = np.concatenate([np.zeros((0, self._dimension), dtype=np.float32), *parts])
        return Embedded(rows[places], np.zeros(len(texts), dtype=np.bool_))

    def _request(self, texts: list[str]) -> NDArray[np.float32]:
        """The unit rows of one request's texts; zeros for a text that the service refuses.

        A refused request is halved until the refused texts are alone. With k refused texts among n this takes
        at most 2k·⌈log₂ n⌉ + 2 requests.
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
        """Raise unless the service has embedded a text: else the request is at fault, not one of its texts.

        One short text is sent where nothing was accepted before, as when a cache holds all other texts.
        """
        if self._dimension:
            return
        try:
            self._vectors([_SHORT_TEXT])
        except _RequestError:
            message = f"{refusal.message.removesuffix('.')}, and likewise the text {_SHORT_TEXT!r}."
            hint = "Check the model's name and whether it is an embedding model."
            raise EmbedderError(message, hint=hint) from None

    def _vectors(self, texts: list[str]) -> NDArray[np.floating]:
        """One request: a row for each text, of the dimension that all rows have."""
        body = self._post(texts)
        try:
            rows = _rows(body, len(texts))
        except ValueError as error:
            raise self._malformed(str(error)) from None
        if self._dimension not in (0, rows.shape[1]):
            raise self._malformed(f"vectors of {rows.shape[1]} numbers after vectors of {self._dimension}")
        self._dimension = rows.shape[1]
        return rows

    def _post(self, texts: list[str]) -> bytes:
        """What the service answers; errors do not carry the client's, whose words may repeat the key."""
        import openai
        from anyio.from_thread import start_blocking_portal

        from sgi.models.bounded_reply import ReplyRefusedError

        try:
            # An event loop of its own, in a thread of its own: this also works where a loop already runs.
            with start_blocking_portal() as portal:
                return portal.call(partial(self._send, texts))
        except openai.APIStatusError as error:
            problem = self._refused(error, texts)
        except TimeoutError:
            problem = self._silent(f"gave no answer within {self.deadline:g} s")
        except openai.APITimeoutError:
            problem = self._silent(f"was silent for {self.timeout:g} s, {self.retries + 1} times")
        except openai.OpenAIError as error:
            if isinstance(error.__cause__, ReplyRefusedError):
                problem = self._malformed(str(error.__cause__))
            else:
                problem = self._silent("cannot be reached, or the connection broke off")
        raise problem

    async def _send(self, texts: list[str]) -> bytes:
        from anyio import fail_after

        async with self.service.client(self.timeout, self.retries) as client:
            with fail_after(self.deadline):
                raw = await client.embeddings.with_raw_response.create(model=self.model, input=texts)
                return bytes(raw.content)

    def _refused(self, error: APIStatusError, texts: list[str]) -> EmbedderError:
        """Why the service answered with an error, by its status; its own words may hold the key."""
        status = error.status_code
        who = f"{self.name} at {self.service.place}"
        longest = max(map(len, texts))
        if status in (401, 403):
            message = f"{who} refused the key ({status})."
            return EmbedderError(message, hint=f"Check {self.service.key_name}.")
        if status == 404:  # noqa: PLR2004 - HTTP's number for what isn't there
            what = "deployment" if self.service.kind == "azure" else "model"
            message = f"There is no {what} {self.model!r} at {self.service.place} (404)."
            return EmbedderError(message, hint=f"Check the {what}'s name and the URL.")
        if status == 429:  # noqa: PLR2004 - HTTP's number for too many requests
            used_up = error.code == "insufficient_quota"
            why = "the account's quota is used up" if used_up else f"still after {self.retries} retries"
            return EmbedderError(f"{who} limits the rate of requests (429): {why}.", hint="Try again later.")
        if status in (400, 413, 422):
            what = "a text" if len(texts) == 1 else f"{len(texts)} texts, the longest"
            message = f"{who} refused {what} of {longest:,} characters ({status})."
            return _RequestError(message, hint="Shorten what is longer than the model reads.")
        if 300 <= status < 400:  # noqa: PLR2004 - HTTP's numbers for redirects
            hint = "Redirects are not followed; give the URL of the service itself."
            return EmbedderError(f"{who} answered with a redirect ({status}).", hint=hint)
        return EmbedderError(f"{who} answered with an error ({status}).", hint="Try again later.")

    def _silent(self, what: str) -> EmbedderError:
        message = f"{self.name}: the service at {self.service.place} {what}."
        return EmbedderError(message, hint="Check the URL, the network and whether the server runs.")

    def _malformed(self, what: str) -> EmbedderError:
        message = f"{self.name}: the service at {self.service.place} sent {what}."
        return EmbedderError(message, hint="Check that the URL is that of an embeddings API.")


def open_remote(name: str) -> RemoteEmbedder:
    """A remote embedder by name; nothing is sent before it is used.

    Args:
        name: ``openai:MODEL``, ``openai:MODEL@http://host:port/v1`` or ``azure:DEPLOYMENT``; ``azure:`` alone
            is the deployment that AZURE_OPENAI_DEPLOYMENT_NAME names.

    Raises:
        UsageError: the name is of no such form, or a variable is missing.
        MissingExtraError: the extra ``openai`` is not installed.
    """
    kind, _, rest = name.partition(":")
    if kind == "azure":
        return RemoteEmbedder(Service.azure(), deployment_name(rest))
    found = re.fullmatch(r"(.+?)(?:@(\w+://.*))?", rest)
    if kind != "openai" or found is None or "://" in found[1] or not found[1].strip():
        hint = "Write openai:MODEL, openai:MODEL@http://host:port/v1 or azure:DEPLOYMENT."
        raise UsageError("That is no name of a remote model.", hint=hint)
    return RemoteEmbedder(Service.openai(found[2] or ""), found[1])


def _check_texts(texts: Sequence[str]) -> None:
    for text in texts:
        if not text.strip():
            raise EmbedderError("A blank text has no vector.", hint="Leave blank texts out.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            message = f"A text has a lone surrogate at character {error.start}: {text[:_SHOWN]!a}."
            raise EmbedderError(message, hint="Text must be valid Unicode.") from None


def _requests(texts: list[str]) -> Iterator[list[str]]:
    """The texts in order, as many to a request as it may hold; one that is too long alone.

    >>> [len(part) for part in _requests(["a" * 200_000, "b" * 50_000, "c"])]
    [2, 1]
    """
    part: list[str] = []
    room = _BYTES_A_REQUEST
    for text in texts:
        size = len(text.encode())
        if part and (size > room or len(part) == _TEXTS_A_REQUEST):
            yield part
            part, room = [], _BYTES_A_REQUEST
        part.append(text)
        room -= size
    if part:
        yield part


def _rows(body: bytes, n: int) -> NDArray[np.floating]:
    """The rows of an answer, in the order of its indices; ValueError says what else was sent."""
    import orjson

    try:
        answer = orjson.loads(body)
    except ValueError:
        raise ValueError("no JSON") from None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("JSON without a list of vectors")
    if len(data) != n:
        raise ValueError(f"{len(data)} vectors for {n} texts")
    by_index = {item.get("index"): item for item in data if type(item.get("index")) is int}
    if sorted(by_index) != list(range(n)):
        raise ValueError("vectors whose indices are not those of the texts")
    rows = [_row(by_index[index].get("embedding")) for index in range(n)]
    if len({len(row) for row in rows}) != 1:
        raise ValueError("vectors of different lengths")
    return np.stack(rows)


def _row(value: Any) -> NDArray[np.floating]:
    """A list of numbers, or base64 of little-endian float32."""
    if isinstance(value, str):
        try:
            row = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        except ValueError:  # binascii's error is one
            raise ValueError("a vector that is no base64 of numbers") from None
        return row
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        raise ValueError("a vector that is not made of numbers")
    return np.asarray(value, dtype=np.float64)
