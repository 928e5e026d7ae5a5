"""State of a run, notes on unfinished runs, and its header in JSON: name, data, state and provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sgi.kernel.short_text import pluralize_part

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
    summaries = metric_summaries(record).items()
    return {name: (entry.get("mean"), bool(entry.get("is_share"))) for name, entry in summaries}


def metric_summaries(record: RunRecord) -> dict[str, dict[str, Any]]:
    """Return the summary of each metric; it is empty if the run stores no summary."""
    entries = {entry["metric"]: entry for entry in (record.summary or {}).get("metrics", ())}
    return {name: entries.get(name, {}) for name in record.metrics}


def run_state(record: RunRecord) -> dict[str, object]:
    """Return the name, data and state of a run as JSON values."""
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
        "tags": record.tags,
        "signature": record.signature,
    }


def run_header(record: RunRecord) -> dict[str, object]:
    """Return a run without its rows, as the JSON API and the JSON report show it."""
    means = stored_means(record)
    return run_state(record) | {
        "metrics": record.metrics,
        "means": {name: mean for name, (mean, _) in means.items()},
        "shares": sorted(name for name, (_, is_share) in means.items() if is_share),
        "versions": record.versions,
        "spec": record.spec,
    }


def unfinished_notes(records: Sequence[RunRecord]) -> Iterator[str]:
    """Return a note on each run that is unfinished: only its scored rows are compared."""
    for record in records:
        if record.scored < record.rows:
            rows = pluralize_part(record.scored, record.rows, "row", "is", "are")
            yield f"{record.label} is unfinished: only {rows} compared."
