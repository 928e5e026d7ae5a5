"""Judge with faulty replies: an invalid reply must never become a score."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

import anyio

from sgi.kernel.errors import JudgeUnavailableError
from sgi.kernel.signature import digest
from sgi_lab.metric_bench.perturbation import Kind, shuffle

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.llm.calls import Call, Chat, Completion

    Corrupt = Callable[[str, Random], str]

_OPENING = 2  # messages before the first reply: the task and the texts to judge
_CUT = 0.6
_SILENCE = 0.01
_BEYOND = 97


@dataclass(frozen=True)
class JudgeFault:
    """A simulated fault of the judge: a way to change its reply.

    Attributes:
        name: unique name.
        says: description of the fault, one sentence.
        corrupt: pure function of reply and random generator; returns the faulty reply, or None for no reply.

    >>> JUDGE_FAULTS[0].kind
    <Kind.JUDGE_FAULT: 'judge fault'>
    """

    name: str
    says: str
    corrupt: Corrupt | None = field(repr=False)

    @property
    def kind(self) -> Kind:
        """Required reaction of a metric: no value, or the same value as without the fault."""
        return Kind.JUDGE_FAULT


@dataclass(eq=False)
class FaultyChat:
    """Model that alters each reply of the model ``chat``. A repair request gets the same reply again.

    ``chat`` receives the same requests as without the fault. ``faulty_replies`` is the number of altered or
    missing replies so far.
    """

    chat: Chat
    fault: JudgeFault
    seed: int = 0
    faulty_replies: int = 0

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the wrapped model."""
        return self.chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """Return the altered reply.

        Raises:
            JudgeError: the model raised it; JudgeUnavailableError if the fault is a missing reply.
        """
        first = replace(call, messages=call.messages[:_OPENING])
        reply = await self.chat.complete(first)
        if self.fault.corrupt is None:
            self.faulty_replies += 1
            await anyio.sleep(_SILENCE)
            raise JudgeUnavailableError("The judge did not reply, and the connection closed.")
        key = digest(str(self.seed).encode(), self.fault.name.encode(), first.key(self.fingerprint))
        draw = Random(int.from_bytes(key, "big"))
        text = self.fault.corrupt(reply.text, draw)
        self.faulty_replies += text != reply.text
        return replace(reply, text=text)


def _cut(text: str, _draw: Random) -> str:
    return text[: int(len(text) * _CUT)]


def _garble(text: str, draw: Random) -> str:
    return "".join(shuffle(text, draw))


def _repeat(text: str, _draw: Random) -> str:
    return f"{text}\n{text}"


def _judge_twice(text: str, draw: Random) -> str:
    """Duplicate one verdict of every list; a reply without verdicts is unchanged."""

    def duplicate(items: list[Any]) -> list[Any]:
        are_verdicts = items and all(isinstance(item, dict) for item in items)
        return [*items, draw.choice(items)] if are_verdicts else items

    return _walk(text, duplicate)


def _exceed(text: str, draw: Random) -> str:
    """Move every verdict and rating far outside its scale; a reply without them is unchanged."""
    beyond = draw.choice([_BEYOND, -_BEYOND])
    return _walk(text, lambda items: items, lambda _: beyond)


def _walk(
    text: str,
    of_list: Callable[[list[Any]], list[Any]],
    of_number: Callable[[Any], Any] = lambda number: number,
) -> str:
    """Apply functions to the lists and numbers of a JSON text, except the indices of entries."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text

    def walk(node: Any, key: str = "") -> Any:
        if isinstance(node, dict):
            return {name: walk(inner, name) for name, inner in node.items()}
        if isinstance(node, list):
            return of_list([walk(inner) for inner in node])
        is_number = isinstance(node, (bool, int, float)) and key not in {"index", "passage"}
        return of_number(node) if is_number else node

    changed = walk(value)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)


JUDGE_FAULTS = (
    JudgeFault("reply_cut", "The judge's reply is cut after three fifths of its characters.", _cut),
    JudgeFault("reply_garbled", "The characters of the judge's reply are shuffled.", _garble),
    JudgeFault("reply_twice", "The judge's reply is repeated.", _repeat),
    JudgeFault("verdict_twice", "One verdict of each list in the judge's reply is duplicated.", _judge_twice),
    JudgeFault("verdict_out_of_range", "Every verdict or rating in the judge's reply is 97 or −97.", _exceed),
    JudgeFault("reply_empty", "The judge's reply is empty.", lambda _text, _draw: ""),
    JudgeFault(
        "judge_breaks_off", "The judge does not reply for a while, and then the connection closes.", None
    ),
)
"""Faults of a judge's replies."""
