"""The preview of an uploaded file: its rows, read in bounded time, and the form of its run."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from sgi.engine.run_options import RunOptions
from sgi.io.column_names import NAMES
from sgi.io.column_use import ColumnUse
from sgi.io.dataset import file_columns, open_dataset, trace_format
from sgi.io.repeated_rows import expand
from sgi.io.rows import RejectedRow
from sgi.io.split_contexts import Separator, SplitContexts
from sgi.kernel.errors import SgiError, UsageError
from sgi.kernel.input_limits import TimeLimitError, check_time, time_limit
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import AnyMetric
from sgi.kernel.registry import metric, metric_classes
from sgi.kernel.sample import Field
from sgi.reporting.formatting import beginning
from sgi_web.pages import split_tags
from sgi_web.site import Site, from_field

MAIN_FIELDS = ("id", "question", "contexts", "response", "reference", "label")
"""The fields of the first rows that a preview shows, and that the form shows first."""
FIELDS = tuple(dict.fromkeys((*MAIN_FIELDS, *NAMES)))
MAP, DETECTED = "map.", "detected."
"""Prefixes of the inputs with the columns of a field: those that the user entered, and those detected."""
SEPARATORS = get_args(Separator)
FIRST_ROWS, MAX_REJECTED = 10, 20
"""Maximum numbers of rows and of rejected rows that are shown."""
MAX_SECONDS = 20.0
"""Maximum duration of a scan; the counts of a file that takes longer are those of its beginning."""
_MAX_PASSAGES, _MAX_TEXT = 3, 300


@dataclass
class DataScan:
    """The result of a scan.

    Attributes:
        rows: number of rows that can be read.
        rejected: number of rows that cannot be read; ``errors`` has the first of their errors.
        present: number of rows with a value for each field.
        first: the first rows: field → the beginning of its text.
        columns: the use of the columns.
        names: the columns of the file, and dotted paths into them.
        detected: the columns of each field, as a mapping.
        is_complete: whether all rows were read in time.
        problem: why the file cannot be read as a whole; empty if it can.
    """

    rows: int = 0
    rejected: int = 0
    errors: list[str] = field(default_factory=list)
    present: Counter[Field] = field(default_factory=Counter)
    first: list[dict[str, str]] = field(default_factory=list)
    columns: ColumnUse = field(default_factory=ColumnUse)
    names: list[str] = field(default_factory=list)
    detected: dict[str, str] = field(default_factory=dict)
    is_complete: bool = True
    problem: str = ""


def scan_file(path: Path, shown: str, settings: dict[str, Any]) -> DataScan:
    """Scan a file; errors name the file ``shown``, and are returned, not raised."""
    scan = DataScan()
    try:
        with time_limit(MAX_SECONDS):
            _read(path, shown, settings, scan)
    except TimeLimitError:
        scan.is_complete = False
    except SgiError as error:
        scan.problem = shown_text(str(error), path, shown)
    return scan


def _read(path: Path, shown: str, settings: dict[str, Any], scan: DataScan) -> None:
    def reject(row: RejectedRow) -> None:
        check_time()
        scan.rejected += 1
        if len(scan.errors) < MAX_REJECTED:
            scan.errors.append(shown_text(str(row.error), path, shown))

    def note(columns: ColumnUse) -> None:
        scan.columns = columns
        scan.detected |= {name: ",".join(parts) for name, parts in columns.fields.items()}

    is_converted = trace_format(path) != ""
    scan.names = file_columns(path, settings["encoding"])
    dataset = open_dataset(path, columns=settings["columns"], encoding=settings["encoding"])
    dataset = SplitContexts(dataset, settings["split_contexts"])
    rows = expand(dataset, per_turn=settings["per_turn"])
    for sample in rows.samples(on_reject=reject, on_columns=note):
        check_time()
        scan.rows += 1
        scan.present.update(sample.present)
        if scan.rows <= FIRST_ROWS:
            scan.first.append({name: _beginning(getattr(sample, name)) for name in MAIN_FIELDS})
            scan.detected |= {name: name for name in sample.model_fields_set if is_converted}


def _beginning(value: object) -> str:
    """Return the beginning of the text of a field, so that a preview needs little memory."""
    parts = value[:_MAX_PASSAGES] if isinstance(value, tuple) else (value,)
    return "\n".join(beginning(str(part), _MAX_TEXT) for part in parts if part is not None)


def shown_text(text: str, path: Path, shown: str) -> str:
    """Return a message with the user's name of the file instead of the stored one."""
    return text.replace(str(path), shown).replace(path.name, shown)


