"""Judge that sends inquiries to a chat model, validates and caches its replies, and requests one repair."""

from __future__ import annotations

import asyncio
import json
import re
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from sgi.kernel.errors import JudgeMalformedError, JudgeRefusedError, SgiError
from sgi.kernel.prompts import ReplyModel
from sgi.kernel.protocols import Usage
from sgi.llm.calls import (
    Call,
    GroupCommit,
    Message,
    Shape,
    UsageCounter,
    decode_completion,
    encode_completion,
)
from sgi.llm.parse_reply import InvalidReplyError, parse_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Chat, Completion


class CachedChat:
    """Chat model that sends each distinct call to another chat model only once, and caches the replies.

    The usage of a reply is stored before the reply, and the reply before it is returned: if the process is
    killed, every cached reply is counted and every used reply is cached. If an equal call is in flight, a
    call waits for its reply, and is sent itself if the first is cancelled. Invalid cached values are
    requested again and replaced. Keys are digests of the model's fingerprint and the call.
    """

    def __init__(self, chat: Chat, cache: Cache, counter: UsageCounter) -> None:
        self.fingerprint = chat.fingerprint
        self._chat = chat
        self._cache = cache
        self._counter = counter
        self._flights: dict[bytes, asyncio.Future[Completion | SgiError | None]] = {}
        self._unwritten: dict[bytes, bytes] = {}
        self._group = GroupCommit(self._write)

    async def complete(self, call: Call, /) -> Completion:
        """Return the cached reply, or request one from the model.

        Raises a JudgeError if the model returns no reply, a StoreError if the cache fails.
        """
        key = call.key(self.fingerprint)
        while flight := self._flights.get(key):
            outcome = await asyncio.shield(flight)
            if isinstance(outcome, SgiError):
                raise copy(outcome)
            if outcome is not None:
                self._counter.add(Usage(cached=1))
                return outcome
        cached = self._lookup(key)
        if cached is None:
            return await self._request(call, key)
        self._counter.add(Usage(cached=1))
        return cached

    def _lookup(self, key: bytes) -> Completion | None:
        value = self._cache.get_many([key]).get(key)
        try:
            return None if value is None else replace(decode_completion(value), cached=True)
        except ValueError:
            return None

    async def _request(self, call: Call, key: bytes) -> Completion:
        """Request and store a reply; pass the reply, the error, or None (cancelled) to waiting calls."""
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        outcome: Completion | SgiError | None = None
        try:
            completion = await self._chat.complete(call)
            self._unwritten[key] = encode_completion(completion)
            await self._group.commit()
        except SgiError as error:
            outcome = error
            raise
        else:
            outcome = completion
            return completion
        finally:
            del self._flights[key]
            flight.set_result(outcome)

    def _write(self) -> None:
        """Store the usage, then the replies, so that every stored reply is counted."""
        items, self._unwritten = self._unwritten, {}
        self._counter.save()
        self._cache.put_many(items)


T = TypeVar("T", bound=ReplyModel)


class ChatJudge:
    """Judge that uses a chat model.

    An invalid reply is sent back to the model once, with the reason (a repair request). If the second reply
    is also invalid, the inquiry fails. Missing fields are never filled in.

    Args:
        chat: the chat model.
        budget: the maximum number of tokens of passages in one inquiry.
        again: whether to request a new reply if all cached replies of an inquiry are invalid; or a function
            that decides this for the new request.
        counter: the usage counter of the wrappers around the model.
        batched: whether the model is asked in batches, so that many inquiries should be made at once.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        budget: int = 16000,
        again: bool | Callable[[Call], bool] = False,
        counter: UsageCounter | None = None,
        batched: bool = False,
    ) -> None:
        self.fingerprint = chat.fingerprint
        self.batched = batched
        self.budget = budget
        self._chat = chat
        self._again = again if callable(again) else lambda _: again
        self._counter = counter or UsageCounter()

    @property
    def usage(self) -> Usage:
        """The requests, tokens and cost so far."""
        return self._counter.usage

    def store_usage(self, store: Callable[[], None], earlier: Usage) -> None:
        """Call ``store`` before each request and reply; see `sgi.kernel.protocols.DurableJudge`."""
        self._counter.store_with(store, earlier)

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return the valid reply to an inquiry, with a verdict for every item.

        Raises:
            JudgeUnavailableError: the service cannot be reached, or stays busy.
            JudgeRejectedError: the service rejects all requests, because of the key, the model or the quota.
            JudgeRefusedError: the model or a content filter refuses to reply.
            JudgeMalformedError: the reply and the repaired reply are invalid.
            JudgeError: the service rejects this request.
            BudgetExceededError: the cost limit is reached.
        """
        first = first_call(inquiry, schema)
        while True:
            replies: list[Completion] = []
            retake = replace(first, take=first.take + 1)
            try:
                return await self._converse(first, schema, inquiry.context, replies)
            except (JudgeMalformedError, JudgeRefusedError) as error:
                error.cached = bool(replies) and all(completion.cached for completion in replies)
                if not error.cached or not self._again(retake):
                    raise
            first = retake

    async def _converse(
        self, first: Call, schema: type[T], context: Mapping[str, object], replies: list[Completion]
    ) -> T:
        replies.append(await self._chat.complete(first))
        try:
            return parse_reply(replies[-1], schema, context)
        except InvalidReplyError as error:
            messages = (*first.messages, *_repair(replies[-1].text, str(error)))
            second = replace(first, messages=messages)
        replies.append(await self._chat.complete(second))
        try:
            return parse_reply(replies[-1], schema, context)
        except InvalidReplyError as error:
            message = f"The judge's reply is invalid, also after a repair: {error}."
            raise JudgeMalformedError(message, text=replies[-1].text) from None


def first_call(inquiry: Inquiry, schema: type[ReplyModel]) -> Call:
    """Return the first request to the chat model for an inquiry."""
    opening = Message("system", inquiry.prompt.system), Message("user", inquiry.text)
    return Call(opening, _shape(schema, inquiry.items), repeat=inquiry.repeat)


def _repair(reply: str, problem: str) -> tuple[Message, ...]:
    """Return the messages of a repair request; they omit an empty reply, which services would reject."""
    request = (  # a changed text makes cached and recorded repairs unusable
        f"This reply cannot be used: {problem}. Answer the same request once more, in full, with nothing but "
        "JSON that fits the schema."
    )
    replies = (Message("assistant", reply),) if reply.strip() else ()
    return *replies, Message("user", request)


@lru_cache(maxsize=1024)
def _shape(schema: type[ReplyModel], items: int | None) -> Shape:
    document = schema.model_json_schema()
    verdicts = document.get("properties", {}).get("verdicts")
    if items is not None and verdicts is not None:
        verdicts |= {"minItems": items, "maxItems": items}
    name = re.sub(r"[^A-Za-z0-9]+", "_", schema.__name__).strip("_")[:64]
    # Unsorted: a model writes fields in the schema's order, and reasons must precede verdicts.
    return Shape(name, json.dumps(document, ensure_ascii=False))
