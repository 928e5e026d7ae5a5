"""Errors of targets, the RAG systems under test."""

from __future__ import annotations

import socket

from sgi.kernel.errors import TargetError
from sgi.kernel.short_text import quote

_DISCONNECTED = (ConnectionError, TimeoutError, socket.gaierror, socket.herror)


class TransientError(TargetError):
    """Temporary error; ``retry_after`` is the wait in seconds that the target requests, or None."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


def raised_error(who: str, error: BaseException) -> TargetError:
    """Return a TargetError with the type and message of an exception that a user's function raised.

    It is a TransientError if the exception, or one that caused it, is a connection error.
    """
    try:
        words = quote(str(error))
    except Exception:  # noqa: BLE001 - the str of a foreign error can raise anything
        words = ""
    message = f"{who} raised {type(error).__name__}{': ' if words else ''}{words}"
    kind = TransientError if _is_disconnection(error) else TargetError
    return kind(message if message.endswith((".", "!", "?", "…")) else f"{message}.")


def _is_disconnection(error: BaseException) -> bool:
    ids: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in ids:
        if isinstance(cause, _DISCONNECTED):
            return True
        ids.add(id(cause))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return False
