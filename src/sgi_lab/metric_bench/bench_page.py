"""A bench as tables and a Markdown page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sgi.reporting.safe_text import code, escape
from sgi.reporting.table import Cell as TableCell
from sgi.reporting.table import Table
from sgi_lab.metric_bench.detection import ALARM_RATE
from sgi_lab.metric_bench.measures import (
    BLIND,
    FEWEST_PAIRS,
    NOTICEABLE,
    SEEN,
    STEADY,
    SURE,
    TOLERANCE,
    Verdict,
)
from sgi_lab.metric_bench.perturbation import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sgi_lab.metric_bench.detection import Alarm
    from sgi_lab.metric_bench.matrix import Bench, Cell, Change

_NONE = "–"
_TITLES = {
    Kind.ERROR: "Errors: the score must get worse",
    Kind.HARMLESS: "Harmless changes: the score must not change",
    Kind.SUPPORTED: "Supported answers: the score must not get worse",
    Kind.OTHER: "Other changes: no requirement",
    Kind.JUDGE_FAULT: "Faulty judge replies: no value, or an unchanged one",
}
_TONES = {
    "good": {Verdict.SEES, Verdict.STEADY, Verdict.CLOSED},
    "warning": {Verdict.PARTLY, Verdict.UNCLEAR, Verdict.TOO_FEW},
    "bad": {Verdict.BLIND, Verdict.REWARDS, Verdict.MOVED, Verdict.DROPS, Verdict.FOOLED},
}
"""The style of each verdict in a terminal; the others have none."""
_SEEN = "Errors detected at a threshold that 2 in 100 correct paraphrases exceed"


def bench_tables(bench: Bench, *, intervals: bool = True) -> list[Table]:
    """Return one table for each kind of change: changes as rows, metrics as columns."""
    made = []
    for kind, changes in _by_kind(bench):
        metrics = _metrics_of(bench, kind)
        rows = _change_rows(bench, changes, metrics, partial(_cell, intervals=intervals))
        made.append(_matrix(metrics, rows, _TITLES[kind]))
        if kind is Kind.ERROR:
            made += _detections(bench, changes, intervals=intervals)
    return made


def _matrix(metrics: Sequence[str], rows: Iterable[Sequence[str]], title: str) -> Table:
    return Table(("change", "rows", *metrics), rows, title=title, left=metrics)


def _change_rows(
    bench: Bench, changes: Iterable[Change], metrics: Sequence[str], show: Callable[[Cell | None], str]
) -> list[tuple[str, ...]]:
    """Return one row per change: its name, the number of rows it changed, and a cell per metric."""
    return [
        (one.name, f"{one.applied:,}", *(show(bench.cell(metric, one.name)) for metric in metrics))
        for one in changes
    ]


def _detections(bench: Bench, changes: Sequence[Change], *, intervals: bool) -> list[Table]:
    """Return the share of errors that each metric detects, with threshold and false alarms, or None."""
    if not bench.alarms:
        return []
    metrics = [alarm.metric for alarm in bench.alarms]
    rows: list[tuple[str, ...]] = [
        ("(threshold for the fall)", "", *(f"{alarm.fall:.3f}" for alarm in bench.alarms)),
        ("(false-alarm rate, other questions)", "", *map(alarms_of, bench.alarms)),
    ]
    rows += _change_rows(bench, changes, metrics, partial(_detection_cell, intervals=intervals))
    return [_matrix(metrics, rows, _SEEN)]


def alarms_of(alarm: Alarm) -> str:
    """Return the cross-validated share of false alarms, and the number of paraphrases."""
    if alarm.alarms is None:
        return f"– of {alarm.paraphrases:,}"
    interval = _interval(alarm.alarms_low, alarm.alarms_high)
    return f"{alarm.alarms:.3f}{interval} of {alarm.paraphrases:,}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"


def _detection_cell(cell: Cell | None, *, intervals: bool) -> str:
    """Return the share of detected errors, and the number of rows."""
    if cell is None or cell.seen is None:
        return _NONE
    interval = _interval(cell.seen_low, cell.seen_high) if intervals else ""
    lost = f", {cell.lost:,} lost" if cell.lost else ""
    return TableCell(f"{cell.seen:.3f}{interval}{lost}", share=cell.seen)


def _by_kind(bench: Bench) -> list[tuple[Kind, list[Change]]]:
    found = [(kind, [one for one in bench.changes if one.kind is kind]) for kind in Kind]
    return [(kind, changes) for kind, changes in found if changes]


def _metrics_of(bench: Bench, kind: Kind) -> list[str]:
    """Return the metrics with cells of this kind, in the order of the bench."""
    having = {cell.metric for cell in bench.cells if cell.kind is kind}
    return [metric for metric in bench.metrics if metric in having]


def _cell(cell: Cell | None, *, intervals: bool) -> str:
    """Return the verdict, the share and the number of lost rows."""
    if cell is None or cell.verdict is Verdict.NONE:
        return _NONE
    share = "" if cell.share is None else f" {cell.share:.2f}"
    interval = _interval(cell.low, cell.high) if intervals else ""
    lost = f", {cell.lost:,} lost" if cell.lost else ""
    tone = next((name for name, verdicts in _TONES.items() if cell.verdict in verdicts), "")
    return TableCell(f"{cell.verdict.value}{share}{interval}{lost}", css=tone)


def in_words(bench: Bench) -> list[str]:
    """Return a line for each metric: detected errors, and harmless changes with a stable value."""
    return [
        _line(metric, [cell for cell in bench.cells if cell.metric == metric]) for metric in bench.metrics
    ]


def _line(metric: str, cells: Sequence[Cell]) -> str:
    parts = []
    errors = _judged_of(cells, Kind.ERROR)
    if errors:
        seen = [cell.perturbation for cell in errors if cell.verdict is Verdict.SEES]
        names = f" ({', '.join(seen)})" if seen else ""
        parts.append(f"sees {len(seen)} of {len(errors)} errors{names}")
        blind = [cell for cell in errors if cell.verdict in {Verdict.BLIND, Verdict.REWARDS}]
        if blind:
            parts.append(f"is blind to {', '.join(cell.perturbation for cell in blind)}")
    harmless = _judged_of(cells, Kind.HARMLESS)
    if harmless:
        parts.append(f"steady under {_count(harmless, Verdict.STEADY)} of {len(harmless)} harmless changes")
    faults = _judged_of(cells, Kind.JUDGE_FAULT)
    if faults:
        parts.append(f"fails closed under {_count(faults, Verdict.CLOSED)} of {len(faults)} judge faults")
    return f"{metric}: {'; '.join(parts) or 'too few pairs for a verdict'}."


def _judged_of(cells: Iterable[Cell], kind: Kind) -> list[Cell]:
    """Return the cells of a kind with a verdict."""
    silent = {Verdict.NONE, Verdict.TOO_FEW}
    return [cell for cell in cells if cell.kind is kind and cell.verdict not in silent]


def _count(cells: Iterable[Cell], verdict: Verdict) -> int:
    return sum(cell.verdict is verdict for cell in cells)


def bench_markdown(bench: Bench) -> str:
    """Return a bench as a Markdown page: summary, matrix, size of changes, lost rows."""
    parts = [
        "# Which metric detects which error",
        escape(headline(bench)),
        *(f"> {escape(note)}" for note in bench.notes),
        "## Summary",
        "\n".join(f"- {escape(line)}" for line in in_words(bench)),
    ]
    for table in bench_tables(bench):
        parts += [f"## {table.title}", table.markdown()]
    parts += ["## Size of the changes", *_moves(bench)]
    lost = _lost_values(bench)
    if lost:
        columns = ("metric", "reason", "rows by change")
        parts += ["## Lost values", Table(columns, lost, left=columns).markdown()]
    descriptions = [(one.name, one.says) for one in bench.changes]
    parts += [
        "## The changes",
        Table(("change", "description"), descriptions, left=("description",)).markdown(),
    ]
    parts += ["## How to read it", how_to_read(), f"Signature: {code(bench.signature)}"]
    return "\n\n".join(parts) + "\n"


def headline(bench: Bench) -> str:
    """Return the data and size of the bench, in one sentence."""
    return (
        f"{bench.rows:,} grounded rows of {bench.data}, {len(bench.changes)} changes, "
        f"{len(bench.metrics)} metrics, seed {bench.seed}."
    )


def _moves(bench: Bench) -> list[str]:
    note = (
        "The median change in interquartile ranges of the metric's unperturbed values; negative is worse. "
        "For harmless changes, the absolute change as a share of the metric's range: mean / 98th percentile "
        "/ maximum."
    )
    rows = [
        (one.name, *(_move(bench.cell(metric, one.name)) for metric in bench.metrics))
        for one in bench.changes
        if one.kind is not Kind.JUDGE_FAULT
    ]
    return [escape(note), Table(("change", *bench.metrics), rows).markdown()]


def _move(cell: Cell | None) -> str:
    if cell is None or cell.median_change is None or cell.verdict is Verdict.NONE:
        return _NONE
    if cell.kind is Kind.HARMLESS:
        return f"{cell.mean_change:.3f} / {cell.most_change:.3f} / {cell.worst_change:.3f}"
    return f"{cell.median_change:+.2f}"


def _lost_values(bench: Bench) -> list[tuple[str, str, str]]:
    """Return the number of lost rows by metric, reason and change."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in bench.cells:
        for reason, rows in cell.reasons.items():
            found.setdefault((cell.metric, reason), []).append(f"{cell.perturbation} {rows:,}")
    return [(metric, reason, ", ".join(changes)) for (metric, reason), changes in found.items()]


