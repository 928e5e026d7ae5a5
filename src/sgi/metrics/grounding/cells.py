"""Reads tables, lists of keys and values, and JSON: values with the labels that they belong to."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sgi.metrics.grounding.clauses import stems_in
from sgi.metrics.grounding.language_tables import AnalysedText, once_per_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MIN_ROWS, _MIN_COLUMNS = 2, 2
_MIN_COMMA_ROWS, _MIN_COMMA_COLUMNS = 3, 3  # lines of prose may have commas too
_MAX_LABEL, _MAX_HEADER = 60, 30  # characters
_NAMED = 0.5  # share of the words of a label
_BORDER = re.compile(r"[\s|:+=-]*")
_DIGIT = re.compile(r"\d")
_NO = re.compile(r"\b(?:no|false)\b|[✗✘❌]", re.IGNORECASE)
_DENIED = re.compile(r"[:=|–]\s*[\"']?(?:no|false)\b|[✗✘❌]", re.IGNORECASE)
_SWITCH = re.compile(r"yes|no|true|false|null|none|n/a|[-–—✓✔✗✘✅❌]", re.IGNORECASE)
_YEAR = re.compile(r"(?:FY\s?)?[12]\d{3}")
_HEADER = re.compile(r"(?m)^[^,;\n\d]{1,30}(?:[,;][^,;\n\d]{1,30}){2,}\r?$")
_HAS_CELLS = re.compile(r"<t[dh]\b", re.IGNORECASE)
_TAG = re.compile(r"<(/?(?:table|thead|tbody|tr|th|td))\b[^<>]{0,200}>", re.IGNORECASE)
_CODE = re.compile(r"[^\W\d_]+[-_]?\d[\w-]*")
_COMMA_CELL = re.compile(r'(?:^|,)[ ]?("(?:[^"]|"")*"|[^,"]*)(?=,|$)')
_KEY = re.compile(
    r"[ \t]*(?P<mark>(?:[-*•+]|\d{1,3}[.)])[ ]+)?(?P<key>(?:\*\*|`)?[^\W\d_][^:=|\n]{0,58}?)(?:\*\*|`)?"
    r"[ ]?(?::(?!//)|=|[ ][-–—](?=[ ]))(?:\*\*)?[ \t]*(?P<value>[^\n]*)"
)
_KEY_WORDS, _SHARED = 6, 3
_MAX_TEXTS, _MAX_DEPTH = 50, 20  # that name a record
_SENTENCE_END = re.compile(r"[.!?,;]\s*$")
_JSON = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'(?=\s*[:,}\]])|[{}\[\]:,]|[^\s{}\[\]:,\"']+")
_JSON_START = re.compile(r"[\[{]\s*[\[{\"']")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")

Span: TypeAlias = tuple[int, int]
Label: TypeAlias = tuple[frozenset[str], ...]
"""The stems of each of the texts that name a row, a column or a record."""


class Cell(NamedTuple):
    """A value in a table, from character ``start`` to ``end``.

    Attributes:
        table: number of the table in the passage.
        labels: the labels of its row and its column, or of its record and its key.
    """

    start: int
    end: int
    table: int
    labels: tuple[Label, Label]


class Denial(NamedTuple):
    """A key that a table denies, such as "WiFi: no": its words in parts ("wi", "fi"), and as written."""

    start: int
    end: int
    stems: frozenset[str]
    joined: frozenset[str]


class Tables(NamedTuple):
    """The values and short texts of the tables of a text, and their denials."""

    cells: tuple[Cell, ...] = ()
    texts: tuple[Cell, ...] = ()
    denials: tuple[Denial, ...] = ()


@once_per_text
def tables_of(text: str) -> Tables:
    r"""Return the values and denials of the tables of a text in order, cached.

    Reads tables with bars (see `with_bars`), lines of a key and a value, and JSON. The same key with another
    value elsewhere in the text denies nothing.

    >>> text = "|Plan|Price|\n|---|---|\n|Basic|$9|\n|Pro|$49|"
    >>> [(text[cell.start : cell.end], *map(sorted, cell.labels[0])) for cell in tables_of(text).cells]
    [('$9', ['basic']), ('$49', ['pro'])]
    """
    is_json = _JSON_START.match(text.lstrip()) is not None
    if "\n" not in text and not is_json:
        return Tables()
    text = AnalysedText.of(text)
    if is_json:
        tables = [[*_json_records(text)]]
    else:
        grids = [*_blocks(text, "|")]
        tables = [[*_grid_records(text, rows, bordered=bordered)] for rows, bordered in grids]
        within = [(rows[0][0][0], rows[-1][-1][1]) for rows, _ in grids]
        tables.append([*_keyed_records(text, within)])
    cells = [
        cell._replace(table=number)
        for number, records in enumerate(tables)
        for record in records
        for cell in record.cells(text)
    ]
    cells.sort(key=attrgetter("start"))
    denials = [denial for records in tables for record in records for denial in record.denials(text)]
    said = {key for records in tables for record in records for key in record.said(text)}
    return Tables(
        tuple(cell for cell in cells if _DIGIT.search(text, cell.start, cell.end)),
        tuple(cell for cell in cells if _is_text(text, (cell.start, cell.end))),
        tuple(denial for denial in denials if denial.stems not in said),
    )


def have_tables(texts: Sequence[str]) -> bool:
    """Return whether any of these texts has a table."""
    return any(tables_of(text).cells or tables_of(text).texts for text in texts)


@once_per_text
def denials_of(text: str) -> tuple[Denial, ...]:
    """Return the denials in the tables of a text, cached; a fast check skips most texts."""
    return tables_of(text).denials if _DENIED.search(text) else ()


def cell_at(text: str, place: int) -> Cell | None:
    """Return the cell that contains a position."""
    cells = tables_of(text).cells
    number = bisect_right(cells, place, key=attrgetter("start")) - 1
    return cells[number] if number >= 0 and place < cells[number].end else None


def is_named_instead(rival: Cell, own: Cell, words: frozenset[str]) -> bool:
    """Return whether words name a cell instead of another one in the same row or the same column.

    A row is named by half of the words that the other one lacks; a column, or a key, by all of them.
    """
    if own.table != rival.table:
        return False
    (own_row, own_column), (row, column) = own.labels, rival.labels
    if own_column == column:
        mine, theirs, share = own_row, row, _NAMED
    elif own_row == row:
        mine, theirs, share = own_column, column, 1.0
    else:
        return False
    own_words, rival_words = _only(mine, theirs), _only(theirs, mine)
    is_own = not own_words or any(len(part & words) >= _NAMED * len(part) for part in own_words)
    return not is_own and any(len(part & words) >= share * len(part) for part in rival_words)


def _only(label: Label, other: Label) -> list[frozenset[str]]:
    """Return the words of each part of a label that another label lacks, without parts that have none."""
    known: frozenset[str] = frozenset().union(*other)
    return [part - known for part in label if part - known]


def with_bars(text: str) -> str:
    r"""Return a text with a bar for each tab or comma between the cells of a table.

    Normalised texts have no tabs, and "$9,100" is one number.

    >>> with_bars("Plan,Price,GB\nBasic,$9,100\nPro,$49,500")
    'Plan|Price|GB\nBasic|$9|100\nPro|$49|500'
    """
    text = _TAG.sub(_bar_for_tag, text) if _HAS_CELLS.search(text) else text
    tables = [rows for sign in "\t,;" for rows, _ in _blocks(text, sign)]
    places = [end for rows in tables for row in rows for _, end in row[:-1]]
    if not places:
        return text
    signs = list(text)
    for place in places:
        signs[place] = "|"
    return "".join(signs)


def _bar_for_tag(match: re.Match[str]) -> str:
    """Return blanks for a tag of HTML, with a bar for the end of a cell and a new line for that of a row."""
    end = {"/td": "|", "/th": "|", "/tr": "\n"}.get(match[1].lower(), " ")
    return " " * (len(match[0]) - 1) + end


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line.rstrip("\r\n"))
        start += len(line)


def _cells_between(text: str, line: Span, sign: str) -> list[Span]:
    """Return the cells of a line, with blanks; bars at its ends separate none."""
    part = text[slice(*line)]
    if sign == ",":
        return [(line[0] + match.start(1), line[0] + match.end(1)) for match in _COMMA_CELL.finditer(part)]
    ends = [line[0] + match.start() for match in re.finditer(re.escape(sign), part)]
    cells = [*zip([line[0], *(end + 1 for end in ends)], [*ends, line[1]], strict=True)]
    if sign == "|":
        cells = cells[not text[slice(*cells[0])].strip() :]
        cells = cells[: len(cells) - bool(cells and not text[slice(*cells[-1])].strip())]
    return cells


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    return first, max(first, start + len(part.rstrip()))


def _blocks(text: str, sign: str) -> Iterator[tuple[list[list[Span]], bool]]:
    """Yield consecutive lines with the same number of cells, and whether the second one is a border."""
    in_prose = sign in ",;"
    if sign not in text or (in_prose and not _HEADER.search(text)):
        return
    columns, least = (_MIN_COMMA_COLUMNS, _MIN_COMMA_ROWS) if in_prose else (_MIN_COLUMNS, _MIN_ROWS)
    lines = [_cells_between(text, line, sign) if sign in text[slice(*line)] else [] for line in _lines(text)]
    for count, block in groupby(lines, key=len):
        rows = list(block)
        borders = [all(_BORDER.fullmatch(text, *cell) for cell in row) for row in rows]
        body = [row for row, is_border in zip(rows, borders, strict=True) if not is_border]
        if sign == "\t":  # a tab may also be a margin
            body = [row for row in body if sum(text[slice(*cell)].strip() != "" for cell in row) >= columns]
        if count >= columns and len(body) >= least and (not in_prose or _is_header(text, body[0])):
            yield body, len(borders) > 1 and borders[1]


def _is_header(text: str, row: Sequence[Span]) -> bool:
    """Return whether a row is a header of short words."""
    return all(0 < end - start <= _MAX_HEADER and not _DIGIT.search(text, start, end) for start, end in row)


class _Entry(NamedTuple):
    """A value with the words of its key, the place where both begin, and the key as written."""

    key: frozenset[str]
    start: int
    value: Span
    written: Span


class _Record(NamedTuple):
    """A row, an object or lines of keys and values, with the labels above it; ``row`` names it in a grid."""

    above: Label
    entries: list[_Entry]
    row: frozenset[str] = frozenset()

    def label(self, text: str) -> Label:
        """Return what names the record: the labels above it and its first texts."""
        texts = (one.value for one in self.entries[:_MAX_TEXTS] if _is_text(text, one.value))
        return (*self.above[-_MAX_DEPTH:], *(stems_in(text, *value) for value in texts))

    def cells(self, text: str) -> list[Cell]:
        """Return the values of the record as cells."""
        label = self.label(text)
        return [Cell(*one.value, 0, (label, (one.key,))) for one in self.entries]

    def denials(self, text: str) -> Iterator[Denial]:
        """Yield the keys with the value "no" or "false", without the words that three keys share."""
        counts = Counter(chain.from_iterable(one.key for one in self.entries))
        for one in self.entries:
            if _NO.fullmatch(text, *one.value):
                end = one.value[1] + text.startswith(('"', "'"), one.value[1])
                own = frozenset(stem for stem in one.key if counts[stem] < _SHARED)
                joined = stems_in(text, *one.written)
                yield Denial(one.start, end, self.row | own, self.row | joined)

    def said(self, text: str) -> Iterator[frozenset[str]]:
        """Yield the keys whose value is not "no" or "false"."""
        return (self.row | one.key for one in self.entries if not _NO.fullmatch(text, *one.value))


def _is_text(text: str, value: Span) -> bool:
    """Return whether a value is a short text or a code, not a number and not "yes" or "no"."""
    is_short = 0 < value[1] - value[0] <= _MAX_LABEL
    is_text = not _DIGIT.search(text, *value) or _CODE.fullmatch(text, *value) is not None
    return is_short and is_text and not _SWITCH.fullmatch(text, *value)


def _grid_records(text: str, rows: Sequence[Sequence[Span]], *, bordered: bool) -> Iterator[_Record]:
    rows = [[_stripped(text, *cell) for cell in row] for row in rows]
    header = [text[slice(*cell)] for cell in rows[0]]
    has_header = bordered or all(not _DIGIT.search(one) or _YEAR.fullmatch(one) for one in header[1:])
    keys = [stems_in(text, *cell) if has_header else frozenset() for cell in rows[0][1:]]
    for first, *others in rows[1:] if has_header else rows:
        entries = [
            _Entry(key, first[0], cell, head)
            for key, cell, head in zip(keys, others, rows[0][1:], strict=True)
        ]
        label = stems_in(text, *first)
        yield _Record((label,), entries, label)


def _keyed_records(text: str, taken: Sequence[Span]) -> Iterator[_Record]:
    """Read lines of a key and a value, below headings and below a key without a value."""
    headings: list[Span] = []
    lines: list[re.Match[str]] = []
    keys: set[str] = set()
    starts = [start for start, _ in taken]
    for span in [*_lines(text), None]:
        grid = bisect_right(starts, span[0]) - 1 if span else -1
        in_grid = span is not None and grid >= 0 and span[0] < taken[grid][1]
        line = _keyed_line(text, span) if span and not in_grid else None
        has_value = line is not None and line["value"].strip() != ""
        if lines and (line is None or not has_value or line["key"] in keys or _begins(line, lines[-1])):
            entries = [
                _Entry(_key_stems(one["key"]), one.start("key"), _value(text, one), one.span("key"))
                for one in lines
            ]
            yield _Record(tuple(stems_in(text, *heading) for heading in headings), entries)
            lines, keys = [], set()
        if line is not None and has_value:
            lines.append(line)
            keys.add(line["key"])
        elif span is not None and span[0] < span[1]:
            heading = line.span("key") if line else _stripped(text, *span)
            is_heading = heading[1] - heading[0] <= _MAX_LABEL and not _SENTENCE_END.search(text, *heading)
            above = headings[:1] if line is not None and _is_indented(line) else []
            headings = [*above, heading] if is_heading else []


def _keyed_line(text: str, span: Span) -> re.Match[str] | None:
    match = _KEY.fullmatch(text, *span)
    return match if match and len(match["key"].split()) <= _KEY_WORDS else None


def _value(text: str, line: re.Match[str]) -> Span:
    return _stripped(text, *line.span("value"))


def _is_indented(line: re.Match[str]) -> bool:
    return line.start("key") > line.start()


def _begins(line: re.Match[str], earlier: re.Match[str]) -> bool:
    return line["mark"] is not None or _is_indented(line) != _is_indented(earlier)


def _key_stems(key: str) -> frozenset[str]:
    spaced = _CAPITAL.sub(" ", key.replace("_", " ").replace("-", " "))
    return stems_in(spaced, 0, len(spaced))


def _json_records(text: str) -> Iterator[_Record]:
    """Read the objects of JSON, also of a cut one; the texts and keys above an object belong to its label."""
    stack: list[tuple[_Record, str, Span]] = [(_Record((), []), "", (0, 0))]  # with the last key
    tokens = [*_JSON.finditer(text)]
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        sign, (record, key, written) = token[0], stack[-1]
        if sign in "{[":
            label = (*record.label(text), *([_key_stems(key)] if key else []))
            stack.append((_Record(label, []), key if sign == "[" else "", token.span()))
        elif sign in "}]":
            if len(stack) > 1:
                yield stack.pop()[0]
        elif following is not None and following[0] == ":":
            stack[-1] = record, sign.strip("\"'"), token.span()
        elif sign not in ":,":
            quoted = sign[0] in "\"'"
            value = (token.start() + quoted, token.end() - quoted)
            record.entries.append(_Entry(_key_stems(key), written[0], value, written))
    yield from (record for record, _, _ in stack)
