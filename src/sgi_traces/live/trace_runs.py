"""The runs that hold scored traces: one for each hour, or one for each service."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from sgi.engine.run_recorder import versions
from sgi.kernel.errors import RunMismatchError, UsageError
from sgi.kernel.short_text import as_name
from sgi.service.question_evaluation import finish
from sgi.store.growing_runs import save_evaluation
from sgi.store.run_history import TRACE_HOUR
from sgi.store.run_queries import list_runs

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.growing_runs import EvaluationRow

logger = logging.getLogger("sgi.traces")

RunsBy = Literal["hour", "service"]

RUN_PREFIX = "traces-"
"""The names of the runs begin with it."""
OTHER = "other"
"""Stands for the services without a run of their own."""
MAX_SERVICES = 100
"""Default number of services with a run of their own."""
_UNKNOWN = "unknown"
_VERSION = re.compile(r"~\d{1,2}$")
_MAX_VERSIONS = 99
_LONGEST_SERVICE = 100


@dataclass
class TraceRuns:
    """Stores rows in growing runs of a database.

    Attributes:
        by: whether a run holds the rows of an hour (UTC, by the arrival of the trace), or of a service.
        no_texts: whether runs store placeholders in place of texts.
        max_services: maximum number of services with a run of their own; rows of earlier servers count.
        services: services that always have a run of their own.
    """

    database: Database
    by: RunsBy = "hour"
    no_texts: bool = False
    max_services: int = MAX_SERVICES
    services: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._versions = versions()
        self._services: set[str] = set()
        if self.by == "service":
            names = [record.name or "" for record in list_runs(self.database, search=RUN_PREFIX)]
            self._services = {
                _VERSION.sub("", name.removeprefix(RUN_PREFIX))
                for name in names
                if name.startswith(RUN_PREFIX) and not TRACE_HOUR.fullmatch(name)
            } - {OTHER, _UNKNOWN}
        self._is_full = False

    def name(self, sample: Sample, arrived: float) -> str:
        """Return the name of the run for a row."""
        if self.by == "hour":
            return f"{RUN_PREFIX}{_hour(arrived)}"
        named = sample.metadata.get("service")
        service = as_name(named, longest=_LONGEST_SERVICE) if isinstance(named, str) else _UNKNOWN
        return f"{RUN_PREFIX}{service if self._has_run(service) else OTHER}"

    def _has_run(self, service: str) -> bool:
        """Return whether a service has a run of its own: any client can send any number of names."""
        if service in self._services or service in self.services or service in {OTHER, _UNKNOWN}:
            return True
        if len(self._services) < self.max_services:
            self._services.add(service)
            return True
        if not self._is_full:
            self._is_full = True
            logger.warning(
                "%d services have runs. The traces of all others go to the run %s%s. Name your services with "
                "--otlp-service, or raise --otlp-max-services.",
                len(self._services),
                RUN_PREFIX,
                OTHER,
            )
        return False

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
        raise UsageError(
            f"The row cannot be saved: each run from {name} to {name}~{_MAX_VERSIONS - 1} has scores of "
            "other models, or another origin."
        )

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
