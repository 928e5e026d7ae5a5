"""Names in running text, recognised by capital letters, without a model."""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LETTER = "[A-Za-zÀ-ÖØ-öø-ÿ]"
_WORD = rf"[A-Z]{_LETTER}*(?:[-'’&]{_LETTER}+)*"
_NAME = re.compile(rf"\b{_WORD}(?:[ ](?:(?:of|the|de|van|von|da|del|la)[ ]){{0,2}}{_WORD})*")
_WITHIN = re.compile(r"[a-z,(] ?$")
# Words capitalised for other reasons: sentence openers, pronouns and parts of dates.
_OTHER_CAPITALS = """
a about according additionally after all also although an and another any are as at based be because
before both but by can do does during each every first finally for from further furthermore given has
have he her here his how however i if in is it its just like many may more most my no not note of on once
one only or other others our overall passage passages please second she since so some such that the their
then there these they third this those though through to two under unlike until up was we were what when
where whether which while who why will with without yes you your january february march april june july
august september october november december jan feb mar apr jun jul aug sep sept oct nov dec monday
tuesday wednesday thursday friday saturday sunday"""
_NO_NAMES = frozenset(_OTHER_CAPITALS.split())


def names_of(text: str) -> list[str]:
    """Return runs of capitalised words, in order, with repeats; dates and openers of sentences are skipped.

    >>> names_of("In 1889 Gustave Eiffel built it in Paris. The Bank of England paid in March.")
    ['Gustave Eiffel', 'Paris', 'Bank of England']
    """
    return [name for name, _ in _positions(text)]


def sure_names(text: str) -> list[str]:
    """Return the names that are not at the start of a sentence, where other words are capitalised too.

    >>> sure_names("Combine it in Paris. Drizzle Oil of Olives.")
    ['Paris']
    """
    return [name for name, place in _positions(text) if _WITHIN.search(text, max(0, place - 2), place)]


def _is_no_name(word: str) -> bool:
    return not word[:1].isupper() or word.casefold() in _NO_NAMES


def _positions(text: str) -> Iterator[tuple[str, int]]:
    """Return the names with their positions."""
    for match in _NAME.finditer(text):
        words = list(dropwhile(_is_no_name, match[0].split(" ")))
        name = " ".join(words)
        if len(name) > 2 and not any(word[0].isupper() and _is_no_name(word) for word in words):  # noqa: PLR2004 - initials are no names
            yield name, match.start()


def like(name: str, other: str) -> bool:
    """Return whether two names have equally many words, and are both or neither written in capitals."""
    return len(name.split(" ")) == len(other.split(" ")) and name.isupper() == other.isupper()
