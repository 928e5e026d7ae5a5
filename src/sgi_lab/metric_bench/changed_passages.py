"""Perturbations that change the passages, or copy the answer from them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.text.overlap import token_precision
from sgi.text.tokenizers import content_words, sentences
from sgi_lab.metric_bench.perturbation import Kind, perturbation

if TYPE_CHECKING:
    from random import Random

    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.perturbation import Others

_ADDED = 2
_FEWEST_WORDS = 4
_LOSS = 0.1  # minimum share of the answer's words that the change must remove from the passages
_MOST_HELD = 0.75


@perturbation(Kind.ERROR, CONTEXTS)
def support_dropped(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """The passage that shares most words with the answer is removed; the others contain clearly fewer."""
    if not sample.contexts[1:]:  # one of several goes
        return None
    best = max(
        range(len(sample.contexts)), key=lambda place: _overlap(sample.response, sample.contexts[place])
    )
    rest = (*sample.contexts[:best], *sample.contexts[best + 1 :])
    if token_precision(sample.response, rest) > token_precision(sample.response, sample.contexts) - _LOSS:
        return None
    return sample.with_response(sample.response, rest)


def _overlap(response: str, text: str) -> int:
    """Return the number of content words that both texts contain."""
    return len(frozenset(content_words(response).split()) & frozenset(content_words(text).split()))


@perturbation(Kind.ERROR, CONTEXTS)
def contexts_exchanged(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """All passages are replaced by another row's, with at most three quarters of the answer's words."""
    for other in others.unrelated_rows(sample, draw):
        if other.contexts and token_precision(sample.response, other.contexts) <= _MOST_HELD:
            return sample.with_response(sample.response, other.contexts)
    return None


@perturbation(Kind.HARMLESS, CONTEXTS)
def passages_shuffled(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """The passages are put in another order."""
    order = list(sample.contexts)
    draw.shuffle(order)
    if tuple(order) == sample.contexts and order:
        order = [*order[1:], order[0]]
    return sample.with_response(sample.response, tuple(order))


def _unrelated_passages(sample: Sample, draw: Random, others: Others) -> tuple[str, ...]:
    """Return one random passage from each of two other rows."""
    passages = (
        other.contexts[draw.randrange(len(other.contexts))]
        for other in others.unrelated_rows(sample, draw)
        if other.contexts
    )
    return tuple(islice(passages, _ADDED))


@perturbation(Kind.HARMLESS, CONTEXTS)
def irrelevant_behind(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """Two passages of other questions are added after the row's own."""
    added = _unrelated_passages(sample, draw, others)
    return sample.with_response(sample.response, (*sample.contexts, *added))


@perturbation(Kind.HARMLESS, CONTEXTS)
def irrelevant_before(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """Two passages of other questions are added before the row's own."""
    added = _unrelated_passages(sample, draw, others)
    return sample.with_response(sample.response, (*added, *sample.contexts))


@perturbation(Kind.SUPPORTED, RESPONSE)
def verbatim_copy(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """The answer is replaced by the passage sentence that shares most words with it."""
    candidates = (sentence for passage in sample.contexts for sentence in sentences(passage))
    whole = [sentence for sentence in candidates if len(sentence.split()) >= _FEWEST_WORDS]
    if not whole:
        return None
    return sample.with_response(max(whole, key=lambda sentence: _overlap(sample.response, sentence)))


PASSAGES = (
    support_dropped,
    contexts_exchanged,
    passages_shuffled,
    irrelevant_behind,
    irrelevant_before,
    verbatim_copy,
)
"""Perturbations of the passages, and the answer copied from them."""
