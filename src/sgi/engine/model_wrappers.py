"""Wrappers for the embedders and judges that a caller supplies."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.from_thread
import numpy as np
from pydantic import ValidationError

from sgi.kernel.errors import BudgetExceededError, EmbedderError, JudgeError, JudgeMalformedError
from sgi.kernel.prompts import ReplyModel
from sgi.kernel.protocols import Embeddings, TruncatingEmbedder, embedder_name, usage_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Embedder, Judge, Usage

T = TypeVar("T", bound=ReplyModel)


class EmbedderWrapper:
    """Wraps an embedder, and turns any exception into an EmbedderError.

    The message names only the type and the HTTP status, since a client's message may contain a key; the
    original exception is in ``__cause__``. Errors of this package pass unchanged.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.fingerprint = embedder.fingerprint
        self._call: Callable[[list[str]], Any] = (
            embedder.encode if isinstance(embedder, TruncatingEmbedder) else embedder.embed
        )
        self._array: Callable[[Any], Any] = np.asarray

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the embedder's vectors, one row for each text."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return the embedder's vectors, one row for each text, and the truncated texts."""
        try:
            rows = self._call(list(texts))
            if inspect.isawaitable(rows):
                rows = self._wait_for(rows)
            if isinstance(rows, Embeddings):
                return rows
            return Embeddings(self._array(rows), np.zeros(len(texts), dtype=np.bool_))
        except EmbedderError:
            raise
        except Exception as error:
            status = getattr(error, "status_code", None)
            shown = f" ({status})" if type(status) is int else ""
            message = f"{embedder_name(self)} raised {type(error).__name__}{shown}."
            hint = "Its message is not shown, since it may contain a key; call the embedder to see it."
            raise EmbedderError(message, hint=hint) from error

    def _wait_for(self, rows: Awaitable[Any]) -> Any:
        return anyio.from_thread.run(await_value, rows)


async def await_value(awaitable: Awaitable[Any]) -> Any:
    """Return the value of an awaitable."""
    return await awaitable


class JudgeWrapper:
    """Base of a judge that wraps another judge; a subclass defines ``ask``."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.fingerprint = judge.fingerprint
        self.budget = judge.budget

    @property
    def usage(self) -> Usage:
        """The usage of the wrapped judge."""
        return usage_of(self._judge)


class BudgetAsFailure(JudgeWrapper):
    """A judge whose exhausted budget gives failed scores, so that the application keeps running."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return the reply of the judge; raises JudgeError once the budget is exhausted."""
        try:
            return await self._judge.ask(inquiry, schema)
        except BudgetExceededError as error:
            raise JudgeError(error.message, hint=error.hint) from error


class RepeatJudge(JudgeWrapper):
    """A judge for one of several judgements of an answer; each number of ``repeat`` gets its own replies."""

    def __init__(self, judge: Judge, repeat: int) -> None:
        super().__init__(judge)
        self._repeat = repeat

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return the reply of the judge to this repeat of the inquiry."""
        return await self._judge.ask(replace(inquiry, repeat=self._repeat), schema)


class ValidatingJudge(JudgeWrapper):
    """Validates the replies of a judge that the caller supplies, as for any other judge."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return the judge's reply; raises JudgeMalformedError if it is not valid."""
        try:
            reply: object = await self._judge.ask(inquiry, schema)
        except ValidationError as errors:
            raise _invalid_reply(errors) from None
        if not isinstance(reply, schema):
            raise JudgeMalformedError(
                f"The judge returned a {type(reply).__name__}, not a {schema.__name__}."
            )
        text = reply.model_dump_json()
        try:
            return schema.model_validate_json(text, strict=True, context=inquiry.context)
        except ValidationError as errors:
            raise _invalid_reply(errors, text) from None


def _invalid_reply(errors: ValidationError, text: str = "") -> JudgeMalformedError:
    first = errors.errors(include_url=False, include_context=False, include_input=False)[0]
    problem = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    problem = problem.replace("Value error, ", "", 1)
    return JudgeMalformedError(f"The judge's reply does not match the schema: {problem}.", text=text)
