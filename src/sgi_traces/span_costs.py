"""Sum tokens and cost over the spans of a turn; a span may repeat those of the spans inside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from sgi.kernel.sample_parts import AnswerCosts
from sgi_traces.content import Kind, SpanCosts
from sgi_traces.turns import CHECKS

if TYPE_CHECKING:
    from sgi_traces.turns import Node, Turn

_UNKNOWN = math.nan
_WORDS = {"prompt_tokens": "number of prompt tokens", "completion_tokens": "number of completion tokens"}


class TurnCosts(NamedTuple):
    """What a turn cost; ``absent`` has the reason for each part that only some models recorded."""

    costs: AnswerCosts
    absent: dict[str, str]


def sum_costs(turn: Turn) -> TurnCosts:
    """Sum tokens and cost over the language models of a turn.

    A span counts as the larger of its own value and the sum of the spans inside it, so a wrapper or an agent
    that repeats the usage of its models counts once. If a model has no value, and no span around it has one,
    the sum is unknown. Embeddings count for the cost, not for the tokens.
    """
    sums = {name: _sum(turn, name) for name in SpanCosts._fields}
    absent = {
        name: f"a call of a language model has no {_WORDS.get(name, name)}"
        for name, value in sums.items()
        if value is not None and math.isnan(value) and _is_known_in_part(turn, name)
    }
    known = {name: value for name, value in sums.items() if value is not None and math.isfinite(value)}
    tokens = {name: int(known[name]) for name in ("prompt_tokens", "completion_tokens") if name in known}
    return TurnCosts(AnswerCosts(cost=known.get("cost"), **tokens), absent)


def _is_known_in_part(turn: Turn, name: str) -> bool:
    return any(getattr(content.costs, name) is not None for _, content in turn.spans())


def _sum(turn: Turn, name: str) -> float | None:
    """Return the sum over the roots of a turn: None without a model, NaN if a part is unknown."""
    within = {id(node) for node in turn.nodes}
    inside = {id(child) for node in turn.nodes for child in node.children}
    roots = [node for node in turn.nodes if id(node) not in inside]
    order: list[Node] = []
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [child for child in node.children if id(child) in within]
    values: dict[int, float | None] = {}
    for node in reversed(order):
        parts = [value for child in node.children if (value := values.get(id(child))) is not None]
        values[id(node)] = _value(node, name, math.fsum(parts) if parts else None)
    known = [value for root in roots if (value := values[id(root)]) is not None]
    return math.fsum(known) if known else None


def _value(node: Node, name: str, parts: float | None) -> float | None:
    if node.kind in CHECKS or (node.kind is Kind.EMBEDDING and name != "cost"):
        return None
    own = None if node.content is None else getattr(node.content.costs, name)
    if own is None:
        return _UNKNOWN if parts is None and node.kind is Kind.LLM else parts
    return float(own) if parts is None or math.isnan(parts) else max(own, parts)
