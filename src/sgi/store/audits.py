"""Store and find the audits of judges and metrics."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.errors import StoreDamagedError
from sgi.store import schema
from sgi.store.bulk_rows import decode_text, encode_text
from sgi.store.schema import now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.store.database import Database


_PARTS: dict[str, type | tuple[type, ...]] = {
    "run": str,
    "label": str,
    "threshold": (int, float),
    "rows": int,
    "share_yes": (int, float),
    "counts": dict,
    "trust": dict,
    "used": dict,
    "found": dict,
}
"""The parts of a body that are read again, with their types."""


@dataclass(frozen=True)
class StoredAudit:
    """An audit in the database.

    Attributes:
        scorer: a hash of the metric, its version and models, the judge and the prompts.
        metric: canonical string of the metric.
        run: id of the audited run.
        verdict: ``TRUSTED``, ``NOT TRUSTED`` or ``NEED``.
        body: labels, counts and estimates.
        created_at: ISO 8601, UTC.
    """

    scorer: str
    metric: str
    run: str
    verdict: str
    body: Mapping[str, Any]
    created_at: str = ""


def store_audit(database: Database, audit: StoredAudit) -> None:
    """Store an audit; earlier ones of the same scorer stay."""
    values = {
        "id": secrets.token_hex(6),
        "scorer": audit.scorer,
        "metric": encode_text(audit.metric),
        "run": audit.run,
        "verdict": audit.verdict,
        "body": dict(audit.body),
        "created_at": audit.created_at or now(),
    }
    with database.writing() as connection:
        connection.execute(sa.insert(schema.audits).values(values))


def audits_of(database: Database, scorer: str) -> list[StoredAudit]:
    """Return the audits of a scorer, newest first.

    Raises StoreDamagedError if one lacks a part: it was changed, or imported from a damaged file.
    """
    table = schema.audits
    newest = sa.select(table).where(table.c.scorer == scorer)
    with database.reading() as connection:
        rows = connection.execute(newest.order_by(table.c.created_at.desc(), table.c.id)).all()
    for row in rows:
        if not isinstance(row.body, dict) or any(
            not isinstance(row.body.get(name), kind) for name, kind in _PARTS.items()
        ):
            raise StoreDamagedError(f"The audit {row.id} of {decode_text(row.metric)} is damaged.")
    return [
        StoredAudit(row.scorer, decode_text(row.metric), row.run, row.verdict, row.body, row.created_at)
        for row in rows
    ]
