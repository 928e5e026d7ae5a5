"""Errors of the database as errors of ours, with the way out."""

from __future__ import annotations

from sgi.kernel.errors import StoreDamagedError, StoreError

ANOTHER = "Name another database with --db or SGI_DATABASE_URL."
_KEPT = "what was written before is kept, and a run resumes with --resume."
_ROOM = f"Make room; {_KEPT}"
_MEMORY = f"Close other programs; {_KEPT}"
RIGHTS = "See that you may read and write there."
_DAMAGED = f"The file is damaged: take a copy of it. {ANOTHER}"
_WAYS_OUT = {  # the first whose words stand in the driver's message
    "disk is full": _ROOM,
    "No space left": _ROOM,
    "disk I/O error": f"Check the disk and its free space; {_KEPT}",
    "out of memory": _MEMORY,
    "is locked": "Another process is writing; try again when it is done.",
    "not a database": ANOTHER,
    "malformed": _DAMAGED,
    "Could not decode to UTF-8": _DAMAGED,
    "unable to open": RIGHTS,
    "readonly": RIGHTS,
    "permission denied": RIGHTS,
    "no schema has been selected": "Make the schema that the search_path names.",
    "authentication": "Check the user and the password.",
    "FATAL:  database": f"Make it first. {ANOTHER}",
    "connect": "See that the server runs and can be reached; what was written before is kept.",
}
_OTHERWISE = "`sgi db status` says what the database is."


def database_error(shown: str, error: BaseException | str, secret: object = None) -> StoreError:
    """The error for a database that cannot be used.

    Args:
        shown: the place of the database, without a password.
        error: what the driver raised, or what is wrong.
        secret: the password, which the message must not hold.
    """
    reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    if secret:
        reason = reason.replace(str(secret), "***")
    hint = next((way_out for words, way_out in _WAYS_OUT.items() if words in reason), _OTHERWISE)
    kind = StoreDamagedError if hint == _DAMAGED or "not a database" in reason else StoreError
    return kind(f"The database {shown} cannot be used: {reason.rstrip('.')}.", hint=hint)
