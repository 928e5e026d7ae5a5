"""Checks what the sentences of a response say against the passages: negation, opposites, strength and roles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.metrics.grounding.claim_reader import read_claims
from sgi.metrics.grounding.contradictions import word_contradictions
from sgi.metrics.grounding.exchanges import exchanges
from sgi.metrics.grounding.facts.extract import folded_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.facts.check import Check


def claim_conflicts(sentence: str, passages: Sequence[str]) -> Iterator[Check]:
    """Yield the first thing that a sentence says and the passages contradict.

    >>> passages = ["Adult keepers do not swim in winter."]
    >>> for check in claim_conflicts("Keepers swim in winter.", passages):
    ...     print(check.fact.text, check.verdict, check.found, check.how, sep=" | ")
    swim | contradicted | not swim | negated
    >>> list(claim_conflicts("Keepers don't swim in winter.", passages))
    []
    """
    folded = folded_words(sentence)
    if any(folded in folded_words(passage) for passage in passages):
        return
    for claim in read_claims(sentence):
        for check in (*word_contradictions(claim, passages), *exchanges(claim, sentence, passages)):
            fact = check.fact
            yield replace(check, fact=replace(fact, text=sentence[fact.start : fact.end]))
            return
