"""Judge with faulty replies: an invalid reply must never become a score."""

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

_OPENING = 2  # messages before the first reply: the task and the texts to judge
_CUT = 0.6
_SILENCE = 0.01
_BEYOND = 97


@dataclass(frozen=True)
class JudgeFault:
    """One fault in a judge's reply.

    Attributes:
        name: unique name.
        says: description, one sentence.
        spoil: pure function of reply and random generator; returns the faulty reply, or None for no reply.

    >>> JUDGE_FAULTS[0].kind
    <Kind.JUDGE_FAULT: 'judge fault'>
    """

    name: str
    says: str
    spoil: Spoil | None = field(repr=False)

    @property
    def kind(self) -> Kind:
        """Required reaction: no value, or the unchanged one."""
        return Kind.JUDGE_FAULT


class SpoiledChat:
    """Wraps a model and alters each reply. A repair request gets the same reply again.

    The wrapped model ``chat`` receives the same requests as without the fault.
    """

    def __init__(self, chat: Chat, fault: JudgeFault, *, seed: int = 0) -> None:
        self._chat = chat
        self._fault = fault
        self._seed = seed
        self.spoiled = 0
        """How many replies did not arrive as they were."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the wrapped model."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The faulty reply.

        Raises:
            JudgeError: error of the model, or JudgeUnavailableError if the fault is a missing reply.
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
    """Context manager of the model without faults; use it in the same event loop.

    ``cache`` holds replies that are not requested again.

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
    """Duplicate one verdict of every list; a reply without verdicts is unchanged."""
    return _walk(text, lambda items: [*items, draw.choice(items)] if _are_verdicts(items) else items)


def _are_verdicts(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _exceed(text: str, draw: Random) -> str:
    """Move every verdict and rating far outside its scale; a reply without them is unchanged."""
    beyond = draw.choice([_BEYOND, -_BEYOND])
    return _walk(text, lambda items: items, lambda _: beyond)


def _walk(
    text: str,
    of_list: Callable[[list[Any]], list[Any]],
    of_number: Callable[[Any], Any] = lambda number: number,
) -> str:
    """Change the lists and numbers of JSON, except entry indices."""
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