class UploadForm(BaseModel):
    """The values of the form; inputs with the columns of fields are extra values."""

    model_config = ConfigDict(extra="allow", str_strip_whitespace=True)

    action: Literal["preview", "score", "cancel"] = "preview"
    encoding: str = ""
    per_turn: bool = False
    split_contexts: Separator | Literal[""] = ""
    skip_rejected: bool = False
    metrics: tuple[str, ...] = ()
    name: str = ""
    tags: str = ""

    @property
    def read(self) -> dict[str, Any]:
        """The settings for reading the file, without fields that use the detected columns anyway."""
        values = {name: from_field(str(value).strip()) for name, value in (self.model_extra or {}).items()}
        given = {name: values[f"{MAP}{name}"] for name in NAMES if f"{MAP}{name}" in values}
        mapped = {name: text for name, text in given.items() if text != values.get(f"{DETECTED}{name}")}
        return {
            "columns": mapped,
            "encoding": self.encoding or None,
            "per_turn": self.per_turn,
            "split_contexts": self.split_contexts or None,
        }

    def options(self, site: Site, path: Path, scan: DataScan) -> RunOptions:
        """Return the options of the run, without the judge.

        Raises:
            UsageError: the file cannot be scored like this, or a value is not valid.
        """
        if scan.problem or not scan.rows:
            raise UsageError(scan.problem or "No row can be read.")
        if scan.rejected and not self.skip_rejected:
            hint = "Correct the file or the columns, or skip such rows."
            raise UsageError(f"Rows that cannot be read: {scan.rejected:,}.", hint=hint)
        reasons = metric_reasons(scan, has_judge=site.judge is not None)
        for name in self.metrics:
            if reason := reasons.get(name, "it is not an available metric"):
                raise UsageError(f"{name!r} cannot be scored: {reason}.")
        on_error = "skip" if self.skip_rejected else "stop"
        values = {
            "data": path,
            "metrics": self.metrics or None,
            "name": self.name or None,
            "on_error": on_error,
        }
        # The page of the run shows failed rows with their reasons.
        values |= self.read | site.models | {"max_failures": 1.0}
        return RunOptions.of(values, source="the form", tags=split_tags(self.tags))


@cache
def _upload_metrics() -> dict[str, AnyMetric]:
    """Return the metrics without required parameters, by name; those without a judge come first."""
    usable: dict[str, AnyMetric] = {}
    for name in metric_classes()[0]:
        with suppress(SgiError, TypeError):
            usable[name] = metric(name)
    return dict(sorted(usable.items(), key=lambda item: isinstance(item[1], JudgedMetric)))


def metric_reasons(scan: DataScan, *, has_judge: bool) -> dict[str, str]:
    """Return why each metric cannot be scored for the rows of a file; empty if it can."""
    reasons = {}
    for name, item in _upload_metrics().items():
        missing = ", ".join(sorted(item.spec.needs - scan.present.keys()))
        lacks_judge = isinstance(item, JudgedMetric) and not has_judge
        judge = "this server has no judge (sgi serve --judge)" if lacks_judge else ""
        reasons[name] = "; ".join(filter(None, (missing and f"no row has {missing}", judge)))
    return reasons
