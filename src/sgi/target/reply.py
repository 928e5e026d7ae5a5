"""Converts the result of a target, the RAG system under test, to a Reply, or raises an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgi.kernel.errors import TargetError
from sgi.kernel.protocols import Reply
from sgi.target.costs import costs_of
from sgi.target.ranking import ranking_of

_EXPECTED = "Return a text, (answer, contexts), or answer and contexts as keys or attributes."
_OPTIONAL = ("contexts", "context_ids", "context_scores", "usage", "cost")
_ABSENT = object()


def reply_of(who: str, result: Any) -> Reply:
    """Convert the result of a Python function; raise TargetError if it is not an answer.

    The result is a text, ``(answer, contexts)``, or a mapping or object with ``answer`` (or ``response``) and
    optional ``contexts``, ``context_ids``, ``context_scores``, ``usage`` and ``cost``. Texts stay the same; a
    blank answer is valid. ``who`` is the function's name in messages.

    >>> reply_of("rag:answer", {"answer": "Mars", "contexts": ["Mars is red."]})[:2]
    ('Mars', ('Mars is red.',))
    """
    if isinstance(result, str):
        return encodable(who, Reply(_plain(result)))
    for name in ("answer", "response"):
        answer = _part(result, name, _ABSENT)
        if answer is not _ABSENT:
            contexts, ids, scores, usage, cost = (_part(result, part, None) for part in _OPTIONAL)
            texts = passages(who, contexts)
            ranking = ranking_of(who, texts, ids, scores)
            return encodable(who, Reply(_text(who, name, answer), texts, costs_of(who, usage, cost), ranking))
    if isinstance(result, tuple) and len(result) == 2:  # noqa: PLR2004 - answer and contexts
        return encodable(who, Reply(_text(who, "the first item", result[0]), passages(who, result[1])))
    what = "a mapping without 'answer'" if isinstance(result, Mapping) else _describe(result)
    raise TargetError(f"{who} returned {what}.", hint=_EXPECTED)


def passages(who: str, contexts: Any) -> tuple[str, ...] | None:
    """Convert contexts: a list of texts, a single text, or None; raise TargetError for other types."""
    if contexts is None:
        return None
    if isinstance(contexts, str):
        return (_plain(contexts),)
    if not isinstance(contexts, (list, tuple)):
        raise TargetError(
            f"{who} returned {_describe(contexts)} as contexts.", hint="Return a list of texts."
        )
    return tuple(_text(who, f"contexts {index}", passage) for index, passage in enumerate(contexts))


def encodable(who: str, reply: Reply) -> Reply:
    """Return the reply; raise TargetError if a text contains a lone surrogate, which UTF-8 cannot encode.

    No embedder accepts such a text, and it would cause an error for its whole batch.
    """
    texts = {"the answer": reply.response}
    texts |= {f"context {index}": passage for index, passage in enumerate(reply.contexts or ())}
    for name, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError:
            message = f"{who}: {name} has a lone surrogate, which UTF-8 cannot encode."
            hint = "A lone surrogate is half a character: check where texts are truncated or decoded."
            raise TargetError(message, hint=hint) from None
    return reply


def _part(result: Any, name: str, default: Any) -> Any:
    if isinstance(result, Mapping):
        return result.get(name, default)
    return getattr(result, name, default)


def _text(who: str, what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TargetError(f"{who} returned {_describe(value)} as {what}.", hint="Return a text.")
    return _plain(value)


def _plain(text: str) -> str:
    """Return the text as a plain ``str``: it is stored, and a subclass of str may compare differently."""
    return str.__str__(text)


def _describe(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a value of type {type(value).__name__}"
