"""Counts the spans, traces and rows of a file, and the reasons of missing rows and fields."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.io.column_use import ColumnUse
from sgi.kernel.short_text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgi_traces.assemble import TraceRow

_MAX_REASONS = 20
_MAX_DISTINCT = 1000
OTHER = "another reason"


@dataclass(eq=False)
class TraceUse:
    """Counts of the spans, traces and rows of a file.

    Attributes:
        format: the title of the format.
        spans: number of spans; 0 for a format that has records instead of spans.
        records: number of records; 0 for a format of spans.
        traces: number of traces.
        rows: number of rows.
        unanswered: why turns gave no row → their number.
        absent: field and reason → number of rows.
        sources: field → the kinds of spans and the attributes that it is from.
    """

    format: str
    spans: int = 0
    records: int = 0
    traces: int = 0
    rows: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    absent: Counter[tuple[str, str]] = field(default_factory=Counter)
    sources: dict[str, dict[str, None]] = field(default_factory=dict)

    def add_row(self, row: TraceRow) -> None:
        """Count a row."""
        self.rows += 1
        for name, sources in row.sources.items():
            self.sources.setdefault(name, {}).update(dict.fromkeys(sources))
        for name, reason in row.absent.items():
            self.absent[name, reason] += 1

    def add_unanswered(self, reasons: Iterable[str]) -> None:
        """Count turns without a row; after 1,000 different reasons, others are counted together."""
        for reason in reasons:
            known = reason in self.unanswered or len(self.unanswered) < _MAX_DISTINCT
            self.unanswered[reason if known else OTHER] += 1

    def name_sources(self, names: Mapping[str, str]) -> None:
        """Replace internal attribute names in the sources by the names that the format uses."""
        for target, sources in self.sources.items():
            renamed = (source.rpartition(" ") for source in sources)
            texts = (f"{kind}{space}{names.get(attribute, attribute)}" for kind, space, attribute in renamed)
            self.sources[target] = dict.fromkeys(texts)

    def columns(self, mapped: Mapping[str, str] | None = None) -> ColumnUse:
        """Return the counts as a `ColumnUse`; ``mapped`` are the columns that the user mapped."""
        own = mapped or {}
        notes = [f"{self.format}: {self.parts()} gave {pluralize(self.rows, 'row')}:"]
        if self.unanswered:
            turns = pluralize(sum(self.unanswered.values()), "turn")
            notes.append(f"{turns} gave no row: {list_reasons(self.unanswered)}.")
        for name in dict.fromkeys(name for name, _ in self.absent if name not in own):
            reasons = Counter({reason: n for (field, reason), n in self.absent.items() if field == name})
            count = sum(reasons.values())
            verb = "has" if count == 1 else "have"
            notes.append(f"{pluralize(count, 'row')} {verb} no {name}: {list_reasons(reasons)}.")
        fields = {name: tuple(sources) for name, sources in self.sources.items()}
        fields |= {name: (text,) for name, text in own.items() if text}
        return ColumnUse(fields, notes=tuple(notes))

    def parts(self) -> str:
        """Return the numbers of spans and traces, or of records."""
        if self.records:
            return pluralize(self.records, "record")
        return f"{pluralize(self.spans, 'span')} in {pluralize(self.traces, 'trace')}"


def list_reasons(reasons: Counter[str]) -> str:
    """List reasons with their numbers, the most frequent first."""
    shown = reasons.most_common(_MAX_REASONS)
    more = len(reasons) - len(shown)
    texts = [f"{reason} ({count:,})" for reason, count in shown]
    return ", ".join([*texts, *([f"{more:,} other reasons"] if more else [])])
