"""Checks what sentences say against passages: negation, opposites, strength and roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.claim_reader import claim_index, read_claims
from sgi.metrics.grounding.contradictions import word_contradiction
from sgi.metrics.grounding.exchanges import find_exchange
from sgi.metrics.grounding.facts.check import Check, Verdict
from sgi.metrics.grounding.facts.extract import folded_words
from sgi.metrics.grounding.facts.fact import Fact, Relation
from sgi.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.claim_reader import Claim


def claim_conflicts(text: str, passages: Sequence[str]) -> list[Check]:
    """Return the first thing that each sentence says and the passages contradict.

    Positions are those in the sentence.

    A negation applies to the next content word. A word is compared with the same word, or its opposite, in a
    passage if words around both are equal, and if the passage's sentence has half of the words around it.
    If an occurrence that agrees shares a word around it that the other does not, there is no conflict.
    Conditions, questions, "not only" and "not all" are not compared. English only.

    >>> passages = ["Adult keepers do not swim in winter."]
    >>> for check in claim_conflicts("Keepers swim in winter.", passages):
    ...     print(check.fact.text, check.verdict, check.found, check.how, sep=" | ")
    swim | contradicted | not swim | negated
    >>> claim_conflicts("Keepers don't swim in winter.", passages)
    []
    """
    analysed = [AnalysedText.of(passage) for passage in passages]
    conflicts = (claim_conflict(text, claim, analysed) for claim in read_claims(text, sentence_spans(text)))
    return [check for check in conflicts if check is not None]


def claim_conflict(text: str, claim: Claim, passages: Sequence[str]) -> Check | None:
    """Return the first thing that a sentence of a text says and the passages contradict, or None.

    A sentence that a passage has word for word is not contradicted.
    """
    check = _conflict(text, claim, passages)
    if check is None:
        return None
    folded = folded_words(text[claim.start : claim.end])
    return None if any(folded in folded_words(passage) for passage in passages) else check


def _conflict(text: str, claim: Claim, passages: Sequence[str]) -> Check | None:
    indexes = [claim_index(passage) for passage in passages]
    match = word_contradiction(claim, indexes)
    if match is not None:
        start, end, passage = match.claimed.start, match.claimed.end, match.passage
        found = match.word.start, match.word.end
        kind: type[Fact] = match.difference.kind
        how = match.difference.how
    else:
        exchange = find_exchange(claim, indexes)
        if exchange is None:
            return None
        start, end, passage = exchange.start, exchange.end, exchange.passage
        sentence = indexes[passage].claims[exchange.sentence]
        found = sentence.words[0].start, sentence.words[-1].end
        kind, how = Relation, "exchanged"
    fact = kind(text[start:end], start - claim.start, end - claim.start)
    return Check(fact, Verdict.CONTRADICTED, passage, passages[passage][slice(*found)], *found, how)
