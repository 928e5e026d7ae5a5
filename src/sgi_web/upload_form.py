"""The form of an uploaded file: what the user entered, as settings of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sgi.engine.spec import RunSpec
from sgi.io.column_names import NAMES
from sgi.kernel.errors import UsageError
from sgi.store.run_names import checked_tags
from sgi_web.data_scan import ReadSettings
from sgi_web.jobs import split_tags

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.datastructures import FormData

    from sgi_web.data_scan import DataScan
    from sgi_web.site import Site

MAIN_FIELDS = ("question", "contexts", "response", "reference", "label", "id")
MAP, DETECTED = "map.", "detected."
"""Prefixes of the inputs with the columns of a field: those that the user entered, and those detected."""


@dataclass(frozen=True)
class UploadForm:
    """The values of the form.

    Attributes:
        read: how the rows are read.
        skip_rejected: whether rows that cannot be read are skipped.
        metrics: the selected metrics; None if the form was not submitted yet.
        name: name of the run.
        tags: its tags, separated by commas.
        estimate: the estimate of the judge's calls that the user saw.
    """

    read: ReadSettings = field(default_factory=ReadSettings)
    skip_rejected: bool = False
    metrics: tuple[str, ...] | None = None
    name: str = ""
    tags: str = ""
    estimate: str = ""

    @classmethod
    def of(cls, values: FormData) -> Self:
        """Read a submitted form. A field whose columns equal the detected ones is not mapped."""
        columns = {}
        for name in NAMES:
            column = values.get(f"{MAP}{name}")
            if isinstance(column, str) and column.strip() != values.get(f"{DETECTED}{name}"):
                columns[name] = column.strip()
        return cls(
            ReadSettings(columns, _text(values, "encoding") or None, _text(values, "per_turn") == "yes"),
            _text(values, "skip_rejected") == "yes",
            tuple(str(name) for name in values.getlist("metrics")),
            _text(values, "name"),
            _text(values, "tags"),
            _text(values, "estimate"),
        )

    def inputs(self, scan: DataScan) -> list[tuple[str, str, str | None]]:
        """Return each field with its columns, and the detected ones; None if the user mapped the field."""
        mapped = self.read.columns
        detected = {name: scan.detected(name) for name in NAMES if name not in mapped}
        names = (*MAIN_FIELDS, *(name for name in NAMES if name not in MAIN_FIELDS))
        return [(name, mapped.get(name, detected.get(name, "")), detected.get(name)) for name in names]

    @property
    def checked_tags(self) -> tuple[str, ...]:
        """The tags. Raises UsageError for one that is not valid."""
        return checked_tags(split_tags(self.tags))

    def spec(self, site: Site, path: Path, metrics: tuple[str, ...]) -> RunSpec:
        """Return the settings of the run, without the judge.

        Raises:
            UsageError: a value is not valid.
        """
        values = {
            "data": path,
            "metrics": metrics,
            "columns": dict(self.read.columns),
            "encoding": self.read.encoding,
            "per_turn": self.read.per_turn,
            "max_failures": 1.0,  # the page of the run shows failed rows with their reasons
            "on_error": "skip" if self.skip_rejected else "stop",
            "embedders": site.embedders,
            "long_texts": site.long_texts,
            "name": self.name or None,
        }
        return RunSpec.of(values, source="the form")


def require_scorable(scan: DataScan, form: UploadForm) -> None:
    """Raise a UsageError if the file cannot be scored with this form."""
    if scan.problem:
        raise UsageError(scan.problem)
    if not scan.rows:
        raise UsageError("No row can be read.", hint="The rejected rows and their errors are below.")
    if scan.rejected and not form.skip_rejected:
        raise UsageError(
            f"{scan.rejected:,} {'row' if scan.rejected == 1 else 'rows'} cannot be read.",
            hint="Correct the file or the columns, or select that such rows are skipped.",
        )


def _text(values: FormData, name: str) -> str:
    value = values.get(name, "")
    return value.strip() if isinstance(value, str) else ""
