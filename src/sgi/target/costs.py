"""Reads the tokens and the cost of an answer from the reply of a target."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from sgi.kernel.errors import TargetError
from sgi.kernel.sample_parts import AnswerCosts

_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_MAX_TOKENS = 2**31 - 1


def costs_of(who: str, usage: Any, cost: Any) -> AnswerCosts:
    """Convert the usage and the cost of a reply; raise TargetError, with the field, for a wrong value.

    Args:
        who: the name of the target in messages.
        usage: a mapping or an object with ``prompt_tokens`` or ``input_tokens``, and ``completion_tokens`` or
            ``output_tokens``, as model providers send it; None if unknown.
        cost: US dollars; None if unknown.

    >>> costs_of("rag:answer", {"input_tokens": 300, "output_tokens": 20}, 0.002)
    AnswerCosts(latency_ms=None, prompt_tokens=300, completion_tokens=20, cost=0.002)
    """
    if isinstance(usage, (str, bytes, int, float, list, tuple)):
        message = f"{who} returned a value of type {type(usage).__name__} as usage."
        raise TargetError(message, hint="Return an object with prompt_tokens and completion_tokens.")
    return AnswerCosts(
        prompt_tokens=_tokens(who, usage, _PROMPT),
        completion_tokens=_tokens(who, usage, _COMPLETION),
        cost=_dollars(who, cost),
    )


def _tokens(who: str, usage: Any, names: tuple[str, ...]) -> int | None:
    for name in names:
        value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_TOKENS:
            message = f"{who} returned a wrong usage.{name}."
            raise TargetError(message, hint=f"Return a whole number from 0 to {_MAX_TOKENS:,}, or None.")
        return int(value)
    return None


def _dollars(who: str, cost: Any) -> float | None:
    if cost is None:
        return None
    try:
        dollars = float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else -1.0
    except OverflowError:
        dollars = -1.0
    if not isfinite(dollars) or dollars < 0:
        message = f"{who} returned a wrong cost."
        raise TargetError(message, hint="Return US dollars, a finite number from 0, or None.")
    return dollars
