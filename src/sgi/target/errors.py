"""Why a target gave no answer: what may go well next time, and how foreign words are shown."""

from __future__ import annotations

import socket

from sgi.kernel.errors import TargetError

_SHOWN = 200
_DISCONNECTED = (ConnectionError, TimeoutError, socket.gaierror, socket.herror)


class TransientError(TargetError):
    """A fault that may be gone when the target is asked again.

    Args:
        message: what is wrong.
        hint: the way out.
        retry_after: seconds the target asks to be left alone; None where it does not say.
    """

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


def shown(text: str, limit: int = _SHOWN) -> str:
    r"""The first part of foreign words, on one line, without control characters and lone surrogates.

    >>> shown("out of\x1b[31m memory\n\n at line 3")
    'out of [31m memory at line 3'
    """
    head = text[: 4 * limit]  # a megabyte is not looked through for a line of it
    clean = " ".join("".join(char if char.isprintable() else " " for char in head).split())
    return clean if len(clean) <= limit and len(head) == len(text) else clean[: limit - 1] + "…"


def raised(who: str, error: BaseException) -> TargetError:
    """What a function of the user raised, as type and message.

    A broken connection may be whole next time, also where the function's own error was raised because of one.

    >>> str(raised("rag:answer", KeyError("index")))
    "rag:answer raised KeyError: 'index'."
    """
    try:
        words = shown(str(error))
    except Exception:  # noqa: BLE001 - the words of a foreign error may fail in any way
        words = ""
    message = f"{who} raised {type(error).__name__}{': ' if words else ''}{words}"
    kind = TransientError if _is_disconnection(error) else TargetError
    return kind(message if message.endswith((".", "!", "?", "…")) else f"{message}.")


def _is_disconnection(error: BaseException) -> bool:
    """Whether the error, or one that led to it, is that of a connection."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and all(cause is not known for known in seen):
        if isinstance(cause, _DISCONNECTED):
            return True
        seen.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return False
