"""Short messages that the next page of a session shows once, such as "Deleted run r"."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from starlette.requests import Request

_MAX_SESSIONS = 1000


class Toasts:
    """The message of each session that waits for its next page; the oldest is forgotten first."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def add(self, session: str, message: str) -> None:
        """Keep a message for the next page of a session; it replaces an earlier one."""
        with self._lock:
            self._messages[session] = message
            while len(self._messages) > _MAX_SESSIONS:
                self._messages.popitem(last=False)

    def take(self, session: str) -> str:
        """Return the message of a session, and forget it; empty if there is none."""
        with self._lock:
            return self._messages.pop(session, "")


def show_toast(request: Request, message: str) -> None:
    """Show a message on the next page that this session opens."""
    _toasts(request).add(request.state.session, message)


def take_toast(request: Request) -> str:
    """Return the message for this page; empty if there is none."""
    return _toasts(request).take(request.state.session)


def _toasts(request: Request) -> Toasts:
    return cast("Toasts", request.app.state.toasts)
