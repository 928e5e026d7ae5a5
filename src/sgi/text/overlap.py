"""Word overlap of a response and its passages: a trivial baseline for grounding detectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.text.tokenizers import word_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable


def token_precision(response: str, passages: Iterable[str]) -> float:
    r"""Return the share of a response's distinct words that occur in the passages; 0 if it has no words.

    Words are casefolded ``\w+``.

    >>> token_precision("Paris, in 1889, not Rome", ["The tower in Paris", "built 1889"])
    0.6
    """
    return token_precisions([(response, passages)])[0]


def token_precisions(rows: Iterable[tuple[str, Iterable[str]]]) -> list[float]:
    """Return the `token_precision` of each (response, passages) row; equal texts are tokenized once."""
    cache: dict[str, frozenset[str]] = {}

    def words_of(text: str) -> frozenset[str]:
        if text not in cache:
            cache[text] = frozenset(word_tokens(text))
        return cache[text]

    shares = []
    for response, passages in rows:
        words = words_of(response)
        passage_words = frozenset[str]().union(*map(words_of, passages))
        shares.append(len(words & passage_words) / len(words) if words else 0.0)
    return shares


def is_verbatim(response: str, passages: Iterable[str]) -> bool:
    r"""Return whether a passage contains the whole response, ignoring case and the amount of white space.

    The copy may start or end inside a word of the passage. A blank response is not verbatim.

    >>> is_verbatim("the  Eiffel\ntower", ["Paris has the Eiffel Tower."]), is_verbatim(" ", ["a b"])
    (True, False)
    """
    text = _fold(response)
    return bool(text) and any(text in _fold(passage) for passage in passages)


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
