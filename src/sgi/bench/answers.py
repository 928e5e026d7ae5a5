"""Perturbations of the answer as a whole: something added, cut off, refused, or said in another language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.bench.perturbation import Kind, Perturbation
from sgi.kernel.sample import RESPONSE
from sgi.text.overlap import token_precision
from sgi.text.sentences import sentences
from sgi.text.tokens import content_words

if TYPE_CHECKING:
    from random import Random

    from sgi.bench.perturbation import Others
    from sgi.kernel.sample import Sample

_REFUSAL = "I cannot answer the question from the given passages."
_FLUFF = "I hope this helps! Please let me know if there is anything else you would like to know."
_FOREIGN = (
    "Das Wetter ist heute schön, und am Nachmittag gehen wir im Wald spazieren.",
    "Le marché du village ouvre tôt le matin, et les enfants y jouent.",
    "La biblioteca está cerrada los lunes porque el edificio es muy antiguo.",
    "今日は天気が良いので、午後は公園を散歩します。",
    "Завтра мы поедем на озеро и возьмём с собой хлеб и чай.",
)
_KEPT = 2 / 3
_FEWEST_WORDS = 6
_FEWEST_CONTENT_WORDS = 4
_MOST_SHARED = 0.5
_WORDS = re.compile(r"\w+")
_SPEAKS = frozenset(("i", "me", "my", "mine", "myself", "you", "your", "yours", "we", "us", "our", "ours"))


def _add_sentence(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """A sentence of another row's answer follows, most of whose words the passages do not hold."""
    said = sample.response.rstrip()
    for other in others.drawn(sample, draw):
        for sentence in sentences(other.response):
            if _tells(sentence) and token_precision(sentence, (*sample.contexts, said)) <= _MOST_SHARED:
                return sample.with_response(f"{said}{'' if said[-1:] in '.!?' else '.'} {sentence}")
    return None


def _tells(sentence: str) -> bool:
    """Whether it tells something of the world: no talk of speakers, passages and answers, no fragment."""
    words = _WORDS.findall(sentence.casefold())
    return (
        len(words) >= _FEWEST_WORDS
        and len(content_words(sentence).split()) >= _FEWEST_CONTENT_WORDS
        and sentence[-1] not in ":?"
        and _SPEAKS.isdisjoint(words)
        and not any(word.startswith(("passage", "answer", "context")) for word in words)
    )


def _refuse(sample: Sample, draw: Random, others: Others) -> Sample | None:
    del draw, others
    return sample.with_response(_REFUSAL)


def _truncate(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """The last third is cut off, at a blank."""
    del draw, others
    kept = sample.response.rstrip()[: int(len(sample.response.rstrip()) * _KEPT)]
    whole = kept.rpartition(" ")[0].rstrip()
    return sample.with_response(whole) if whole.strip() else None


def _add_fluff(sample: Sample, draw: Random, others: Others) -> Sample | None:
    del draw, others
    return sample.with_response(f"{sample.response.rstrip()} {_FLUFF}")


def _say_elsewise(sample: Sample, draw: Random, others: Others) -> Sample | None:
    del others
    return sample.with_response(draw.choice(_FOREIGN))


ANSWERS = (
    Perturbation(
        "unsupported_added",
        Kind.ERROR,
        RESPONSE,
        "A sentence from another row's answer is added; most of its words are not in the passages.",
        _add_sentence,
    ),
    Perturbation(
        "refusal",
        Kind.OTHER,
        RESPONSE,
        "The answer is replaced by a refusal: the passages do not say.",
        _refuse,
    ),
    Perturbation("truncation", Kind.OTHER, RESPONSE, "The last third of the answer is removed.", _truncate),
    Perturbation(
        "fluff_added",
        Kind.OTHER,
        RESPONSE,
        "A courtesy without content follows the answer.",
        _add_fluff,
    ),
    Perturbation(
        "other_language",
        Kind.OTHER,
        RESPONSE,
        "The answer is replaced by an unrelated sentence in another language.",
        _say_elsewise,
    ),
)
"""Perturbations of an answer as a whole."""
