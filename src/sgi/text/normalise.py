"""The answer normalisation of SQuAD v1.1."""

from __future__ import annotations

import re
import string

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalise_answer(text: str) -> str:
    r"""Lower-case; delete ASCII punctuation, then the words *a*, *an* and *the*; collapse white space.

    Source: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    >>> normalise_answer("  The Eiffel\tTower, in a  U.S. city!")
    'eiffel tower in us city'
    """
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())
