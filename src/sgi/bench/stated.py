"""Whether a changed answer is still right: what a passage or the question says is no error."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.check import Verdict, check_facts, facts_of
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.sample import Sample

_LONGEST = 2_000
_MOST_TRIES = 20


def first_error(sample: Sample, candidates: Iterable[str | None]) -> Sample | None:
    """The row with the first of the candidates that says what is not stated.

    Args:
        sample: the row as it is.
        candidates: other answers to it, each a try, None where a draw came to nothing; made as they are asked
            for.

    Returns:
        None where none of the first twenty tries is an error, and before any try where a sentence of the
        answer is so long that nothing of it is sure.

    >>> from sgi.kernel.sample import Sample
    >>> row = Sample(id="1", contexts=("It is 5 km, or 3.1 miles, away.",), response="It is 5 km away.")
    >>> first_error(row, ["It is 3.1 miles away.", None, "It is 7 km away."]).response
    'It is 7 km away.'
    """
    if any(len(sentence) > _LONGEST for sentence in sentences(sample.response)):
        return None
    tried = islice(candidates, _MOST_TRIES)
    new = (made for made in tried if made is not None and made != sample.response)
    return next((sample.with_response(made) for made in new if not still_stated(sample, made)), None)


def still_stated(sample: Sample, changed: str) -> bool:
    """Whether all that is new in an answer stands in the passages, follows, or stands in the question.

    What only the question says, and a passage contradicts, is not stated.

    A drawn number may happen to be the rounded one, lie within a stated range, or be the sum of two; a drawn
    unit may be the one of another passage; a drawn name may be a shorter form of one that is there. Where no
    number, date or name is read in what is new, it is taken for a change. Of a sentence so long that it is
    none, nothing is sure, and it counts as stated.

    Args:
        sample: the row as it is.
        changed: another answer to it.

    >>> from sgi.kernel.sample import Sample
    >>> row = Sample(id="1", contexts=("It is 5 km, or 3.1 miles, away.",), response="It is 5 km away.")
    >>> still_stated(row, "It is 3.1 miles away."), still_stated(row, "It is 7 km away.")
    (True, False)
    """
    said = frozenset(sentences(sample.response))
    new = [sentence for sentence in sentences(changed) if sentence not in said]
    if any(len(sentence) > _LONGEST for sentence in new):
        return True
    old = {fact.text for sentence in said for fact in facts_of(sentence)}
    verdicts = [
        check.verdict
        for sentence in new
        for check in check_facts(sentence, sample.contexts, sample.question)
        if check.fact.text not in old
    ]
    return bool(verdicts) and all(verdict is Verdict.SUPPORTED for verdict in verdicts)
