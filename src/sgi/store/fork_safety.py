"""Close connections before a fork: SQLite and sockets must not be shared with a child process."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object with connections, which are closed before a fork."""

    def before_fork(self) -> None:
        """Close the connections, and block other threads until the fork is over."""

    def after_fork(self, *, child: bool) -> None:
        """Allow connections again; they are opened at the next use."""


_OPEN: WeakSet[ForkAware] = WeakSet()


def close_at_fork(opened: ForkAware) -> None:
    """Close the connections before each fork of this process; parent and child reconnect afterwards.

    Without this, a child would inherit SQLite's locks, and a lock of another thread would never be released.
    """
    _OPEN.add(opened)


def _before() -> None:
    for opened in list(_OPEN):
        opened.before_fork()


def _after(*, child: bool) -> None:
    for opened in list(_OPEN):
        opened.after_fork(child=child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(child=False),
        after_in_child=lambda: _after(child=True),
    )
