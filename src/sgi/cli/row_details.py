"""One row of a run, whole: its texts, and for every metric what the number was made of, readable."""

from __future__ import annotations

import sys
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgi.cli.console import plain
from sgi.cli.evidence_map import support_lines
from sgi.report.formatting import number as number_text
from sgi.report.row_details import is_table, is_yes_no, scalar_text
from sgi.report.views.evidence_map import beside_support, support_view

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.kernel.sample import Sample
    from sgi.store.evaluation_records import StoredEvaluation
    from sgi.store.evaluations import MetricScore

_ENDLESS = 100_000
_BREAKS = str.maketrans("\u2028\u2029", "\n\n")
_INDENT = "  "


def sample_facts(found: StoredEvaluation) -> dict[str, Any]:
    """All that is kept of a row, as JSON values."""
    return {
        "run": found.run,
        "sample": found.sample.model_dump(mode="json", exclude_unset=True),
        "reason": found.reason or None,
        "scores": {name: _score_facts(score) for name, score in found.scores.items()},
    }


def _score_facts(score: MetricScore) -> dict[str, Any]:
    return {
        "value": score.value,
        "status": score.status.value,
        "reason": score.reason or None,
        "details": dict(score.details),
        "evidence": dict(score.evidence) or None,
    }


def sample_lines(found: StoredEvaluation, *, width: int | None = None) -> Iterator[str]:
    """All that is kept of a row, for people. None of its texts is cut, steers a terminal or poses as a line.

    Args:
        found: the row.
        width: of tables; None takes the terminal's, or as much as they want where there is none.
    """
    if width is None:
        width = Console().width if sys.stdout.isatty() else _ENDLESS
    yield from _pair("sample", found.sample.id)
    yield from _pair("run", found.run)
    yield from _texts(found.sample, found.reason)
    for name, score in found.scores.items():
        yield ""
        yield from _pair(name, _verdict(score))
        yield from _made_of(score, found.sample.contexts, width)


def _made_of(score: MetricScore, contexts: Sequence[str], width: int) -> Iterator[str]:
    """What a number was made of: an evidence map as one, all else as it is kept."""
    details: Mapping[str, Any] = score.details
    support = support_view(details, contexts)
    if support is not None:
        lines = support_lines(support, width=width - len(_INDENT))
        yield from (f"{_INDENT}{line.plain}".rstrip() for line in lines)
        details = beside_support(details)
    for part, body in (("details", details), ("evidence", score.evidence)):
        if body:
            yield f"{_INDENT}{part}"
            yield from (f"{_INDENT * 2}{line}" for line in value_lines(dict(body), width - 4))


def _texts(sample: Sample, reason: str) -> Iterator[str]:
    given = sample.model_fields_set
    if sample.label is not None:
        yield f"label: {int(sample.label)}"
    if sample.metadata:
        yield "metadata"
        yield from (f"{_INDENT}{line}" for line in value_lines(sample.metadata, _ENDLESS))
    parts: dict[str, Any] = {"question": sample.question, "passages": list(sample.contexts)}
    parts |= {"response": sample.response, "reference": sample.reference}
    fields = {"passages": "contexts"}
    for name, value in parts.items():
        if fields.get(name, name) in given:
            yield ""
            yield name
            yield from (f"{_INDENT}{line}" for line in value_lines(value, _ENDLESS))
    if sample.alternatives:
        yield "also accepted"
        yield from (f"{_INDENT}{line}" for line in value_lines(list(sample.alternatives), _ENDLESS))
    if reason:
        yield ""
        yield from _pair("no response", reason)


def _verdict(score: MetricScore) -> str:
    if score.value is not None:
        return number_text(score.value)
    return f"{score.status.value}: {score.reason}"


def value_lines(value: Any, width: int) -> Iterator[str]:
    r"""A JSON value as lines: mappings by key, lists numbered, lists of flat mappings as a table.

    Args:
        value: any.
        width: that tables are folded to.

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
        yield from _listed(value, width)
    else:
        yield from _clean(scalar_text(value)).split("\n")


def _entry(key: str, value: Any, width: int) -> Iterator[str]:
    if not isinstance(value, (dict, list)):
        yield from _pair(key, scalar_text(value))
        return
    yield " ".join(_clean(key).split("\n"))
    yield from (f"{_INDENT}{line}" for line in value_lines(value, width - len(_INDENT)))


def _pair(name: str, text: str) -> Iterator[str]:
    """``name: text``, further lines of the text below its first."""
    head = f"{' '.join(_clean(name).split(chr(10)))}: "
    yield from _hanging(head, _clean(text).split("\n"))


def _hanging(head: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"{' ' * len(head) if number else head}{line}"


def _listed(values: list[Any], width: int) -> Iterator[str]:
    if not values:
        yield "(none)"
    elif is_table(values):
        yield from _table_lines(values, width)
    else:
        digits = len(str(len(values)))
        for number, value in enumerate(values, 1):
            head = f"{number:>{digits}}. "
            yield from _hanging(head, [*value_lines(value, width - len(head))])


def _table_lines(rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[str]:
    """A row for each mapping, with its number and a column for each key; no cell is cut."""
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "index"]
    keys.sort(key=lambda key: not is_yes_no(key, rows))  # marks come first; the rest stays in order
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
    """Text that steers nothing; its line breaks are the only ones."""
    return plain(text).translate(_BREAKS)
