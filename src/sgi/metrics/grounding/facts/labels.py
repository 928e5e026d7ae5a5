"""Extracts numbers that name something: sections, routes, versions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.fact import Label, merge_spans, overlaps
from sgi.metrics.grounding.facts.number_support import FactMatch
from sgi.metrics.grounding.facts.numerals import ONES
from sgi.metrics.grounding.facts.words import stem

if TYPE_CHECKING:
    from collections.abc import Sequence

# Words before a number that are about the world, and not about the text and its passages.
_LABELLED = re.compile(
    r"\b(?P<label>sections?|articles?|chapters?|rules?|items?|phases?|stages?|levels?|class|grades?|routes?"
    r"|highways?|interstates?|rooms?|volumes?|versions?|types?|numbers?|no\.)"
    r"\s?#?(?P<number>\d+(?:\([\w]{1,3}\)|[.:-]\d+)*)"
    r"|#(?P<hash>\d+)",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_WORDS = {str(number): word for word, number in ONES.items()}
_HASH = "#"


def labels(text: str, excluded: Sequence[tuple[int, int]] = ()) -> tuple[Label, ...]:
    """Return the labels of an English text in order, except those in the excluded parts.

    >>> [(label.label, label.number) for label in labels("Section 43(6) of the Act, and bus #126")]
    [('section', '43(6)'), ('#', '126')]
    """
    if not _DIGIT.search(text):
        return ()
    parts = merge_spans(excluded)
    return tuple(
        Label(
            match[0],
            *match.span(),
            label=stem(match["label"].casefold()) if match["label"] else _HASH,
            number=match["number"] or match["hash"],
        )
        for match in _LABELLED.finditer(text)
        if not overlaps(*match.span(), parts)
    )


def label_support(label: Label, passage: str) -> FactMatch | None:
    """Find where a passage has the number of a label, with any word before it."""
    match = re.search(rf"(?<![\w.,]){re.escape(label.number)}(?![\w(]|[.:-]\d)", passage)
    word = _WORDS.get(label.number)
    if match is None and word and label.label != _HASH:
        match = re.search(rf"\b{label.label}s?\s{word}\b", passage, re.IGNORECASE)
    return FactMatch(match[0], *match.span(), "equal") if match else None
