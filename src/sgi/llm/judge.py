"""A judge over a model: it asks, reads the reply strictly, and asks once more where it cannot be used."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from sgi.kernel.errors import JudgeMalformedError, JudgeRefusedError
from sgi.kernel.prompts import ReplyModel
from sgi.llm.calls import Call, Message, Shape
from sgi.llm.parse_reply import InvalidReplyError, read
from sgi.llm.usage import UsageCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Usage
    from sgi.llm.calls import Chat, Completion

T = TypeVar("T", bound=ReplyModel)


class ChatJudge:
    """A judge over a model.

    A reply that cannot be used is shown to the model once, with what is wrong with it; what is still unfit
    then is an error. Nothing is ever filled in.

    Args:
        chat: the model.
        budget: the most tokens of passages one inquiry may hold.
        again: whether to ask anew where all that is known of an inquiry is that its replies were unfit; or
            which of the requests that would be made then may be made.
        counter: what the wrappers around the model count with; its sum is ``usage``.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        budget: int = 16000,
        again: bool | Callable[[Call], bool] = False,
        counter: UsageCounter | None = None,
    ) -> None:
        self._chat = chat
        self._budget = budget
        self._again = again if callable(again) else lambda _: again
        self._counter = counter or UsageCounter()

    @property
    def fingerprint(self) -> str:
        """Everything that can change a reply, beside the prompts."""
        return self._chat.fingerprint

    @property
    def budget(self) -> int:
        """How many tokens of passages one inquiry may hold."""
        return self._budget

    @property
    def usage(self) -> Usage:
        """What was asked so far."""
        return self._counter.usage

    def store_usage(self, store: Callable[[], None], earlier: Usage) -> None:
        """Have the usage stored before each request is sent and before its reply is used.

        Args:
            store: stores the present ``usage``; its errors end the request.
            earlier: what earlier attempts at the same run took; ``max_cost`` counts it.
        """
        self._counter.store_with(store, earlier)

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """The reply, with a verdict for every item.

        Raises:
            JudgeUnavailableError: the service could not be reached, or stayed busy.
            JudgeRejectedError: the service takes no request: key, model or quota.
            JudgeRefusedError: the model or a filter declined.
            JudgeMalformedError: the reply is unfit, and so was its repair.
            JudgeError: the service does not take this request.
            BudgetExceededError: the cost may not grow further.
        """
        first = first_call(inquiry, schema)
        while True:
            seen: list[Completion] = []
            anew = Call(first.messages, first.shape, first.take + 1)
            try:
                return await self._converse(first, schema, inquiry.context, seen)
            except (JudgeMalformedError, JudgeRefusedError) as error:
                error.cached = bool(seen) and all(completion.cached for completion in seen)
                if not error.cached or not self._again(anew):
                    raise
            first = anew

    async def _converse(
        self, first: Call, schema: type[T], context: Mapping[str, Any], seen: list[Completion]
    ) -> T:
        """The usable reply of at most two requests; what comes in is added to ``seen``."""
        seen.append(await self._chat.complete(first))
        try:
            return read(seen[-1], schema, context)
        except InvalidReplyError as error:
            second = Call((*first.messages, *_repair(seen[-1].text, str(error))), first.shape, first.take)
        seen.append(await self._chat.complete(second))
        try:
            return read(seen[-1], schema, context)
        except InvalidReplyError as error:
            message = f"The judge's reply is unfit, twice: {error}."
            raise JudgeMalformedError(message, text=seen[-1].text) from None


def first_call(inquiry: Inquiry, schema: type[ReplyModel]) -> Call:
    """The request that puts an inquiry to a model."""
    opening = Message("system", inquiry.prompt.system), Message("user", inquiry.text)
    return Call(opening, _shape(schema, inquiry.items))


def _repair(reply: str, problem: str) -> tuple[Message, ...]:
    """The unfit reply and what is wrong with it; not an empty one, since services take no empty turn."""
    told = (
        f"This reply cannot be used: {problem}. Answer the same request once more, in full, with nothing but "
        "JSON that fits the schema."
    )
    said = (Message("assistant", reply),) if reply.strip() else ()
    return *said, Message("user", told)


@lru_cache(maxsize=1024)
def _shape(schema: type[ReplyModel], items: int | None) -> Shape:
    """The schema as JSON, with as many verdicts as there are items."""
    document = schema.model_json_schema()
    verdicts = document.get("properties", {}).get("verdicts")
    if items is not None and verdicts is not None:
        verdicts |= {"minItems": items, "maxItems": items}
    name = re.sub(r"[^A-Za-z0-9]+", "_", schema.__name__).strip("_")[:64]
    # Unsorted: a model writes the fields in the schema's order, and reasons are to come before verdicts.
    return Shape(name, json.dumps(document, ensure_ascii=False))
