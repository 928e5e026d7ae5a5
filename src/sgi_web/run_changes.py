"""Changes of runs through the server, each with its entry in the audit log in the same transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from sgi.store.manage_runs import Change, change_run, delete_run
from sgi.store.run_queries import find_run
from sgi_web.site import site_of
from sgi_web.users import record_action

if TYPE_CHECKING:
    from starlette.requests import Request

    from sgi.store.run_queries import RunRecord


def apply_change(request: Request, record: RunRecord, **change: Unpack[Change]) -> None:
    """Change the name or the tags of a run. Raises UsageError for a bad name or tag; then nothing changes."""
    with site_of(request).database.transaction() as database:
        before = find_run(database, record.id)
        change_run(database, record.id, **change)
        after = find_run(database, record.id)
        if after.name != before.name:
            names = f"{before.name or 'no name'} → {after.name or 'no name'}"
            record_action(request, "rename", record.id, names, database=database)
        if after.tags != before.tags:
            tags = f"{_tags(before)} → {_tags(after)}"
            record_action(request, "tags", record.id, tags, database=database)


def apply_delete(request: Request, record: RunRecord) -> None:
    """Delete a run."""
    with site_of(request).database.transaction() as database:
        delete_run(database, record.id)
        detail = f"{record.name or 'no name'}: {record.scored:,} rows of {record.dataset_name}"
        record_action(request, "delete", record.id, detail, database=database)


def _tags(record: RunRecord) -> str:
    return ", ".join(record.tags) or "no tags"
