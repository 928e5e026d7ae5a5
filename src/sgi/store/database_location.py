"""Locate a database by a path, a URL or the environment, and describe its errors."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from sgi.kernel.errors import MissingExtraError, StoreDamagedError, StoreError, UsageError

DEFAULT = "sgi.db"
"""The default database, in the working folder."""

ANOTHER = "Name another database, or set SGI_DATABASE_URL."
_KEPT = "what was written before is kept, and you can resume the run."
_SPACE = f"Free disk space; {_KEPT}"
_MEMORY = f"Close other programs; {_KEPT}"
RIGHTS = "Check that you may read and write there."
_DAMAGED = f"Take a copy of the file. {ANOTHER}"
_WAYS_OUT = {  # the first whose words are in the driver's message applies
    "disk is full": _SPACE,
    "No space left": _SPACE,
    "disk I/O error": f"Check the disk and its free space; {_KEPT}",
    "out of memory": _MEMORY,
    "is locked": "Another process is writing; try again when it is done.",
    "not a database": ANOTHER,
    "malformed": _DAMAGED,
    "Could not decode to UTF-8": _DAMAGED,
    "unable to open": RIGHTS,
    "readonly": RIGHTS,
    "permission denied": RIGHTS,
    "no schema has been selected": "Create the schema that the search_path names.",
    "authentication": "Check the user and the password.",
    "FATAL:  database": f"Create it first. {ANOTHER}",
    "connect": "Check that the server runs and can be reached; what was written before is kept.",
}
_OTHERWISE = "`sgi runs db status` says what the database is."

_POSTGRESQL = ("postgres", "postgresql", "postgresql+psycopg")
_MISTYPED_URL = re.compile(r"postgres\w*(?!.*://).*@", re.IGNORECASE | re.DOTALL)
"""A URL without ``://``; as the path of a file, messages would show its password."""
_KINDS = "It is the path of a SQLite file, sqlite:///FILE or postgresql://USER@HOST/NAME."


def database_url(where: str | Path | None, *, create: bool) -> sa.URL:
    """Return the URL of a database, and check all that needs no connection."""
    place = where if where is not None else os.environ.get("SGI_DATABASE_URL") or DEFAULT
    if isinstance(place, str) and _MISTYPED_URL.match(place):
        raise UsageError("The database's URL cannot be read.", hint=_KINDS)
    if isinstance(place, Path) or "://" not in place:
        return _file(Path(os.path.expanduser(place)), create=create)  # noqa: PTH111 - pathlib's fails without a home
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):  # its message may contain the password
        raise UsageError("The database's URL cannot be read.", hint=_KINDS) from None
    if url.drivername == "sqlite" and url.database and url.database != ":memory:" and not url.query:
        return _file(Path(url.database), create=create)
    if url.drivername not in _POSTGRESQL:
        raise UsageError(
            f"No database of the kind {url.drivername!r} can be opened with this URL.", hint=_KINDS
        )
    if find_spec("psycopg") is None:
        raise MissingExtraError("A PostgreSQL database", "postgres")
    return url.set(drivername="postgresql+psycopg")


def _file(path: Path, *, create: bool) -> sa.URL:
    try:
        if not path.parent.is_dir():
            raise StoreError(
                f"{path}: the folder {str(path.parent)!r} does not exist.", hint="Create it first."
            )
        if not create and not path.exists():
            hint = f"`sgi run` makes one. {ANOTHER}"
            raise StoreError(f"The database {str(path)!r} does not exist.", hint=hint)
    except OSError as error:
        raise StoreError(f"{path} cannot be reached: {error.strerror}.", hint=RIGHTS) from error
    return sa.URL.create("sqlite", database=str(path))


def display_url(url: sa.URL) -> str:
    """Return the location of a database without password and options."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    host = url.host or next(iter(url.normalized_query.get("host", ())), None)
    return sa.URL.create("postgresql", url.username, None, host, url.port, url.database).render_as_string()


def database_error(shown: str, error: BaseException | str, secret: object = None) -> StoreError:
    """Build the error of a database that cannot be used, without the password ``secret``."""
    reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    if secret:
        reason = reason.replace(str(secret), "***")
    hint = next((way_out for words, way_out in _WAYS_OUT.items() if words in reason), _OTHERWISE)
    kind = StoreDamagedError if hint == _DAMAGED or "not a database" in reason else StoreError
    return kind(f"The database {shown} cannot be used: {reason.rstrip('.')}.", hint=hint)


def damaged_error(problem: str) -> StoreDamagedError:
    """Build the error of a stored value that its column cannot hold."""
    return StoreDamagedError(f"The database is damaged: {problem}.", hint=_DAMAGED)
