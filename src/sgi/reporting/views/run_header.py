"""State of a run, notes on unfinished runs, and its header in JSON: name, data, state and provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.store.run_queries import RunRecord

State = Literal["finished", "stopped", "unfinished", "damaged"]


def state_of(record: RunRecord) -> State:
    """Return the state of a run: ``finished``, ``unfinished`` (still running), ``stopped`` or ``damaged``."""
    if record.damage:
        return "damaged"
    if record.finished:
        return "finished"
    return "unfinished" if record.stopped is None else "stopped"


def stop_reason(record: RunRecord) -> str:
    """Return why a run stopped early, or which of its settings and summary are damaged; otherwise empty."""
    return record.damage or ("" if record.finished else record.stopped or "")


def stored_means(record: RunRecord) -> dict[str, tuple[float | None, bool]]:
    """Return the mean of each metric, if the summary has it, and whether it is a share shown as percent."""
    entries = {entry["metric"]: entry for entry in (record.summary or {}).get("metrics", ())}
    known = {name: entries.get(name, {}) for name in record.metrics}
    return {name: (entry.get("mean"), bool(entry.get("is_share"))) for name, entry in known.items()}


def run_header(record: RunRecord) -> dict[str, object]:
    """Return a run without its rows, as the JSON API and the JSON report show it."""
    same = ("signature", "versions", "spec")
    means = stored_means(record)
    return {
        "id": record.id,
        "name": record.name,
        "data": record.dataset_name,
        "rows": record.rows,
        "scored": record.scored,
        "rejected": record.rejected,
        "state": state_of(record),
        "stopped": stop_reason(record),
        "created_at": record.created_at,
        "finished_at": record.finished_at,
        "metrics": record.metrics,
        "means": {name: mean for name, (mean, _) in means.items()},
        "shares": sorted(name for name, (_, is_share) in means.items() if is_share),
        "tags": record.tags,
    } | {name: getattr(record, name) for name in same}


def unfinished_notes(records: Sequence[RunRecord]) -> Iterator[str]:
    """Return a note on each run that is unfinished: only its scored rows are compared."""
    for record in records:
        if record.scored < record.rows:
            rows = f"{record.scored:,} of {record.rows:,} rows"
            yield f"{record.label} is unfinished: only {rows} are compared."
