"""A judge whose replies are spoiled on the way: what is no clean reply must never become a score."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

import anyio

from sgi.bench.perturbation import Kind
from sgi.kernel.errors import JudgeUnavailableError
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Call, Chat, Completion
    from sgi.llm.spec import JudgeSpec

    Spoil = Callable[[str, Random], str]

_OPENING = 2  # messages of a request before anything was replied: the task, and the texts to judge
_CUT = 0.6
_SILENCE = 0.01
_BEYOND = 97


@dataclass(frozen=True)
class JudgeFault:
    """One way in which a judge's reply goes wrong.

    Attributes:
        name: by which it is chosen and reported.
        says: what it does, in a sentence.
        spoil: the reply as it arrives; None where none arrives. A pure function of reply and draws.

    >>> JUDGE_FAULTS[0].kind
    <Kind.JUDGE_FAULT: 'judge fault'>
    """

    name: str
    says: str
    spoil: Spoil | None = field(repr=False)

    @property
    def kind(self) -> Kind:
        """What is demanded: no value, or the one there was."""
        return Kind.JUDGE_FAULT


class SpoiledChat:
    """A model around a model that spoils each reply. Asked to repair one, it says the same again.

    Args:
        chat: the model; the requests it gets are those it would get without the fault.
        fault: what happens to its replies.
        seed: of the draws, beside the request.
    """

    def __init__(self, chat: Chat, fault: JudgeFault, *, seed: int = 0) -> None:
        self._chat = chat
        self._fault = fault
        self._seed = seed
        self.spoiled = 0
        """How many replies did not arrive as they were."""

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply, spoiled.

        Raises:
            JudgeError: the model's own, or a JudgeUnavailableError where the fault is that nothing comes.
        """
        first = replace(call, messages=call.messages[:_OPENING])
        reply = await self._chat.complete(first)
        if self._fault.spoil is None:
            self.spoiled += 1
            await anyio.sleep(_SILENCE)
            raise JudgeUnavailableError("The judge was silent, and then the connection broke off.")
        key = digest(str(self._seed).encode(), self._fault.name.encode(), first.key(self.fingerprint))
        draw = Random(int.from_bytes(key, "big"))  # noqa: S311 - draws, no secrets
        text = self._fault.spoil(reply.text, draw)
        self.spoiled += text != reply.text
        return replace(reply, text=text)


@asynccontextmanager
async def open_clean(spec: JudgeSpec, cache: Cache) -> AsyncIterator[Chat]:
    """The model whose replies are to be spoiled, as long as it is open; used in the loop that opened it.

    Args:
        spec: which judge, and how it is asked.
        cache: of its replies; what it holds is not asked again.

    Raises:
        MissingExtraError: the extra ``judge`` is not installed.
        UsageError: a key or another setting is missing.
    """
    from sgi.llm.load import open_chat, wrapped_chat
    from sgi.llm.usage import UsageCounter

    async with open_chat(spec) as chat:
        yield wrapped_chat(chat, spec, cache, UsageCounter())


def _cut(text: str, draw: Random) -> str:
    del draw
    return text[: int(len(text) * _CUT)]


def _garble(text: str, draw: Random) -> str:
    """All characters in random order."""
    signs = list(text)
    draw.shuffle(signs)
    return "".join(signs)


def _say_twice(text: str, draw: Random) -> str:
    del draw
    return f"{text}\n{text}"


def _empty(text: str, draw: Random) -> str:
    del text, draw
    return ""


def _judge_twice(text: str, draw: Random) -> str:
    """One verdict of every list of them stands there twice; a reply that has none arrives as it is."""
    return _walked(text, lambda items: [*items, draw.choice(items)] if _are_verdicts(items) else items)


def _are_verdicts(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _exceed(text: str, draw: Random) -> str:
    """Every verdict and rating lies far outside its scale; a reply that has none arrives as it is."""
    beyond = draw.choice([_BEYOND, -_BEYOND])
    return _walked(text, lambda items: items, lambda _: beyond)


def _walked(
    text: str,
    of_list: Callable[[list[Any]], list[Any]],
    of_number: Callable[[Any], Any] = lambda number: number,
) -> str:
    """JSON with its lists and numbers changed, but for the numbers that say which entry is meant."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text

    def walk(node: Any, key: str = "") -> Any:
        if isinstance(node, dict):
            return {name: walk(inner, name) for name, inner in node.items()}
        if isinstance(node, list):
            return of_list([walk(inner) for inner in node])
        return (
            of_number(node)
            if isinstance(node, (bool, int, float)) and key not in {"index", "passage"}
            else node
        )

    return json.dumps(changed, ensure_ascii=False) if (changed := walk(value)) != value else text


JUDGE_FAULTS = (
    JudgeFault("reply_cut", "The judge's reply is cut after three fifths of its characters.", _cut),
    JudgeFault("reply_garbled", "The characters of the judge's reply are shuffled.", _garble),
    JudgeFault("reply_twice", "The judge's reply is repeated.", _say_twice),
    JudgeFault("verdict_twice", "One verdict of each list in the judge's reply is duplicated.", _judge_twice),
    JudgeFault("verdict_out_of_range", "Every verdict or rating in the judge's reply is 97 or −97.", _exceed),
    JudgeFault("reply_empty", "The judge's reply is empty.", _empty),
    JudgeFault(
        "judge_breaks_off", "The judge does not reply for a while, and then the connection closes.", None
    ),
)
"""What can happen to a judge's replies."""
