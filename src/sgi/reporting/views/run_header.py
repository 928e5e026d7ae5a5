"""Header of a run: name, data, state and provenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.store.run_queries import RunRecord

State = Literal["finished", "stopped", "unfinished", "damaged"]


@dataclass(frozen=True)
class RunHeader:
    """A run without its rows.

    Attributes:
        id: the id of the run; ids sort by time.
        name: the name that the user gave; None if the run has none.
        data: display name of its data.
        rows: number of rows of the data.
        scored: number of scored rows.
        rejected: rows that could not be parsed.
        state: ``unfinished`` while it is running; ``damaged`` if its settings or summary cannot be read.
        stopped: why the run stopped early, or what is damaged; otherwise empty.
        created_at: start time, ISO 8601, UTC.
        finished_at: end time, ISO 8601, UTC; None while rows are not scored.
        metrics: canonical names of the metrics, in the requested order.
        means: the mean of each metric, by canonical name, if the summary has it.
        shares: the metrics in [0, 1] that are shown as percent.
        tags: the user's tags, sorted.
        signature: all settings and versions that can change a number, as text.
        versions: versions of the packages that computed the numbers.
        spec: the settings of the run.
    """

    id: str
    name: str | None
    data: str
    rows: int
    scored: int
    rejected: int
    state: State
    stopped: str
    created_at: str
    finished_at: str | None
    metrics: tuple[str, ...]
    means: Mapping[str, float | None]
    shares: frozenset[str]
    tags: tuple[str, ...]
    signature: str
    versions: Mapping[str, str]
    spec: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Display name of the run: its name, or its id if it has none."""
        return self.name or self.id


def run_header(record: RunRecord) -> RunHeader:
    """Return the header of a run."""
    summaries = {entry["metric"]: entry for entry in (record.summary or {}).get("metrics", ())}
    return RunHeader(
        id=record.id,
        name=record.name,
        data=record.dataset_name,
        rows=record.rows,
        scored=record.scored,
        rejected=record.rejected,
        state=state_of(record),
        stopped=record.damage or ("" if record.finished else record.stopped or ""),
        created_at=record.created_at,
        finished_at=record.finished_at,
        metrics=record.metrics,
        means={name: summaries.get(name, {}).get("mean") for name in record.metrics},
        shares=frozenset(name for name, entry in summaries.items() if entry.get("is_share")),
        tags=record.tags,
        signature=record.signature,
        versions=dict(record.versions),
        spec=dict(record.spec),
    )


def state_of(record: RunRecord) -> State:
    """Return the state of a run: ``finished``, ``unfinished`` (still running), ``stopped`` or ``damaged``."""
    if record.damage:
        return "damaged"
    if record.finished:
        return "finished"
    return "unfinished" if record.stopped is None else "stopped"
