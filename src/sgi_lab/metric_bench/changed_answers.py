"""Perturbations of the answer as a whole: additions, truncation, refusal, another language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.kernel.sample import RESPONSE
from sgi.text.overlap import token_precision
from sgi.text.tokenizers import content_words, sentences
from sgi_lab.metric_bench.perturbation import Kind, perturbation

if TYPE_CHECKING:
    from random import Random

    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.perturbation import Others

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
_SPEAKER_WORDS = frozenset(
    ("i", "me", "my", "mine", "myself", "you", "your", "yours", "we", "us", "our", "ours")
)


@perturbation(Kind.ERROR, RESPONSE)
def unsupported_added(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """A sentence from another row's answer is added; most of its words are not in the passages."""
    response = sample.response.rstrip()
    for other in others.unrelated_rows(sample, draw):
        for sentence in sentences(other.response):
            if (
                _is_factual(sentence)
                and token_precision(sentence, (*sample.contexts, response)) <= _MOST_SHARED
            ):
                return sample.with_response(f"{response}{'' if response[-1:] in '.!?' else '.'} {sentence}")
    return None


def _is_factual(sentence: str) -> bool:
    """Return whether a sentence states a fact about the world, not about speakers, passages or answers."""
    words = _WORDS.findall(sentence.casefold())
    return (
        len(words) >= _FEWEST_WORDS
        and len(content_words(sentence).split()) >= _FEWEST_CONTENT_WORDS
        and sentence[-1] not in ":?"
        and _SPEAKER_WORDS.isdisjoint(words)
        and not any(word.startswith(("passage", "answer", "context")) for word in words)
    )


@perturbation(Kind.OTHER, RESPONSE)
def refusal(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """The answer is replaced by a refusal: the passages do not say."""
    return sample.with_response(_REFUSAL)


@perturbation(Kind.OTHER, RESPONSE)
def truncation(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """The last third of the answer is removed."""
    response = sample.response.rstrip()
    whole = response[: int(len(response) * _KEPT)].rpartition(" ")[0].rstrip()
    return sample.with_response(whole) if whole.strip() else None


@perturbation(Kind.OTHER, RESPONSE)
def fluff_added(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """A courtesy without content follows the answer."""
    return sample.with_response(f"{sample.response.rstrip()} {_FLUFF}")


@perturbation(Kind.OTHER, RESPONSE)
def other_language(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """The answer is replaced by an unrelated sentence in another language."""
    return sample.with_response(draw.choice(_FOREIGN))


ANSWERS = (unsupported_added, refusal, truncation, fluff_added, other_language)
"""Perturbations of an answer as a whole."""
