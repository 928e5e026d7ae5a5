"""Finds numbers that name something: sections, rooms, list marks, notes."""

from __future__ import annotations

import re

from sgi.metrics.grounding.facts.words import word_set

# Words whose number is a name: parts of a text, rooms, roads.
_LABELS = frozenset(
    f"{word}{plural}"
    for word in word_set(
        """
        passage document doc source context excerpt reference paragraph step tip method option
        figure fig table chapter section part page p no number item article volume vol version rule
        question answer type phase stage level class grade route highway interstate room line point
        """
    )
    for plural in ("", "s")
)
_LABELLED = re.compile(
    r"\d+(?:\(\d+\)|[:.]\d+)*(?:\s?(?:,|&|-|–|,?\s?(?:and|or|of))\s?#?\d+(?![\d.,]*\d|\s?[%°$]))*"
)
_LAST_WORD = re.compile(r"([^\W\d_]+)[.]?\s?#?$")
_LIST_MARK = re.compile(r"\d{1,3}[.)](?!\d)")
_LONE_NOTE = re.compile(r"\d(?=\))")  # "(1)"
_CERTAIN = re.compile(r"100\s?%\s(?:sure|certain)\b")
_NOTE = re.compile(r"\d+(?:\s?[,–-]\s?\d+)*\]")
_MARK_SIGNS = " \t>*•-("


def label_end(text: str, start: int) -> int:
    """Return the end of numbers that name something ("section 4"); 0 if they count something."""
    before = text[max(0, start - len("paragraphs. #")) : start]
    word = _LAST_WORD.search(before)
    match = None
    if (word and word[1].lower() in _LABELS) or before.endswith("#"):
        match = _LABELLED.match(text, start)
    elif note := _LONE_NOTE.match(text, start) if before.endswith("(") else _CERTAIN.match(text, start):
        match = note
    elif before.endswith("["):
        match = _NOTE.match(text, start)
    elif marked := _LIST_MARK.match(text, start):
        line = text[text.rfind("\n", 0, start) + 1 : start]
        opens = not line.strip(_MARK_SIGNS)
        follows = (
            line.rstrip()[-1:] in set(":;.,!?") and text[marked.end() : marked.end() + 2].strip().isupper()
        )
        match = marked if opens or follows else None
    return match.end() if match else 0