def how_to_read() -> str:
    """Return the meaning of verdicts and numbers, as Markdown."""
    return f"""\
Every metric scores the same grounded rows before and after each change. The requirements are those of a
groundedness metric. A metric that compares with a reference measures something else, and may change where
the passages do not.

- **Intervals.** The 95 % intervals of a table are simultaneous: each has the level 1 − 0.05/m for m cells
  (Bonferroni). The verdicts depend on them, so at most 1 table in 20 has a verdict that is wrong by chance.
  More metrics or changes widen the intervals. Whole questions are resampled.
- **Errors.** The share of rows whose score gets worse; ties count half, so ½ is chance. *sees*: the interval
  starts at {SEEN} or above, and the median fall is at least {NOTICEABLE} interquartile ranges; *partly*: the
  interval is above ½; *blind*: it contains ½ and ends at {BLIND} or below; *rewards it*: it is below ½.
- **Errors detected.** The share of rows whose score falls by more than a threshold: the smallest fall that
  at most {ALARM_RATE:.0%} of the correct paraphrases exceed. Paraphrases are all harmless changes of the
  wording, without those that change this metric in no row. On the rows that set the threshold, the
  false-alarm rate is at most {ALARM_RATE:.0%} by construction. The printed rate is measured on questions that
  did not set it (ten folds), with a 95 % interval. The intervals of the errors treat the threshold as fixed.
- **Harmless changes.** The share of rows that move by at most {TOLERANCE:.0%} of the metric's range (of four
  interquartile ranges if the range is open). *steady*: at least {STEADY}, and the interval starts at {SURE}
  or above; *moved though harmless*: it ends below {STEADY}.
- **Supported answers.** As for harmless changes, but only a fall counts: *falls though supported*.
- **Faulty judge replies.** *fails closed*: no perturbed reply gave another value.
- *unclear*: the interval allows either verdict; *too few*: fewer than {FEWEST_PAIRS} pairs; {_NONE}: the
  metric does not read what changes, or the change applies to no row.
- **Lost** rows have no value before or after the change, and never count as detected. For an error, a lost
  row counts half in the share that gets worse, like a row that does not change."""
