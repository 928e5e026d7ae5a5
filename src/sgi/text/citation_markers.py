"""Finds citation markers in a text, such as ``[1]``, ``[2, 3]``, ``(Source 2)`` or a superscript digit."""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from sgi.text.kind_citations import MAX_RANGE, find_kind_citations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sgi.text.linear_pattern import LinearPattern

_BRACKETS = re.compile(r"\[([^\[\]\n]{1,120})\]|【([^【】\n]{1,120})】|［([^［］\n]{1,120})］")
_PARENTHESES = re.compile(r"\(([^()\n]{1,120})\)")
_WORD = (
    r"(?:source|document|doc|passage|context|reference|ref|citation|chunk|excerpt|snippet|article|footnote)s?"
)
_ITEM = re.compile(
    rf"(?:see )?(?P<word>{_WORD}\.?\s?[:#]?\s?)?\^?(?P<first>\d{{1,3}})"
    r"(?:\s?[-\u2013\u2014]\s?(?P<last>\d{1,3}))?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[,;/]\s?(?:and\s)?|\s(?:and|&)\s", re.IGNORECASE)
_ID_SEPARATOR = re.compile(r"[,;]|\s(?:and|&)\s", re.IGNORECASE)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")
_SPACES = re.compile(r"\s+")
_SUPERSCRIPT = re.compile(
    "[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3}(?:[,\u02d2\u207b][\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3}){0,19}"
)
_TO_DIGITS = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u02d2", "0123456789-,"
)
_CODE = re.compile(r"```.*?(?:```|\Z)|^~~~.*?(?:^~~~|\Z)|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK_TARGET = re.compile(r"\([^()\s]{1,2000}\)")
_IDENTIFIER = re.compile(r"[^\W\d]\w{0,40}\Z")
_INDEXED = frozenset(
    {"arr", "array", "list", "vec", "vector", "matrix", "args", "argv", "index", "row", "col"}
)
_AFTER_INDEX = re.compile(r"(?:\[\d{1,3}\])*(?:\s?[=+*<>/](?!\w{0,9}>)|\.\w|\[[^\W\d]|\()")
_INTERVAL = re.compile(
    r"(?:\b(?:range|interval|vector|list|array|coordinates|point|set|between)(?:\s(?:of|from))?|[=∈≤≥<>+*])\s?\Z",
    re.IGNORECASE,
)
_SUPERSCRIPT_TAG = re.compile(
    r"<sup\b[^<>]{0,200}>((?:[^<]|<(?!/?sup\b)[^<>]{0,300}>){1,300}?)</sup\s*>", re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]{0,300}>")
_UNIT = re.compile(
    r"[cdkmnpµμ]?m|hm|dam|ha|ft|in|yd|mi|sec|[km]?g|[kmg]?hz|[kmg]?ev|rad|mol|mc|sin|cos|tan|log|chi"
    r"|met(?:er|re)s?|mètres?|metros?|metri|feet|foot|inch(?:es)?|miles?",
    re.IGNORECASE,
)
_FORMULA_BEFORE = re.compile(r"(?:\A|[\n:=])\s*\Z")
_FORMULAS = frozenset({"CO", "SO", "NO", "NH", "CH", "PM"})
_YEAR = re.compile(r"(?<![\w.,$€£¥\u2212-])(?:1\d{3}|20\d{2})\Z")
_OPERATOR_BEFORE = re.compile(r"[=+*^×·<>\u2212]\s?(?:\d{4}|[^\W\d]{1,3})\Z")
_OPERATOR_AFTER = re.compile(r"\s?[=+*/^×·\u2212<>]")
_POWER = re.compile(r"\((?:\w{1,2}|\d{1,9})(?:\s?[-+*/×·=\u2212]\s?(?:\w{1,2}|\d{1,9})){1,9}\)\Z", re.UNICODE)
_YEAR_DIGITS = 4
_GAP = 3
_BEFORE = 60  # characters before a bracket that decide what the bracket is


class Marker(NamedTuple):
    """A citation marker: its span in the text, and the positions (from 1) or ids that it names."""

    start: int
    end: int
    targets: tuple[int | str, ...]


def find_markers(
    text: str, *, pattern: LinearPattern | None = None, ids: Collection[str] = ()
) -> list[Marker]:
    r"""Find the citation markers of a text, in order, without overlaps.

    Markers are numbers of at most three digits in brackets (``[1]``, ``[2, 3]``, ``[1-3]``, ``[^4]``,
    ``\[1\]``, ``【1†source】``), superscripts after a word or a punctuation mark (``tall¹``,
    ``tall<sup>1</sup>``), named numbers (``(Source 2)``, ``[Doc 3]``), and kinds with ids
    (``[Data: Reports (2, 7)]``); see `find_kind_citations`. A superscript after a year is one if another
    superscript is one; see `unread_markers`. Years, Markdown links, array indexes, intervals,
    exponents, formulas, code and footnote definitions are not markers.

    Args:
        text: the text.
        pattern: the syntax of inline ids, in brackets or not.
        ids: the ids of passages; an id in square brackets is a marker.

    >>> [(text := "It is old (built in 1889) [1, 3]. It is red.²"), *find_markers(text)][1:]
    [Marker(start=26, end=32, targets=(1, 3)), Marker(start=44, end=45, targets=(2,))]
    """
    superscripts = [*_superscripts(text)]
    has_certain = any(found.is_certain for found in superscripts)
    of_kinds = [Marker(*found) for found in find_kind_citations(text, ids)]
    candidates = chain(
        of_kinds,
        _bracketed(text, pattern, frozenset(ids)),
        _in_parentheses(text, pattern),
        (found.marker for found in superscripts if found.is_certain or has_certain),
        _bare_ids(text, pattern),
    )
    markers: list[Marker] = []
    end = 0
    ordered = sorted(candidates, key=lambda marker: (marker.start, -marker.end))
    excluded = [span for span in _excluded(text) if not _is_unpaired(text, span, of_kinds)]
    for marker in _outside(ordered, excluded):
        if marker.start >= end:
            markers.append(marker)
            end = marker.end
    return markers


def unread_markers(text: str) -> list[str]:
    """Return superscripts after years, which can be markers or exponents, if no superscript is a marker.

    >>> unread_markers("It was built in 1889²."), unread_markers("It was built in 1889². It is tall.¹")
    (['1889²'], [])
    """
    superscripts = [*_superscripts(text)]
    if any(found.is_certain for found in superscripts):
        return []
    unread = _outside([found.marker for found in superscripts], _excluded(text))
    return [text[max(0, marker.start - _YEAR_DIGITS) : marker.end].strip() for marker in unread]


def _excluded(text: str) -> list[tuple[int, int]]:
    """Return the spans of code and of footnotes, in order."""
    return sorted([*footnote_spans(text), *(match.span() for match in _CODE.finditer(text))])


def _is_unpaired(text: str, span: tuple[int, int], of_kinds: list[Marker]) -> bool:
    """Return whether a span between two single backticks has a citation by kind beside other text."""
    start, end = span
    is_inline = text[start] == "`" and text[start + 1] != "`"
    return is_inline and any(
        start < each.start and each.end < end and each.end - each.start < end - start - 2 for each in of_kinds
    )


def _outside(markers: list[Marker], excluded: list[tuple[int, int]]) -> Iterator[Marker]:
    """Yield the markers that begin in none of the excluded spans; both lists are sorted."""
    at = last = 0
    for marker in markers:
        while at < len(excluded) and excluded[at][0] <= marker.start:
            last = max(last, excluded[at][1])
            at += 1
        if marker.start >= last:
            yield marker


def _bracketed(text: str, pattern: LinearPattern | None, ids: frozenset[str]) -> Iterator[Marker]:
    previous_end = -1
    for match in _BRACKETS.finditer(text):
        start, end = match.span()
        content = _plain(match[0][1:-1])
        if match[0].endswith("\\]") and text[start - 1 : start] == "\\":  # Markdown escapes brackets
            start, content = start - 1, content[:-1]
            if _FORMULA_BEFORE.search(text, max(0, start - _BEFORE), start) or content.endswith(" "):
                continue
        targets: tuple[int | str, ...] = _named(content, pattern, ids)
        if not targets:
            numbers = _numbers(content, plain=True)
            if numbers and _is_marker(text, start, end, numbers, previous_end):
                targets = numbers
        if targets:
            previous_end = end
            if text[start - 1 : start] + text[end : end + 1] in {"[]", "()"}:
                start, end = start - 1, end + 1
                link = _LINK_TARGET.match(text, end) if text[start] == "[" else None
                end = end if link is None else link.end()
            yield Marker(start, end, targets)


def _in_parentheses(text: str, pattern: LinearPattern | None) -> Iterator[Marker]:
    for match in _PARENTHESES.finditer(text):
        content = _plain(match[1])
        targets = _named(content, pattern, frozenset()) or _numbers(content, plain=False)
        if targets:
            yield Marker(*match.span(), targets)


def _plain(content: str) -> str:
    return _SPACES.sub(" ", _INVISIBLE.sub("", content)).strip()


def _named(content: str, pattern: LinearPattern | None, ids: frozenset[str]) -> tuple[str, ...]:
    """Return the ids in a bracket; empty if one of its parts is not an id."""
    if not ids and pattern is None:
        return ()
    if content in ids or (pattern is not None and pattern.matches(content)):
        return (content,)
    parts = [part.strip() for part in _ID_SEPARATOR.split(content)]
    known = all(part in ids or (pattern is not None and pattern.matches(part)) for part in parts)
    return tuple(dict.fromkeys(parts)) if known else ()


def _numbers(content: str, *, plain: bool) -> tuple[int, ...]:
    """Return the numbers in a bracket; without ``plain``, only after a word such as "source"."""
    numbers: dict[int, None] = {}
    for number, part in enumerate(_SEPARATOR.split(content.partition("†")[0])):
        item = _ITEM.fullmatch(part.strip())
        if item is None or not (plain or number or item["word"]):
            return ()
        first = int(item["first"])
        last = first if item["last"] is None else int(item["last"])
        if not first <= last < first + MAX_RANGE:
            return ()
        numbers |= dict.fromkeys(range(first, last + 1))
    return tuple(numbers)


def _is_marker(text: str, start: int, end: int, targets: tuple[int, ...], previous_end: int) -> bool:
    """Return whether numbers in a bracket cite passages, judged by the text around the bracket."""
    before, after = text[max(0, start - _BEFORE) : start], text[end : end + 12]
    if after.startswith(("(", "]:")) or (after.startswith("](") and not before.endswith("[")):
        return False  # a Markdown link
    if (
        before.endswith(("]", "!"))
        and start != previous_end
        and not (before.endswith("!") and before[-2:-1].isalpha())
    ):
        return False  # [text][1] is a reference link of Markdown
    if len(targets) > 1 and (0 in targets or _INTERVAL.search(before)):
        return False
    name = _IDENTIFIER.search(before)
    return name is None or not _is_index(name[0], after)


def _is_index(name: str, after: str) -> bool:
    """Return whether a bracket directly after a name is an array index, as in ``x[1]``."""
    if len(name) == 1 or name.lower() in _INDEXED or "_" in name:
        return True
    mixed = any(map(str.isdigit, name)) or any(a.islower() and b.isupper() for a, b in pairwise(name))
    return mixed or _AFTER_INDEX.match(after) is not None


class _Superscript(NamedTuple):
    """A superscript that is a marker, or, after a year, may be one."""

    marker: Marker
    is_certain: bool


def _superscripts(text: str) -> Iterator[_Superscript]:
    """Yield the superscripts that are not exponents, in order."""
    spans = [] if text.isascii() else [(*match.span(), match[0]) for match in _SUPERSCRIPT.finditer(text)]
    spans += [(*match.span(), match[1]) for match in _SUPERSCRIPT_TAG.finditer(text)]
    last_end = 0
    for start, end, content in sorted(spans):
        numbers = _plain(_TAG.sub("", content)).replace("][", ",")
        bare = numbers.strip("[]()")
        targets = _numbers(bare.translate(_TO_DIGITS), plain=True)
        before, after = text[max(0, start - _BEFORE) : start], text[end : end + 3]
        gap = text[last_end:start] if 0 < last_end <= start < last_end + _GAP else "no"
        follows = not gap.strip(" ,")  # as in tall¹ ²
        is_marker = True if bare != numbers or follows else _is_superscript_marker(before, after)
        if targets and is_marker is not None:
            last_end = end
            yield _Superscript(Marker(start, end, targets), is_marker)


def _is_superscript_marker(before: str, after: str) -> bool | None:
    """Return whether a superscript cites a passage, judged by the text around it; None for an exponent.

    False if it can be both: after a year.
    """
    before = before.rstrip(" \t\u00a0")
    last = before[-1:]
    if not last.strip() or after[:1].isalnum() or after[:1] in {"\u2044", "\u207a", "\u207b"}:
        return None  # at the beginning of a line, or of a fraction, an ion or an isotope
    if last in "\u207a\u207b^/" or _POWER.search(before) or _OPERATOR_BEFORE.search(before):
        return None
    if last.isdecimal():
        return False if _YEAR.search(before) and not _OPERATOR_AFTER.match(after) else None
    word = _IDENTIFIER.search(before)
    if word is None:
        return True
    return None if len(word[0]) == 1 or _UNIT.fullmatch(word[0]) or word[0] in _FORMULAS else True


def _bare_ids(text: str, pattern: LinearPattern | None) -> Iterator[Marker]:
    if pattern is not None:
        yield from (Marker(start, end, (text[start:end],)) for start, end in pattern.spans(text))


_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^?[^\[\]\n]{1,40}\]:[^\n]*", re.MULTILINE)
_HEADING = re.compile(
    r"^[#*_ \t]{0,6}(?:references|sources|citations|bibliography|footnotes|works cited|sources cited)"
    r"[*_ \t]{0,4}:?[*_ \t]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_ENTRY = re.compile(
    "[ \t]{0,3}(?:[-*•][ \t])?"
    "(?:[\\[【(]\\^?(\\d{1,3})[\\]】)]|(\\d{1,3})[.)](?=\\s)|([¹²³⁴⁵⁶⁷⁸⁹⁰]{1,3}))[ \t]*\\S"
)
_BULLET = r"[ \t]{0,3}(?:[-*+•][ \t]{1,3})?"
_NUMBERED = re.compile(_BULLET + r"(?:\*\*)?[\[【]\^?\d{1,3}[\]】](?:\*\*)?:?[ \t]*\S")
_LINK = re.compile(
    _BULLET + r"(?:(?:[\[【(]\^?\d{1,3}[\]】)]|\d{1,3}[.)])[ \t]{1,3})?"
    r"(?:<?https?://\S{1,2000}|\[[^\[\]\n]{1,300}\]\([^()\s]{1,2000}\)|[\[(]\^?data ?:[^\[\]\n]{1,500}\]?"
    r"|(?:\S{1,80} ){0,5}\S{0,200}?\w[\w()-]{0,99}\.[a-z]\w{1,4})[ \t]{0,3}",
    re.IGNORECASE,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def footnote_spans(text: str) -> list[tuple[int, int]]:
    r"""Return the spans of footnote definitions and of a final list of sources, in order.

    A definition is a line ``[1]: text``. A final list has a heading such as "Sources:", or follows a blank
    line; all its lines begin with a number, or after a heading are links or names of files. Without a heading
    the numbers increase.

    >>> text = "It is tall [1].\n\nSources:\n[1] A page about towers"
    >>> [text[start:end] for start, end in footnote_spans(text)]
    ['Sources:\n[1] A page about towers']
    """
    if "\n" not in text and not text.lstrip().startswith("["):
        return []
    spans = [match.span() for match in _DEFINITION.finditer(text)]
    final = _final_list(text)
    if final is not None and final < len(text):
        spans = [span for span in spans if span[0] < final]
        spans.append((final, len(text)))
    return spans


def reference_list_start(text: str) -> int | None:
    r"""Return where a final list of files and links begins; None if there is none.

    The list follows other text and has a heading such as "References". Other lines, such as titles, could
    state something, so a text with them has no such list.

    >>> text = "It is tall [1].\n\n### References\n\n- [1] towers.md"
    >>> text[reference_list_start(text) :], reference_list_start(text.replace("towers.md", "It is tall"))
    ('### References\n\n- [1] towers.md', None)
    """
    start, lines = _after_heading(text)
    return start if lines and all(map(_LINK.fullmatch, lines)) and text[:start].strip() else None


def is_reference(text: str, before: str) -> bool:
    r"""Return whether a text is the heading of a list of references, or continues such a list.

    >>> is_reference("- [2] b.md", "Old.\n\nReferences:\n- [1] a.md\n"), is_reference("Red.", "Old.")
    (True, False)
    """
    start = reference_list_start(before + text)
    return _HEADING.fullmatch(text.strip()) is not None or (start is not None and start < len(before))


def _after_heading(text: str) -> tuple[int, list[str]]:
    """Return where the last heading of a list begins, and the lines after it that are not blank."""
    headings = [match.span() for match in _HEADING.finditer(text)] if "\n" in text else []
    start, end = headings[-1] if headings else (len(text), len(text))
    return start, [line for line in text[end:].splitlines() if line.strip()]


def _final_list(text: str) -> int | None:
    """Return where the final list of sources begins; None if there is none."""
    start, lines = _after_heading(text)
    if lines and all(_ENTRY.match(line) or _NUMBERED.match(line) or _LINK.fullmatch(line) for line in lines):
        return start
    start = text.rstrip().rfind("\n\n")
    if start < 1 or not text[:start].strip():
        return None
    matches = [_ENTRY.match(line) for line in text[start:].strip().splitlines() if line.strip()]
    numbers = [int(_number(match)) for match in matches if match is not None and not match[2]]
    increasing = numbers == sorted(set(numbers))
    if numbers and len(numbers) == len(matches) and increasing and _is_cited(text[:start], numbers):
        return start + 2
    return None


def _number(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group).translate(_SUPERSCRIPTS)


def _is_cited(text: str, numbers: list[int]) -> bool:
    """Return whether a text before a list has one of its numbers as a marker."""
    superscript = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    forms = ("[{}]", "[^{}]", "【{}】", "[{},", ", {}]")
    return any(form.format(number) in text for number in numbers[:50] for form in forms) or any(
        str(number).translate(superscript) in text for number in numbers[:50]
    )
