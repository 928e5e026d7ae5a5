"""Users of the dashboard: names, roles, and hashes of their tokens."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.names import MAX_NAME, name_problem
from sgi.kernel.short_text import shorten
from sgi.store import schema
from sgi.store.database_location import damaged_error
from sgi.store.run_inserts import now
from sgi.store.text_codec import decode_text, encode_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.store.database import Database

LOCAL_NAME = "local"
"""Name of everybody on a server that needs no token."""
TOKEN_NAME = "token"  # noqa: S105 - a name
"""Name of whoever uses the token of the server."""
_TOKEN_BYTES = 32


class Role(IntEnum):
    """What a user may do; a higher role includes the lower ones."""

    VIEWER = 1
    LABELLER = 2
    EDITOR = 3

    def __str__(self) -> str:
        """Return the name of the role in lower case."""
        return self.name.lower()


@dataclass(frozen=True)
class UserRecord:
    """A stored user. ``token_hash`` is the SHA-256 of the token in hexadecimal digits."""

    name: str
    role: Role
    token_hash: str
    created_at: str


def hash_token(token: str) -> str:
    """Return the hash of a token. One fast hash is enough, because tokens have 256 random bits."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def user_name_problem(name: str) -> str:
    r"""Return why a text cannot be the name of a user; an empty string if it can.

    A comma is refused because proxies join repeated headers with commas.

    >>> user_name_problem("ann@example.org"), user_name_problem("ann, bob"), user_name_problem("token")
    ('', 'it has a comma', 'it is reserved')
    """
    if name in {LOCAL_NAME, TOKEN_NAME}:
        return "it is reserved"
    if name != name.strip():
        return "it begins or ends with a space"
    return name_problem(name) or ("it has a comma" if "," in name else "")


def add_user(database: Database, name: str, role: Role) -> str:
    """Add a user and return the new token. Raises UsageError for a bad name, or one that is taken."""
    if problem := user_name_problem(name):
        hint = f"Choose another name, of at most {MAX_NAME} printable characters without a comma."
        raise UsageError(f"A user cannot be called {shorten(name)!r}: {problem}.", hint=hint)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    values = {
        "name": encode_text(name),
        "role": str(role),
        "token_hash": hash_token(token),
        "created_at": now(),
    }
    with database.writing() as connection:
        try:
            with connection.begin_nested():
                connection.execute(sa.insert(schema.users).values(values))
        except IntegrityError as error:
            hint = f"`sgi users token {name}` makes a new token, `sgi users role` changes the role."
            raise UsageError(f"The user {name!r} is already there.", hint=hint) from error
    return token


def set_role(database: Database, name: str, role: Role) -> None:
    """Change the role of a user. Raises UnknownNameError for an unknown name."""
    _change(database, name, {"role": str(role)})


def renew_token(database: Database, name: str) -> str:
    """Replace the token of a user, and return the new one. Raises UnknownNameError for an unknown name."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    _change(database, name, {"token_hash": hash_token(token)})
    return token


def remove_user(database: Database, name: str) -> None:
    """Remove a user; the audit log stays. Raises UnknownNameError for an unknown name."""
    _change(database, name, None)


def find_user(database: Database, name: str) -> UserRecord | None:
    """Return the user with this name; None if there is none."""
    query = sa.select(schema.users).where(schema.users.c.name == encode_text(name))
    with database.reading() as connection:
        row = connection.execute(query).first()
    return None if row is None else _record(row)


def list_users(database: Database) -> list[UserRecord]:
    """Return all users, sorted by name."""
    return sorted(map(_record, _rows(database)), key=lambda user: user.name)


def has_users(database: Database) -> bool:
    """Return whether there is a user."""
    with database.reading() as connection:
        return connection.execute(sa.select(schema.users.c.name).limit(1)).first() is not None


def user_of_token(database: Database, token: str) -> UserRecord | None:
    """Return the user with this token. Each hash is compared in constant time, and all are compared."""
    sent = hash_token(token).encode()
    rows = _rows(database)
    same = [secrets.compare_digest(row.token_hash.encode("utf-8", "replace"), sent) for row in rows]
    return _record(rows[same.index(True)]) if any(same) else None


def _change(database: Database, name: str, values: dict[str, str] | None) -> None:
    """Update a user, or delete it if there are no values."""
    users = schema.users
    change = sa.delete(users) if values is None else sa.update(users).values(values)
    with database.writing() as connection:
        if not connection.execute(change.where(users.c.name == encode_text(name))).rowcount:
            raise UnknownNameError("user", name, hint="`sgi users list` shows all users.")


def _rows(database: Database) -> Sequence[sa.Row[Any]]:
    with database.reading() as connection:
        return connection.execute(sa.select(schema.users)).all()


def _record(row: sa.Row[Any]) -> UserRecord:
    try:
        role = Role[row.role.upper()]
    except (KeyError, AttributeError) as error:
        raise damaged_error("a user has an unknown role") from error
    return UserRecord(decode_text(row.name), role, decode_text(row.token_hash), row.created_at)
