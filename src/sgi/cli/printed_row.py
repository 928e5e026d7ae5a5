"""One row of a run in full: its texts, and the details of every score."""

from __future__ import annotations

import sys
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from sgi.cli.console import plain
from sgi.reporting.evidence_lines import map_lines
from sgi.reporting.formatting import number as number_text
from sgi.reporting.row_details import as_tree
from sgi.reporting.terminal_style import BAD, FAINT, HEADING, style_of
from sgi.reporting.views.evidence_view import score_maps
from sgi.text.conversation import with_earlier_passages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.kernel.sample import Sample
    from sgi.reporting.table import Table
    from sgi.reporting.views.evidence_view import ScoreMap
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
    details = {name: score.details for name, score in evaluation.scores.items()}
    maps = score_maps(details, with_earlier_passages(evaluation.sample).contexts)
    for name, score in evaluation.scores.items():
        yield Text()
        status = style_of(score.status.value if score.value is None else "strong")
        yield from _texts_of(_pair(name, _verdict(score)), status)
        yield from _detail_lines(maps[name], score, width)


def _texts_of(lines: Iterable[str], style: str = "") -> Iterator[Text]:
    return (Text(line, style=style) for line in lines)


def _detail_lines(found: ScoreMap, score: MetricScore, width: int) -> Iterator[Text]:
    if found.view is not None:
        yield from map(_indented, map_lines(found.view))
    for part, body in (("details", found.further), ("evidence", score.evidence)):
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
    yield from _tree_lines(as_tree(value), width)


def _tree_lines(tree: Any, width: int) -> Iterator[str]:
    match tree:
        case dict():
            for key, item in tree.items():
                yield from _entry(key, item, width)
        case list():
            digits = len(str(len(tree)))
            for number, item in enumerate(tree, 1):
                head = f"{number:>{digits}}. "
                yield from _indent(head, [*_tree_lines(item, width - len(head))])
            if not tree:
                yield "(none)"
        case str():
            yield from _clean(tree).split("\n")
        case _:
            yield from _table_lines(tree, width)


def _entry(key: str, value: Any, width: int) -> Iterator[str]:
    if isinstance(value, str):
        yield from _pair(key, value)
        return
    yield " ".join(_clean(key).split("\n"))
    yield from (f"{_INDENT}{line}" for line in _tree_lines(value, width - len(_INDENT)))


def _pair(name: str, text: str) -> Iterator[str]:
    """Yield ``name: text``; further lines of the text are indented below the first."""
    head = f"{' '.join(_clean(name).split(chr(10)))}: "
    yield from _indent(head, _clean(text).split("\n"))


def _indent(head: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"{' ' * len(head) if number else head}{line}"


def _table_lines(table: Table, width: int) -> Iterator[str]:
    """Yield the lines of a table whose cells are not cut."""
    grid = RichTable(box=None, pad_edge=False)
    for name in table.columns:
        grid.add_column(Text(" ".join(_clean(name).split("\n"))), overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(_clean(cell)) for cell in row))
    paper = Console(file=StringIO(), width=max(width, 8 * len(table.columns)), color_system=None)
    with paper.capture() as captured:
        paper.print(grid)
    yield from (line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def _clean(text: str) -> str:
    """Replace control characters other than line breaks."""
    return plain(text).translate(_BREAKS)
