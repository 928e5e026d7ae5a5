"""The answer normalisation of SQuAD v1.1."""

from __future__ import annotations

import re
import string

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalise_answer(text: str) -> str:
    r"""An answer as SQuAD v1.1 compares it.

    Lower case; ASCII punctuation deleted; the words *a*, *an* and *the* dropped; white space squeezed.
    Punctuation goes first, so that "a." is an article and "A.B." becomes the word "ab". Typographic
    quotes and dashes are not ASCII and stay.

    Args:
        text: an answer.

    Returns:
        The normalised answer; empty where nothing but punctuation and articles was there.

    Source: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    >>> normalise_answer("  The Eiffel\tTower, in a  U.S. city!")
    'eiffel tower in us city'
    """
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())
