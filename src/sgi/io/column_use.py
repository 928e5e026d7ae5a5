"""Reports which columns of the data became which fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.io.columns import join_names
from sgi.kernel.short_text import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from sgi.io.columns import Plan

_UNIT = "map latency_ms={} if it holds milliseconds, or name it latency_s if seconds"
_TOTAL = "not split; SGI reads prompt_tokens and completion_tokens, and adds them"
_MAX_KEPT = 50
_MAX_SHOWN = 6


@dataclass(frozen=True)
class ColumnUse:
    """The field that each column of the data became.

    ``fields`` has the columns of each field; several if rows differ, or if columns are joined. ``not_used``
    has the columns that match a field and are not used, with the reason; they are in the metadata.
    ``metadata`` has the other columns in the metadata, at most 50. ``notes`` are sentences about data that
    is converted, such as traces: the first one says what was read.

    >>> ColumnUse({"question": ("input",)}, {"context": "contexts ← retrieval_context"}).line()
    'Columns: question ← input. Not used: context (contexts ← retrieval_context).'
    """

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    not_used: Mapping[str, str] = field(default_factory=dict)
    metadata: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def line(self) -> str:
        """Describe the use of columns in one line; empty for data without columns (Samples)."""
        if not self.fields:
            return " ".join(self.notes)
        before, *after = self.notes or ("Columns:",)
        are_several = any(len(columns) > 1 for columns in self.fields.values())
        fields = ("; " if are_several else ", ").join(
            name if columns == (name,) else f"{name} ← {', '.join(map(shorten, columns))}"
            for name, columns in self.fields.items()
        )
        reasons = [f"{shorten(column)} ({why})" for column, why in self.not_used.items()]
        not_used = f" Not used: {join_names(reasons, _MAX_SHOWN)}." if reasons else ""
        names = join_names([*map(shorten, self.metadata)], _MAX_SHOWN)
        metadata = f" In the metadata: {names}." if names else ""
        return " ".join([before, f"{fields}.{not_used}{metadata}", *after])

    def to_dict(self) -> dict[str, JsonValue]:
        """Convert to JSON values."""
        return {
            "fields": {name: list(columns) for name, columns in self.fields.items()},
            "not_used": dict(self.not_used),
            "metadata": list(self.metadata),
            "notes": list(self.notes),
        }

    def merge(self, other: ColumnUse) -> ColumnUse:
        """Merge the use of two parts of the data; returns this object if the other adds nothing."""
        fields = {
            name: _union(self.fields.get(name, ()), other.fields.get(name, ()))
            for name in {**self.fields, **other.fields}
        }
        used = {column for columns in fields.values() for column in columns}
        not_used = dict([*self.not_used.items(), *other.not_used.items()][:_MAX_KEPT])
        merged = ColumnUse(
            fields,
            {column: why for column, why in not_used.items() if column not in used},
            _union(self.metadata, other.metadata),
            _union(self.notes, other.notes),
        )
        return self if merged == self else merged


ReportColumns = Callable[[ColumnUse], None]
"""A function that is called with the use of columns so far, whenever it has changed."""


def column_use(plan: Plan, null_columns: Mapping[str, str]) -> ColumnUse:
    """Return the use of columns in one plan. ``null_columns`` maps skipped columns to reasons."""
    fields = {
        name: tuple(source.text for source in plan.composed[name]) if name in plan.composed else (column,)
        for name, column in plan.fields.items()
    }
    if plan.pair:
        fields["response"] = plan.pair
    not_used = {
        column: null_columns.get(column) or f"{name} ← {', '.join(fields[name])}"
        for column, name in plan.unused.items()
    }
    not_used |= dict.fromkeys(plan.index, "the index that pandas wrote")
    not_used |= {column: f"unit unknown; {_UNIT.format(column)}" for column in plan.without_unit}
    not_used |= dict.fromkeys(plan.total_tokens, _TOTAL)
    return ColumnUse(
        fields, not_used, tuple(column for column in plan.spare if column not in not_used)[:_MAX_KEPT]
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))[:_MAX_KEPT]
