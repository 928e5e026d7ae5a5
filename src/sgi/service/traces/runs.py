"""The runs that hold scored traces: one for each hour, or one for each service."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from sgi.engine.run_recorder import versions
from sgi.kernel.errors import RunMismatchError, UsageError
from sgi.kernel.names import as_name
from sgi.service.records import finish
from sgi.store.growing_runs import save_evaluation
from sgi.store.run_history import TRACE_HOUR
from sgi.store.run_queries import list_runs

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.growing_runs import EvaluationRow

RunsBy = Literal["hour", "service"]

RUN_PREFIX = "traces-"
"""The names of the runs begin with it."""
_MAX_SERVICES = 100
_MAX_VERSIONS = 99
_LONGEST_SERVICE = 100


@dataclass
class TraceRuns:
    """Stores rows in growing runs of a database.

    Attributes:
        by: whether a run holds the rows of an hour (UTC, by the arrival of the trace), or of a service.
        no_texts: whether runs store placeholders in place of texts.
    """

    database: Database
    by: RunsBy = "hour"
    no_texts: bool = False

    def __post_init__(self) -> None:
        self._versions = versions()
        self._services: set[str] = set()

    def name(self, sample: Sample, arrived: float) -> str:
        """Return the name of the run for a row."""
        if self.by == "hour":
            return f"{RUN_PREFIX}{_hour(arrived)}"
        named = sample.metadata.get("service")
        service = as_name(named, longest=_LONGEST_SERVICE) if isinstance(named, str) else "unknown"
        if service not in self._services and len(self._services) >= _MAX_SERVICES:
            service = "other"
        self._services.add(service)
        return f"{RUN_PREFIX}{service}"

    def save(self, name: str, row: EvaluationRow) -> str:
        """Save a row, and return the name of its run.

        If the run of this name has scores of other models, or a receiver did not create it, the row goes to
        ``NAME~2``, and so on.
        """
        for number in range(1, _MAX_VERSIONS):
            run = name if number == 1 else f"{name}~{number}"
            try:
                save_evaluation(self.database, run, row, versions=self._versions, no_texts=self.no_texts)
            except (RunMismatchError, UsageError):
                continue
            return run
        raise UsageError(f"No run called {name}, to {name}~{_MAX_VERSIONS - 1}, can take the row.")

    def finish_past_hours(self, now: float) -> None:
        """Finish the runs of earlier hours, and store their summaries."""
        current = f"{RUN_PREFIX}{_hour(now)}"
        for record in list_runs(self.database, search=RUN_PREFIX):
            name = record.name or ""
            if not record.finished and TRACE_HOUR.fullmatch(name) and name.partition("~")[0] < current:
                with suppress(UsageError):  # it was deleted, or a receiver did not create it
                    finish(self.database, name)


def _hour(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H")
