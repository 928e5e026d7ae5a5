"""Which share of a text a tokenizer reads, and the smallest share for which a text is compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.text.tokenizers import word_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_READ_SHARE = 0.8
"""A text of which smaller shares of the letters and of the words are read has no value.

Measured on the 385 test pairs of STS-B with the embedded model, with random words of both texts made unknown:
the correlation with human scores is 0.82 if all is read, 0.60 at 80 %, 0.44 at 60 % and 0.20 at 40 %. See
docs/internals/decisions/0071.
"""

_PERCENT = round(100 * MIN_READ_SHARE)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def reads_enough(text: str, unread: Sequence[bool]) -> bool:
    """Return whether 80 % of the letters, or 80 % of the words, of a text are read.

    ``unread`` is True for each character that is not read. A word is read if at least half of its letters
    are: a foreign name in a sentence is one unread word, and "élève" is read without its accented letters. In
    scripts without spaces between words each letter is a word. Of a text without letters all visible
    characters count.

    >>> texts = ("The poet Пушкин was born in Moscow", "Онегин is an opera")
    >>> [reads_enough(text, [not sign.isascii() for sign in text]) for text in texts]
    [True, False]
    """
    letters = read_letters = words = read_words = 0
    for start, end in word_spans(text):
        signs = zip(text[start:end], unread[start:end], strict=True)
        flags = [flag for sign, flag in signs if sign.isalpha()]
        read = len(flags) - sum(flags)
        letters, read_letters = letters + len(flags), read_letters + read
        words, read_words = words + bool(flags), read_words + bool(flags and 2 * read >= len(flags))
    if letters:
        return max(read_letters / letters, read_words / words) >= MIN_READ_SHARE
    visible = [flag for sign, flag in zip(text, unread, strict=True) if not sign.isspace()]
    return len(visible) - sum(visible) >= MIN_READ_SHARE * len(visible)


def ascii_suffices(text: str) -> bool:
    """Return whether a to z are enough of a text's letters; in a text without letters, the digits 0 to 9.

    >>> [ascii_suffices(text) for text in ("Déjà vu in Paris", "Налог 5", "５", "8½ – €", "…")]
    [True, False, False, True, True]
    """
    if text.isascii():
        return True
    lowered = text.lower()
    if not any(map(_is_compared, "".join(_NOT_ASCII.findall(lowered)))):
        return True
    compared = "".join(sign if _is_compared(sign) else " " for sign in lowered)
    return reads_enough(compared, [not sign.isascii() for sign in compared])


def _is_compared(character: str) -> bool:
    return character.isalpha() or character.isdecimal()


def unread_by_model(model: str, what: str) -> str:
    """Return the reason that a row has no value: a model does not read one of its texts, such as "response".

    >>> unread_by_model("minilm", "response")
    'the vocabulary of minilm covers less than 80 % of the response; use a model for its language'
    """
    return (
        f"the vocabulary of {model} covers less than {_PERCENT} % of the {what}; use a model for its language"
    )


def unread_by_tokenizer(what: str) -> str:
    """Return the reason that a row has no value: only a to z are compared, which are too little of a text."""
    return (
        f"only a to z and digits are compared, which are less than {_PERCENT} % of the {what}; "
        'tokenizer="unicode" reads any script'
    )
