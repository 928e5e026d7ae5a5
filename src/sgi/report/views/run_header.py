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
        id: sorts by time.
        name: the user's name for it; None where it has none.
        data: what messages call its data.
        rows: how many rows the data has.
        scored: how many of them are done.
        rejected: rows that could not be parsed.
        state: ``unfinished`` while it goes on; ``damaged`` where its settings or its summary cannot be read.
        stopped: why it ended before its time, or what is damaged; empty where neither is so.
        created_at: ISO 8601, UTC.
        finished_at: likewise; None while there are rows to do.
        metrics: canonical strings, in the order asked.
        means: the mean of each metric, by canonical string, as far as the headline knows it.
        shares: the metrics that lie in [0, 1] and are read as percent.
        tags: the user's, sorted.
        signature: everything that can change a number.
        versions: of the packages that made the numbers.
        spec: how it was asked for.
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
        """What pages call it: its name, or its id."""
        return self.name or self.id


def run_header(record: RunRecord) -> RunHeader:
    """What is known of a run without its rows."""
    told = {entry["metric"]: entry for entry in (record.summary or {}).get("metrics", ())}
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
        means={name: told.get(name, {}).get("mean") for name in record.metrics},
        shares=frozenset(name for name, entry in told.items() if entry.get("is_share")),
        tags=record.tags,
        signature=record.signature,
        versions=dict(record.versions),
        spec=dict(record.spec),
    )


def state_of(record: RunRecord) -> State:
    """Whether a run is finished, goes on, stopped early, or cannot be read as a whole."""
    if record.damage:
        return "damaged"
    if record.finished:
        return "finished"
    return "unfinished" if record.stopped is None else "stopped"
