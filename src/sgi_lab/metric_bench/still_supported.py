"""Checks whether a changed answer is still supported by a passage or the question."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sgi.metrics.grounding.check_facts import Verdict, check_facts, facts_of
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.sample import Sample

_LONGEST = 2_000
_MOST_TRIES = 20


def first_error(sample: Sample, candidates: Iterable[str | None]) -> Sample | None:
    """Return the row with the first candidate answer that contains an unsupported statement.

    Candidates are read lazily; None among them is skipped. The result is None if all of the first twenty are
    supported, or if a sentence of the answer is too long to check.

    >>> from sgi.kernel.sample import Sample
    >>> row = Sample(id="1", contexts=("It is 5 km, or 3.1 miles, away.",), response="It is 5 km away.")
    >>> first_error(row, ["It is 3.1 miles away.", None, "It is 7 km away."]).response
    'It is 7 km away.'
    """
    if any(len(sentence) > _LONGEST for sentence in sentences(sample.response)):
        return None
    tried = islice(candidates, _MOST_TRIES)
    new = (text for text in tried if text is not None and text != sample.response)
    return next((sample.with_response(text) for text in new if not is_still_supported(sample, text)), None)


def is_still_supported(sample: Sample, changed: str) -> bool:
    """Return whether everything new in an answer follows from the passages or is in the question.

    A statement of the question that a passage contradicts does not count as support. A random number may
    equal a rounded one, lie in a stated range or be a sum; a random unit or a shorter name may occur in
    another passage. New text without number, date or name is not supported. A sentence that is too long to
    check is.

    >>> from sgi.kernel.sample import Sample
    >>> row = Sample(id="1", contexts=("It is 5 km, or 3.1 miles, away.",), response="It is 5 km away.")
    >>> is_still_supported(row, "It is 3.1 miles away."), is_still_supported(row, "It is 7 km away.")
    (True, False)
    """
    originals = frozenset(sentences(sample.response))
    new = [sentence for sentence in sentences(changed) if sentence not in originals]
    if any(len(sentence) > _LONGEST for sentence in new):
        return True
    old = {fact.text for sentence in originals for fact in facts_of(sentence)}
    verdicts = [
        check.verdict
        for sentence in new
        for check in check_facts(sentence, sample.contexts, sample.question)
        if check.fact.text not in old
    ]
    return bool(verdicts) and all(verdict is Verdict.SUPPORTED for verdict in verdicts)
