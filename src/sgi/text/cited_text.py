"""Splits a text into statements, and assigns each citation marker to the statement that it cites."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from sgi.text.citation_markers import find_markers, footnote_spans, reference_list_start
from sgi.text.tokenizers import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sgi.text.citation_markers import Marker
    from sgi.text.linear_pattern import LinearPattern

_BETWEEN = re.compile(r"[ \t]{0,3}(?:[,;&]|and\b)?[ \t]{0,3}")
_CLOSING = frozenset(".,;:!?)]}…»”’\"'")
_BLANKS = frozenset(" \t\u00a0\u2009\u200b\u202f\u2060")


class CitedStatement(NamedTuple):
    """A statement: its span in the text, its text without markers, and the indices of its markers."""

    start: int
    end: int
    text: str
    markers: tuple[int, ...]


class CitedText(NamedTuple):
    """The markers and the statements of a text; ``plain`` is the text without markers and footnotes."""

    markers: tuple[Marker, ...]
    statements: tuple[CitedStatement, ...]
    plain: str


class TextWithoutMarkers(NamedTuple):
    """A text without markers, and the old position of each of its characters; None if nothing changed."""

    text: str
    positions: Sequence[int] | None


class _Removal(NamedTuple):
    """A part of the text that is removed, and its markers."""

    start: int
    end: int
    markers: tuple[int, ...]


def split_cited_text(
    text: str, *, pattern: LinearPattern | None = None, ids: Collection[str] = ()
) -> CitedText:
    """Split a text into sentences without their markers; a text without markers is not changed.

    A marker cites the sentence that it is in, or the sentence before it, also after the full stop and at the
    end of a line. A marker at the beginning of a line cites the sentence after it. All markers of a sentence
    cite the whole sentence. Footnote definitions are not statements.

    Args:
        text: the text.
        pattern: the syntax of inline ids.
        ids: the ids of passages.

    >>> cited = split_cited_text("It is tall [1] and red. [2][3] It is old.")
    >>> [(statement.text, statement.markers) for statement in cited.statements]
    [('It is tall and red.', (0, 1, 2)), ('It is old.', ())]
    """
    markers = tuple(find_markers(text, pattern=pattern, ids=ids))
    removals = [*_runs(text, markers), *(_Removal(*span, ()) for span in footnote_spans(text))]
    plain, positions, places = _remove(text, sorted(removals))
    spans = sentence_spans(plain)
    cited: list[list[int]] = [[] for _ in spans]
    for removal, place in places:
        statement = _statement_at(text, removal, place, spans)
        if statement is not None:
            cited[statement] += removal.markers
    statements = [
        CitedStatement(positions[start], positions[end - 1] + 1, plain[start:end], tuple(own))
        for (start, end), own in zip(spans, cited, strict=True)
    ]
    return CitedText(markers, tuple(statements), plain)


def remove_markers(text: str, *, ids: Collection[str] = ()) -> TextWithoutMarkers:
    """Remove the citation markers of a text, and the spaces before them where punctuation follows.

    A final list of files and links is removed, too; see `reference_list_start`. Footnote definitions
    and lists of sentences stay, because they can state something. Other texts are returned unchanged.

    Args:
        text: the text.
        ids: the ids of passages; an id in square brackets is a marker.

    >>> remove_markers("It is tall [1][2]. It is red (Source 3)!").text
    'It is tall. It is red!'
    """
    removals = [*_runs(text, find_markers(text, ids=ids))]
    references = reference_list_start(text)
    if references is not None:
        removals = [each for each in removals if each.start < references]
        removals.append(_Removal(references, len(text), ()))
    if not removals:
        return TextWithoutMarkers(text, None)
    plain, positions, _ = _remove(text, removals)
    return TextWithoutMarkers(plain, positions)


def _runs(text: str, markers: Sequence[Marker]) -> Iterator[_Removal]:
    """Join markers in a row, such as ``[1][2]`` or ``[1], [2]``."""
    run: list[int] = []
    for number, marker in enumerate(markers):
        if run and not _BETWEEN.fullmatch(text, markers[run[-1]].end, marker.start):
            yield _Removal(markers[run[0]].start, markers[run[-1]].end, tuple(run))
            run = []
        run.append(number)
    if run:
        yield _Removal(markers[run[0]].start, markers[run[-1]].end, tuple(run))


def _remove(text: str, removals: Sequence[_Removal]) -> tuple[str, Sequence[int], list[tuple[_Removal, int]]]:
    """Remove parts of a text.

    Returns:
        The new text, the old position of each of its characters, and the place of each removed part in it.
    """
    if not removals:
        return text, range(len(text)), []
    positions: list[int] = []
    characters: list[str] = []
    places: list[tuple[_Removal, int]] = []
    at = 0
    for removal in removals:
        positions += range(at, removal.start)
        characters += text[at : removal.start]
        following = text[removal.end : removal.end + 1]
        if not following or following.isspace() or following in _CLOSING:
            while characters and characters[-1] in _BLANKS:
                characters.pop()
                positions.pop()
        elif following.isalnum() and characters and characters[-1].isalnum():
            characters.append(" ")
            positions.append(removal.start)
        places.append((removal, len(characters)))
        at = removal.end
    positions += range(at, len(text))
    characters += text[at:]
    return "".join(characters), positions, places


def _statement_at(text: str, removal: _Removal, place: int, spans: Sequence[tuple[int, int]]) -> int | None:
    """Return the number of the statement that a marker at this place of the plain text cites."""
    if not removal.markers or not spans:
        return None
    before = bisect_left(spans, (place, -1))  # statements that begin before the place
    line_start = text.rfind("\n", 0, removal.start) + 1
    line_end = text.find("\n", removal.end)
    rest = text[removal.end : len(text) if line_end < 0 else line_end]
    if before < len(spans) and not text[line_start : removal.start].strip() and any(map(str.isalnum, rest)):
        return before
    return max(0, before - 1)
