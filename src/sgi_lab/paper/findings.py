"""Results of an experiment: tables, figures and remarks, and the files they are written to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.reporting.safe_text import code, escape
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sgi.stats.ranking import Ranking

MISSING = "–"


@dataclass(frozen=True)
class Column:
    """A column of a table: heading, key of the entry in a row, decimals, and whether to print a plus sign."""

    heading: str
    key: str
    digits: int = 3
    signed: bool = False

    def cell(self, row: Mapping[str, Any]) -> str:
        """Return the row's entry as text.

        >>> Column("d", "effect", digits=2, signed=True).cell({"effect": 1.1234})
        '+1.12'
        """
        value = row.get(self.key)
        match value:
            case None:
                return MISSING
            case bool() | str():
                return str(value)
            case int():
                return f"{value:,}"
            case (low, high):
                return f"{low:.{self.digits}f}–{high:.{self.digits}f}"
            case float() if math.isfinite(value):
                return f"{value:{'+' if self.signed else ''}.{self.digits}f}"
        return MISSING


@dataclass(frozen=True, eq=False)
class Section:
    """A table of a finding; rows are JSON values and may have more keys than columns."""

    heading: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Any]]
    remark: str = ""

    def markdown(self) -> str:
        """Return the section as Markdown."""
        cells = [[column.cell(row) for column in self.columns] for row in self.rows]
        headings = [column.heading for column in self.columns]
        left = [
            column.heading
            for column in self.columns
            if any(isinstance(row.get(column.key), str) for row in self.rows)
        ]
        parts = [f"## {escape(self.heading)}", Table(headings, cells, left=left).markdown()]
        return "\n\n".join([*parts, self.remark] if self.remark else parts)


@dataclass(frozen=True, eq=False)
class Finding:
    """Result of an experiment.

    ``settings`` (sample, seed, data) and ``signatures`` (one per model) contain everything that can change a
    number. ``figures`` are Vega-Lite charts by file stem. ``remarks`` are conclusions from the numbers.
    """

    name: str
    title: str
    settings: Mapping[str, Any]
    sections: tuple[Section, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values, without figures."""
        return {
            "name": self.name,
            "title": self.title,
            "settings": dict(self.settings),
            "tables": [
                {"heading": part.heading, "rows": [dict(row) for row in part.rows]} for part in self.sections
            ],
            "remarks": list(self.remarks),
            "signatures": list(self.signatures),
        }

    def markdown(self) -> str:
        """Return the finding as a page; figures are linked by file name."""
        pictures = [f"![{stem}]({stem}.svg)" for stem in self.figures]
        return "\n\n".join([self._repr_markdown_(), *pictures]) + "\n"

    def _repr_markdown_(self) -> str:
        """Return the notebook representation, without figures."""
        settings = "; ".join(f"{key}: {_finding_text(value)}" for key, value in self.settings.items())
        remarks = ["\n".join(f"* {escape(remark)}" for remark in self.remarks)] if self.remarks else []
        foot = "  \n".join(map(code, [settings, *self.signatures]))
        tables = [section.markdown() for section in self.sections]
        return "\n\n".join([f"# {escape(self.title)}", *remarks, *tables, foot])

    def write(self, folder: Path) -> list[Path]:
        """Write ``NAME.md``, ``NAME.json`` and each figure as PNG and SVG, and return their paths.

        Creates the folder. Equal findings give equal bytes.
        """
        import orjson

        from sgi.io.write import write_whole
        from sgi.reporting.charts import save_figure

        folder.mkdir(parents=True, exist_ok=True)
        page, data = folder / f"{self.name}.md", folder / f"{self.name}.json"
        write_whole(page, self.markdown().encode())
        write_whole(
            data, orjson.dumps(self.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
        pictures = [
            save_figure(chart, folder / f"{stem}{suffix}")
            for stem, chart in self.figures.items()
            for suffix in (".png", ".svg")
        ]
        return [page, data, *pictures]


def _finding_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def difference(ours: float | None, papers: float | None) -> float | None:
    """Return our value minus the paper's, or None if one is missing."""
    return None if ours is None or papers is None else ours - papers


def format_ranking(ranking: Ranking | None, key: str = "auroc") -> dict[str, Any]:
    """Return an AUROC and its interval as entries of a row."""
    interval = ranking and ranking.interval
    return {
        key: ranking and ranking.auroc,
        f"{key}_interval": interval and (interval.low, interval.high),
    }
