"""Prepare objects for a fork: a child process cannot use connections, threads and locks of its parent."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from functools import cached_property
from threading import RLock
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object that must not share its connections, threads or locks with a child process."""

    def before_fork(self) -> None:
        """Close the connections, and block other threads until the fork is over."""

    def after_fork(self, *, child: bool) -> None:
        """Allow connections again; they are opened at the next use."""


class Renewable(Protocol):
    """An object whose threads and locks exist only in the process that created it."""

    def renew_after_fork(self) -> None:
        """Forget threads and replace locks; called in the child process."""


_OPEN: WeakSet[ForkAware] = WeakSet()
_RENEWED: WeakSet[Renewable] = WeakSet()


def close_at_fork(opened: ForkAware) -> None:
    """Call the methods of the object at each fork of this process, as long as the object exists.

    Without this, a child would inherit SQLite's locks, and a lock of another thread would never be released.
    """
    _OPEN.add(opened)


def renew_in_child(opened: Renewable) -> None:
    """Call the method of the object in each child process that is forked, as long as the object exists."""
    _RENEWED.add(opened)


def keep_forever(opened: object) -> None:
    """Keep an object for ever, also when the process ends.

    A child process needs this for sessions of model runtimes: their destructors wait for threads, which
    exist only in the parent.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(opened))


def _before() -> None:
    for opened in list(_OPEN):
        opened.before_fork()


def _after(*, child: bool) -> None:
    for opened in list(_OPEN):
        opened.after_fork(child=child)
    if child and _RENEWED:
        _renew_cached_properties()
        for renewed in list(_RENEWED):
            renewed.renew_after_fork()


def _renew_cached_properties() -> None:
    """Replace the lock that every cached property has in Python 3.11; another thread may have held it."""
    if sys.version_info < (3, 12):
        for each in gc.get_objects():
            if type(each) is cached_property:
                each.lock = RLock()  # type: ignore[attr-defined]  # unknown to the stubs


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(child=False),
        after_in_child=lambda: _after(child=True),
    )
