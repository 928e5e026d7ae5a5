"""What a run may be called: its name, and the tags that it shares with others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.store import schema
from sgi.store.texts import stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

LONGEST_TAG = 40
"""Characters."""
MOST_TAGS = 20
"""That a run has."""

_MEANS_ANOTHER = re.compile(r"last(~|$)|\d{8}-\d{6}")
"""Names that stand for other runs: the last one, and what looks like an id."""


def refuse_name(connection: Connection, name: str, *, otherwise: str = "") -> None:
    """Raise a UsageError for a name that is taken, or that stands for something else.

    Args:
        connection: in the transaction that gives the name.
        name: what a run shall be called.
        otherwise: what can be done with the run that has the name, in place of taking another one.
    """
    if not name.strip() or name != stored(name) or _MEANS_ANOTHER.match(name):
        raise UsageError(f"A run cannot be called {name!r}.", hint="Name it otherwise.")
    found = connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.name == name)).first()
    if found is not None:
        hint = f"Choose another name{f', or {otherwise}' if otherwise else ''}."
        raise UsageError(f"A run called {name!r} is already there ({found.id}).", hint=hint)


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags without the space around them, each once, sorted.

    Raises:
        UsageError: one is empty, longer than 40 characters, holds a comma or what cannot be printed; or they
            are more than 20.

    >>> checked_tags([" nightly ", "gpt-4o", "nightly"])
    ('gpt-4o', 'nightly')
    """
    made = sorted({_checked_tag(tag) for tag in tags})
    if len(made) > MOST_TAGS:
        raise UsageError(f"A run has at most {MOST_TAGS} tags, not {len(made)}.", hint="Leave some out.")
    return tuple(made)


def _checked_tag(given: str) -> str:
    tag = given.strip()
    if not tag or len(tag) > LONGEST_TAG or not tag.isprintable() or "," in tag:
        hint = f"A tag has 1 to {LONGEST_TAG} printable characters and no comma."
        raise UsageError(f"{given!r} is no tag.", hint=hint)
    return tag
