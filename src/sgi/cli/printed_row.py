"""One row of a run in full: its texts, and the details of every score."""

from __future__ import annotations

import sys
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgi.cli.console import plain
from sgi.metrics.citations.citation_map import first_citation_map
from sgi.reporting.citation_map_text import citation_map_lines
from sgi.reporting.evidence_map_text import evidence_map_lines
from sgi.reporting.formatting import number as number_text
from sgi.reporting.row_details import is_table, is_yes_no, scalar_text
from sgi.reporting.terminal_style import BAD, FAINT, HEADING, style_of
from sgi.reporting.views.citation_map_view import (
    citation_map_view,
    first_citation_maps,
    marker_marks,
    other_citation_details,
)
from sgi.reporting.views.evidence_map_view import evidence_map_view, other_details
from sgi.text.conversation import with_earlier_passages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgi.kernel.sample import Sample
    from sgi.store.evaluations import MetricScore, StoredEvaluation

_NO_LIMIT = 100_000
_MIN_WRAPPED = 20
_BREAKS = str.maketrans("\u2028\u2029", "\n\n")
_INDENT = "  "
_FIELDS = ("question", "contexts", "response", "reference")


def sample_facts(evaluation: StoredEvaluation) -> dict[str, Any]:
    """Return everything that is stored of a row, as JSON values."""
    return {
        "run": evaluation.run,
        "sample": evaluation.sample.model_dump(mode="json", exclude_unset=True),
        "reason": evaluation.reason or None,
        "scores": {name: _score_facts(score) for name, score in evaluation.scores.items()},
    }


def _score_facts(score: MetricScore) -> dict[str, Any]:
    return {
        "value": score.value,
        "status": score.status.value,
        "reason": score.reason or None,
        "details": dict(score.details),
        "evidence": dict(score.evidence) or None,
    }


def sample_lines(evaluation: StoredEvaluation, *, width: int | None = None) -> Iterator[Text]:
    """Yield everything that is stored of a row as lines. Texts are not cut, control characters are replaced.

    Lines that are longer than ``width`` are wrapped; None stands for the width of the terminal, or no limit
    without terminal.
    """
    if width is None and sys.stdout.isatty():
        width = Console().width
    lines = _whole_lines(evaluation, width or _NO_LIMIT)
    yield from lines if width is None else _wrapped(lines, width)


def _wrapped(lines: Iterable[Text], width: int) -> Iterator[Text]:
    """Wrap lines at words; further lines of a text are indented more than its first one."""
    window = Console(width=width)
    for line in lines:
        if line.cell_len <= width:
            yield line
            continue
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        room = max(width - indent - len(_INDENT), _MIN_WRAPPED)
        for number, part in enumerate(line[indent:].wrap(window, room)):
            yield Text(" " * indent + _INDENT * (number > 0)).append_text(part)


def _whole_lines(evaluation: StoredEvaluation, width: int) -> Iterator[Text]:
    """Yield the lines; only tables are fitted to the width."""
    yield from _texts_of(_pair("sample", evaluation.sample.id))
    yield from _texts_of(_pair("run", evaluation.run))
    yield from _texts(evaluation.sample, evaluation.reason)
    for name, score in evaluation.scores.items():
        yield Text()
        status = style_of(score.status.value if score.value is None else "strong")
        yield from _texts_of(_pair(name, _verdict(score)), status)
        yield from _detail_lines(evaluation, name, width)


def _texts_of(lines: Iterable[str], style: str = "") -> Iterator[Text]:
    return (Text(line, style=style) for line in lines)


def _detail_lines(evaluation: StoredEvaluation, name: str, width: int) -> Iterator[Text]:
    score = evaluation.scores[name]
    details: Mapping[str, Any] = score.details
    every = {other: each.details for other, each in evaluation.scores.items()}
    markers = marker_marks(first_citation_map(every.values()))
    view = evidence_map_view(details, with_earlier_passages(evaluation.sample).contexts, markers)
    if view is not None:
        yield from map(_indented, evidence_map_lines(view))
        details = other_details(details)
    cited = citation_map_view(details)
    if cited is not None:
        if name in first_citation_maps(every):
            yield from map(_indented, citation_map_lines(cited))
        details = other_citation_details(name, every)
    for part, body in (("details", details), ("evidence", score.evidence)):
        if body:
            yield Text(f"{_INDENT}{part}", style=FAINT)
            yield from _texts_of(f"{_INDENT * 2}{line}" for line in value_lines(dict(body), width - 4))


