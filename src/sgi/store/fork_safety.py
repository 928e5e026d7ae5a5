"""Connections and forks: SQLite and sockets must not be shared with a child process."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """Something with connections, which the hooks below close before a fork."""

    def before_fork(self) -> None:
        """Close the connections; no other thread uses them until the fork is over."""

    def after_fork(self, *, child: bool) -> None:
        """Allow connections again; they are opened at the next use."""


_OPEN: WeakSet[ForkAware] = WeakSet()


def close_at_fork(opened: ForkAware) -> None:
    """Close its connections before each fork of this process; parent and child open their own afterwards.

    A child that inherits a connection also inherits what SQLite believes to have locked, and a lock that
    another thread held stays locked in the child for ever.
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
