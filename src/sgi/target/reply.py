"""Converts the result of a target, the RAG system under test: answer, passages, ranking, tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import DataError, TargetError
from sgi.kernel.protocols import Reply
from sgi.kernel.raw_values import as_ids, as_scores
from sgi.kernel.sample_parts import AnswerCosts, Ranking, check_lengths, check_unique

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EXPECTED = "Return a text, (answer, contexts), or answer and contexts as keys or attributes."
_OPTIONAL = ("contexts", "context_ids", "context_scores", "usage", "cost")
_ABSENT = object()
_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_MAX_TOKENS = 2**31 - 1
_HOW_TO_RANK = "Return one {} for each passage, in the order of the contexts, or None."


def reply_of(who: str, result: object) -> Reply:
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


def _text(who: str, what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TargetError(f"{who} returned {_describe(value)} as {what}.", hint="Return a text.")
    return _plain(value)


def _plain(text: str) -> str:
    """Return the text as a plain ``str``: it is stored, and a subclass of str may compare differently."""
    return str.__str__(text)


def _describe(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a value of type {type(value).__name__}"


def costs_of(who: str, usage: object, cost: object) -> AnswerCosts:
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


def _tokens(who: str, usage: object, names: tuple[str, ...]) -> int | None:
    for name in names:
        value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_TOKENS:
            message = f"{who} returned a wrong usage.{name}."
            raise TargetError(message, hint=f"Return a whole number from 0 to {_MAX_TOKENS:,}, or None.")
        return int(value)
    return None


def _dollars(who: str, cost: object) -> float | None:
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


def ranking_of(who: str, contexts: Sequence[str] | None, ids: Any, scores: Any) -> Ranking:
    """Convert the ids and scores of a reply; raise TargetError, with the field, for a wrong value.

    Args:
        who: the name of the target in messages.
        contexts: the passages of the reply; None if it has none.
        ids: a list of texts or whole numbers, one for each passage, without duplicates; None if unknown.
        scores: a list of finite numbers, one for each passage; None if unknown.

    >>> ranking_of("rag:answer", ["Mars is red."], ["mars"], [0.5])
    Ranking(context_ids=('mars',), context_scores=(0.5,))
    """
    if ids is None and scores is None:
        return Ranking()
    ranking = Ranking(
        _read_list(who, "context_ids", "id", ids, as_ids),
        _read_list(who, "context_scores", "score", scores, as_scores),
    )
    fields: dict[str, Sequence[Any] | None] = {"contexts": contexts, **ranking._asdict()}
    known = {name: values for name, values in fields.items() if values is not None}
    if known.keys() == {"context_scores"}:
        raise _ranking_error(who, "context_scores", "score", "there are no contexts and no context_ids")
    try:
        check_lengths(known)
        check_unique("context_ids", ranking.context_ids or ())
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise _ranking_error(who, field, "id" if field == "context_ids" else "score", problem) from None
    return ranking


def _read_list(who: str, field: str, word: str, value: Any, read: Callable[[Any], Any]) -> Any:
    if value is None:
        return None
    try:
        return read(value)
    except DataError as error:
        raise _ranking_error(who, field, word, error.message) from None


def _ranking_error(who: str, field: str, word: str, problem: str) -> TargetError:
    return TargetError(f"{who} returned wrong {field}: {problem}.", hint=_HOW_TO_RANK.format(word))