def _indented(line: Text) -> Text:
    indented = Text(_INDENT).append_text(line)
    indented.rstrip()
    return indented


def _texts(sample: Sample, reason: str) -> Iterator[Text]:
    present = sample.model_fields_set
    if sample.label is not None:
        yield Text(f"label: {int(sample.label)}")
    if sample.metadata:
        yield _heading("metadata")
        yield from _block(sample.metadata)
    for field in _FIELDS:
        if field in present:
            value = getattr(sample, field)
            yield Text()
            yield _heading("passages" if field == "contexts" else field)
            yield from _block(list(value) if field == "contexts" else value)
    if sample.alternatives:
        yield _heading("also accepted")
        yield from _block(list(sample.alternatives))
    if further := sample.further_values():
        yield Text()
        yield from _texts_of(value_lines(further, _NO_LIMIT))
    if reason:
        yield Text()
        yield from _texts_of(_pair("no response", reason), BAD)


def _heading(text: str) -> Text:
    return Text(text, style=HEADING)


def _block(value: Any) -> Iterator[Text]:
    return _texts_of(f"{_INDENT}{line}" for line in value_lines(value, _NO_LIMIT))


def _verdict(score: MetricScore) -> str:
    if score.value is not None:
        return number_text(score.value)
    return f"{score.status.value}: {score.reason}"


def value_lines(value: Any, width: int) -> Iterator[str]:
    r"""Yield a JSON value as lines: mappings by key, lists with numbers, lists of flat mappings as a table.

    >>> print(*value_lines({"why": "it fits", "rating": 2, "asked": ["Who?", "a\nb"]}, 80), sep="\n")
    why: it fits
    rating: 2
    asked
      1. Who?
      2. a
         b
    """
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(key, item, width)
    elif isinstance(value, list):
        yield from _list_lines(value, width)
    else:
        yield from _clean(scalar_text(value)).split("\n")


def _entry(key: str, value: Any, width: int) -> Iterator[str]:
    if not isinstance(value, (dict, list)):
        yield from _pair(key, scalar_text(value))
        return
    yield " ".join(_clean(key).split("\n"))
    yield from (f"{_INDENT}{line}" for line in value_lines(value, width - len(_INDENT)))


def _pair(name: str, text: str) -> Iterator[str]:
    """Yield ``name: text``; further lines of the text are indented below the first."""
    head = f"{' '.join(_clean(name).split(chr(10)))}: "
    yield from _indent(head, _clean(text).split("\n"))


def _indent(head: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"{' ' * len(head) if number else head}{line}"


def _list_lines(values: list[Any], width: int) -> Iterator[str]:
    if not values:
        yield "(none)"
    elif is_table(values):
        yield from _table_lines(values, width)
    else:
        digits = len(str(len(values)))
        for number, value in enumerate(values, 1):
            head = f"{number:>{digits}}. "
            yield from _indent(head, [*value_lines(value, width - len(head))])


def _table_lines(rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[str]:
    """Yield the lines of a table: one numbered row per mapping and one column per key; cells are not cut."""
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "index"]
    keys.sort(key=lambda key: not is_yes_no(key, rows))  # yes/no columns come first
    table = Table(box=None, pad_edge=False)
    for name in ("", *keys):
        table.add_column(Text(" ".join(_clean(name).split("\n"))), overflow="fold")
    for number, row in enumerate(rows, 1):
        marked = [_mark(row.get(key)) if is_yes_no(key, rows) else scalar_text(row.get(key)) for key in keys]
        table.add_row(*(Text(_clean(cell)) for cell in (str(row.get("index", number)), *marked)))
    paper = Console(file=StringIO(), width=max(width, 8 * len(keys) + 8), color_system=None)
    with paper.capture() as captured:
        paper.print(table)
    yield from (line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def _mark(value: Any) -> str:
    return "–" if value is None else "✓" if value else "✗"


def _clean(text: str) -> str:
    """Replace control characters other than line breaks."""
    return plain(text).translate(_BREAKS)
