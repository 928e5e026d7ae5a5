"""Splits texts into sentences."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise

# Characters that the library does not handle (lone surrogates, white space beyond ASCII before a full stop)
# and their replacements of the same length.
_REPLACEMENTS = (
    (re.compile("[\ud800-\udfff]"), "\ufffd"),
    (re.compile("[\x85\u2028\u2029]"), "\n"),
    (re.compile(r"[^\S\x00-\x7f]"), " "),
)


def sentences(text: str) -> list[str]:
    r"""Split a text into sentences, without the white space around them; a blank text has none.

    A line break ends a sentence; most abbreviations do not.

    Source: the rules of the library sentencex.

    >>> sentences("Dr. Curie won twice. First in 1903!\n\n- physics\n- chemistry")
    ['Dr. Curie won twice.', 'First in 1903!', '- physics', '- chemistry']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return start and end of each sentence, as character offsets."""
    import sentencex

    readable = text
    for pattern, replacement in () if text.isascii() else _REPLACEMENTS:
        readable = pattern.sub(replacement, readable)
    ends = accumulate(map(len, sentencex.segment("en", readable)), initial=0)
    spans = []
    for start, end in pairwise(ends):
        part = text[start:end]
        if not part.isspace():
            first = start + len(part) - len(part.lstrip())
            spans.append((first, first + len(part.strip())))
    return tuple(spans)
