"""Splits texts into sentences."""

from __future__ import annotations

import re
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Characters that the library does not handle (lone surrogates, white space beyond ASCII before a full stop)
# and their replacements of the same length.
_REPLACEMENTS = (
    (re.compile("[\ud800-\udfff]"), "\ufffd"),
    (re.compile("[\x85\u2028\u2029]"), "\n"),
    (re.compile(r"[^\S\x00-\x7f]"), " "),
)
# The number or sign of a list item, at the beginning of a line
_LIST_MARK = re.compile(r"(?m)^([^\S\n]*)(\(?\d{1,3}[.)]|[*•-])(?=[^\S\n])")
_LOOK_BACK = 24
# German ordinals before a noun, at which the library splits: "im frühen 18. Jahrhundert"
_GERMAN_ORDINAL = re.compile(
    r"\b(?:i[mns]|am|des|de[mnr]|die|das|vo[mn]|zu[mr]?|beim|und|bis|frühen|späten|mittleren|ausgehenden)"
    r"\s\d{1,2}\.\s*$",
    re.IGNORECASE,
)


def sentences(text: str, language: str = "en") -> list[str]:
    r"""Split a text into sentences, without the white space around them; a blank text has none.

    A blank line or a list item ends a sentence; most abbreviations of the language (ISO 639-1) do not.

    Source: the rules of the library sentencex.

    >>> sentences("Dr. Curie won twice. First in 1903!\n\n- physics\n- chemistry")
    ['Dr. Curie won twice.', 'First in 1903!', '- physics', '- chemistry']
    """
    return [text[start:end] for start, end in sentence_spans(text, language)]


def sentence_spans(text: str, language: str = "en") -> tuple[tuple[int, int], ...]:
    """Return start and end of each sentence, as character offsets."""
    readable = text
    for pattern, replacement in () if text.isascii() else _REPLACEMENTS:
        readable = pattern.sub(replacement, readable)
    items = [match.start() for match in _LIST_MARK.finditer(readable)]
    # The library does not split list items, and it splits after "1."
    if items:
        readable = _LIST_MARK.sub(lambda match: match[1] + "A" * len(match[2]), readable)
    parts = chain.from_iterable(
        _segments(language, readable[start:end]) for start, end in pairwise([0, *items, len(text)])
    )
    spans = []
    for start, end in pairwise(accumulate(map(len, parts), initial=0)):
        part = text[start:end]
        if not part.isspace():
            first = start + len(part) - len(part.lstrip())
            spans.append((first, first + len(part.strip())))
    return tuple(spans)


def _segments(language: str, text: str) -> list[str]:
    import sentencex

    parts = sentencex.segment(language, text)
    return _joined(parts) if language == "de" else list(parts)


def _joined(parts: Iterable[str]) -> list[str]:
    """Join the parts of a German text that were split after an ordinal.

    >>> _joined(["Sie stammt aus dem 18. ", "Jahrhundert. ", "Er kam."])
    ['Sie stammt aus dem 18. Jahrhundert. ', 'Er kam.']
    """
    joined: list[str] = []
    for part in parts:
        if joined and _GERMAN_ORDINAL.search(joined[-1][-_LOOK_BACK:]):
            joined[-1] += part
        else:
            joined.append(part)
    return joined
