"""Rules for the names and tags of runs."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import MAX_NAME, name_problem, shorten
from sgi.store import schema

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from sqlalchemy import Connection

LONGEST_TAG = 40
"""Characters."""
MOST_TAGS = 20
"""Tags per run."""

_MEANS_ANOTHER = re.compile(r"last(~|$)|\d{8}-\d{6}")
"""Reserved names: the last run, and what looks like an id."""


def require_free_name(connection: Connection, name: str, *, otherwise: str = "") -> None:
    """Raise a UsageError if a name is taken or reserved; ``otherwise`` is an alternative for the hint."""
    require_run_name(name)
    other = connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.name == name)).first()
    if other is not None:
        hint = f"Choose another name{f', or {otherwise}' if otherwise else ''}."
        raise UsageError(f"A run called {name!r} already exists ({other.id}).", hint=hint)


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name; if it is taken, append the first free number.

    >>> free_name("a", ()), free_name("a", {"a", "a-2"})
    ('a', 'a-3')
    """
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(free for free in numbered if free not in taken)


def is_run_name(name: str) -> bool:
    """Return whether a run can have the name; ``last`` is reserved, for example."""
    return not _problem(name)


def require_run_name(name: str) -> None:
    """Raise a UsageError for a name that no run can have, such as ``last~2``."""
    reason = _problem(name)
    if reason:
        hint = f"Choose another name, of at most {MAX_NAME} printable characters."
        raise UsageError(f"A run cannot be called {shorten(name)!r}: {reason}.", hint=hint)


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags stripped, unique and sorted.

    Raises UsageError for more than 20 tags, and for one that is empty, longer than 40 characters, or has a
    comma or unprintable characters.

    >>> checked_tags([" nightly ", "gpt-4o", "nightly"])
    ('gpt-4o', 'nightly')
    """
    unique = tuple(sorted({_checked_tag(tag) for tag in tags}))
    if len(unique) > MOST_TAGS:
        raise UsageError(f"A run has at most {MOST_TAGS} tags, not {len(unique)}.", hint="Leave some out.")
    return unique


def _checked_tag(text: str) -> str:
    tag = text.strip()
    reason = name_problem(tag, longest=LONGEST_TAG) or ("it holds a comma" if "," in tag else "")
    if reason:
        hint = f"A tag has 1 to {LONGEST_TAG} printable characters and no comma."
        raise UsageError(f"{shorten(text)!r} is not a tag: {reason}.", hint=hint)
    return tag


def _problem(name: str) -> str:
    return name_problem(name) or ("it selects another run" if _MEANS_ANOTHER.match(name) else "")
