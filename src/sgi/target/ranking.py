"""Reads the ids and the scores of passages from the reply of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import DataError, TargetError
from sgi.kernel.raw_values import as_ids, as_scores
from sgi.kernel.sample_parts import Ranking, check_lengths, check_unique

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HINT = "Return one {} for each passage, in the order of the contexts, or None."


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
        _read(who, "context_ids", "id", ids, as_ids),
        _read(who, "context_scores", "score", scores, as_scores),
    )
    fields: dict[str, Sequence[Any] | None] = {"contexts": contexts, **ranking._asdict()}
    known = {name: values for name, values in fields.items() if values is not None}
    if known.keys() == {"context_scores"}:
        raise _error(who, "context_scores", "score", "there are no contexts and no context_ids")
    try:
        check_lengths(known)
        check_unique("context_ids", ranking.context_ids or ())
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise _error(who, field, "id" if field == "context_ids" else "score", problem) from None
    return ranking


def _read(who: str, field: str, word: str, value: Any, read: Callable[[Any], Any]) -> Any:
    if value is None:
        return None
    try:
        return read(value)
    except DataError as error:
        raise _error(who, field, word, error.message) from None


def _error(who: str, field: str, word: str, problem: str) -> TargetError:
    return TargetError(f"{who} returned wrong {field}: {problem}.", hint=_HINT.format(word))
