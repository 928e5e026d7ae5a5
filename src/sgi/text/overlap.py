"""How much of a response stands in its passages: the trivial baseline beside every grounding detector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.text.tokens import word_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable


def token_precision(response: str, passages: Iterable[str]) -> float:
    r"""Share of the response's distinct words that stand somewhere in the passages.

    Words are casefolded ``\w+``, numbers and short words among them; a word counts once, however often it
    stands on either side.

    Args:
        response: the answer.
        passages: what it should rest on.

    Returns:
        A share in [0, 1]; 0 for a response without words, which rests on nothing.

    >>> token_precision("Paris, in 1889, not Rome", ["The tower in Paris", "built 1889"])
    0.6
    """
    return token_precisions([(response, passages)])[0]


def token_precisions(rows: Iterable[tuple[str, Iterable[str]]]) -> list[float]:
    """The token precision of each row's response in its passages; a text that comes again is read once.

    >>> token_precisions([("Paris", ["In Paris."]), ("Rome", ["In Paris."])])
    [1.0, 0.0]
    """
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
    r"""Whether the response stands in one of the passages, but for case and white space.

    Case is folded and a run of white space counts as one space; words are no matter, so that "art" stands in
    "artist". A blank response stands nowhere.

    Args:
        response: the answer.
        passages: what it may have been copied from; it has to stand in one of them whole.

    >>> is_verbatim("the  Eiffel\ntower", ["Paris has the Eiffel Tower."]), is_verbatim(" ", ["a b"])
    (True, False)
    """
    sought = _folded(response)
    return bool(sought) and any(sought in _folded(passage) for passage in passages)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
