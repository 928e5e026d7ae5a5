"""Errors of targets, and safe quotation of their messages."""

from __future__ import annotations

import socket

from sgi.kernel.errors import TargetError

_MAX_QUOTED = 200
_DISCONNECTED = (ConnectionError, TimeoutError, socket.gaierror, socket.herror)


class TransientError(TargetError):
    """An error that a retry may avoid.

    Args:
        message: what is wrong.
        hint: what to do.
        retry_after: the wait in seconds that the target requests, if any.
    """

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


def shown(text: str, limit: int = _MAX_QUOTED) -> str:
    r"""The start of a foreign text, on one line, without control characters and lone surrogates.

    >>> shown("out of\x1b[31m memory\n\n at line 3")
    'out of [31m memory at line 3'
    """
    head = text[: 4 * limit]  # long texts are not scanned whole
    clean = " ".join("".join(char if char.isprintable() else " " for char in head).split())
    return clean if len(clean) <= limit and len(head) == len(text) else clean[: limit - 1] + "…"


def raised_error(who: str, error: BaseException) -> TargetError:
    """The target error for an exception of a user's function: its type and message.

    It is transient if the exception, or one that caused it, is that of a connection.

    >>> str(raised_error("rag:answer", KeyError("index")))
    "rag:answer raised KeyError: 'index'."
    """
    try:
        words = shown(str(error))
    except Exception:  # noqa: BLE001 - the str of a foreign error can raise anything
        words = ""
    message = f"{who} raised {type(error).__name__}{': ' if words else ''}{words}"
    kind = TransientError if _is_disconnection(error) else TargetError
    return kind(message if message.endswith((".", "!", "?", "…")) else f"{message}.")


def _is_disconnection(error: BaseException) -> bool:
    """Whether the error, or one that caused it, is that of a connection."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and all(cause is not known for known in seen):
        if isinstance(cause, _DISCONNECTED):
            return True
        seen.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return False
