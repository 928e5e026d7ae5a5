"""Perturbations of the passages: dropped, exchanged, shuffled, added to; and an answer copied from one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sgi.bench.perturbation import Kind, Perturbation
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.text.overlap import token_precision
from sgi.text.sentences import sentences
from sgi.text.tokens import content_words

if TYPE_CHECKING:
    from random import Random

    from sgi.bench.perturbation import Others
    from sgi.kernel.sample import Sample

_ADDED = 2
_FEWEST_WORDS = 4
_LOSS = 0.1  # minimum share of the answer's words that must be lost
_MOST_HELD = 0.75


def _drop_support(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """The passage goes that shares most words with the answer, if the others hold clearly fewer of them."""
    del draw, others
    if len(sample.contexts) < 2:  # noqa: PLR2004 - one of several goes
        return None
    best = max(
        range(len(sample.contexts)), key=lambda place: _overlap(sample.response, sample.contexts[place])
    )
    rest = (*sample.contexts[:best], *sample.contexts[best + 1 :])
    if token_precision(sample.response, rest) > token_precision(sample.response, sample.contexts) - _LOSS:
        return None
    return sample.with_response(sample.response, rest)


def _overlap(response: str, text: str) -> int:
    """How many content words of the response a text has."""
    return len(frozenset(content_words(response).split()) & frozenset(content_words(text).split()))


def _exchange(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """All passages become those of another row that hold no more than three quarters of its words."""
    for other in others.drawn(sample, draw):
        if other.contexts and token_precision(sample.response, other.contexts) <= _MOST_HELD:
            return sample.with_response(sample.response, other.contexts)
    return None


def _shuffle(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """The passages stand in another order: a circle turned by some places, after a draw."""
    del others
    order = list(sample.contexts)
    draw.shuffle(order)
    if tuple(order) == sample.contexts and order:
        order = [*order[1:], order[0]]
    return sample.with_response(sample.response, tuple(order))


def _strange(sample: Sample, draw: Random, others: Others) -> tuple[str, ...]:
    """Passages of other rows, one of each."""
    given = (
        other.contexts[draw.randrange(len(other.contexts))]
        for other in others.drawn(sample, draw)
        if other.contexts
    )
    return tuple(islice(given, _ADDED))


def _add_behind(sample: Sample, draw: Random, others: Others) -> Sample | None:
    return sample.with_response(sample.response, (*sample.contexts, *_strange(sample, draw, others)))


def _add_before(sample: Sample, draw: Random, others: Others) -> Sample | None:
    return sample.with_response(sample.response, (*_strange(sample, draw, others), *sample.contexts))


def _copy(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """The answer becomes the passages' sentence that shares most words with it."""
    del draw, others
    told = [sentence for passage in sample.contexts for sentence in sentences(passage)]
    whole = [sentence for sentence in told if len(sentence.split()) >= _FEWEST_WORDS]
    if not whole:
        return None
    return sample.with_response(max(whole, key=lambda sentence: _overlap(sample.response, sentence)))


PASSAGES = (
    Perturbation(
        "support_dropped",
        Kind.ERROR,
        CONTEXTS,
        "The passage that shares most words with the answer is removed; the others contain clearly fewer.",
        _drop_support,
    ),
    Perturbation(
        "contexts_exchanged",
        Kind.ERROR,
        CONTEXTS,
        "All passages are replaced by another row's, with at most three quarters of the answer's words.",
        _exchange,
    ),
    Perturbation(
        "passages_shuffled", Kind.HARMLESS, CONTEXTS, "The passages are put in another order.", _shuffle
    ),
    Perturbation(
        "irrelevant_behind",
        Kind.HARMLESS,
        CONTEXTS,
        "Two passages of other questions are added after the row's own.",
        _add_behind,
    ),
    Perturbation(
        "irrelevant_before",
        Kind.HARMLESS,
        CONTEXTS,
        "Two passages of other questions are added before the row's own.",
        _add_before,
    ),
    Perturbation(
        "verbatim_copy",
        Kind.SUPPORTED,
        RESPONSE,
        "The answer is replaced by the passage sentence that shares most words with it.",
        _copy,
    ),
)
"""Perturbations of what an answer rests on."""
