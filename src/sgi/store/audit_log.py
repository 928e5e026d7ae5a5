"""The audit log: changes through the server, with the user who made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.kernel.short_text import shorten
from sgi.store import schema
from sgi.store.run_inserts import now
from sgi.store.text_codec import decode_text, encode_text

if TYPE_CHECKING:
    from sgi.store.database import Database

MAX_TEXT = 2000
"""Maximum characters of a target and of a detail; longer ones are shortened."""


@dataclass(frozen=True)
class AuditEntry:
    """One change: when, by whom, what, to which object, and in what way."""

    id: int
    at: str
    user: str
    action: str
    target: str
    detail: str


def add_entry(database: Database, user: str, action: str, target: str, detail: str = "") -> None:
    """Add an entry with the current time. Raises StoreError if writing fails."""
    texts = {"user": user, "action": action, "target": target, "detail": detail}
    values = {name: encode_text(shorten(text, MAX_TEXT)) for name, text in texts.items()}
    with database.writing() as connection:
        connection.execute(sa.insert(schema.audit_log).values(at=now(), **values))


def list_entries(
    database: Database, *, user: str | None = None, limit: int, offset: int = 0
) -> list[AuditEntry]:
    """Return entries, newest first; ``user`` selects those of one user."""
    log = schema.audit_log
    query = sa.select(log).where(_of_user(user)).order_by(log.c.id.desc()).limit(limit).offset(offset)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [AuditEntry(row[0], row[1], *map(decode_text, row[2:])) for row in rows]


def count_entries(database: Database, *, user: str | None = None) -> int:
    """Return the number of entries; ``user`` counts those of one user."""
    query = sa.select(sa.func.count()).select_from(schema.audit_log).where(_of_user(user))
    with database.reading() as connection:
        return int(connection.execute(query).scalar_one())


def logged_users(database: Database) -> list[str]:
    """Return the names of all users in the log, sorted."""
    with database.reading() as connection:
        names = connection.execute(sa.select(schema.audit_log.c.user).distinct()).scalars().all()
    return sorted(map(decode_text, names))


def _of_user(user: str | None) -> sa.ColumnElement[bool]:
    return sa.true() if user is None else schema.audit_log.c.user == encode_text(user)
