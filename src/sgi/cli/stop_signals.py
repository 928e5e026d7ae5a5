"""Ends a command on SIGTERM and SIGHUP."""

from __future__ import annotations

import signal
import sys
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")


def run_until_signal(command: Callable[[], object]) -> None:
    """Call a function; SIGTERM and SIGHUP stop it as Ctrl-C does, with the same clean-up.

    A signal that the parent process has set to be ignored, as `nohup` does, stays ignored.

    Raises:
        SystemExit: a signal stopped it; the exit code is 128 + its number, as in a shell.
    """
    stop_signals: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        stop_signals.append(number)
        handler = signal.getsignal(signal.SIGINT)  # asyncio has its own handler
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    in_main = current_thread() is main_thread()  # Python allows handlers only there
    signals = [getattr(signal, name) for name in _NAMES if in_main and hasattr(signal, name)]
    handled_signals = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in handled_signals:
            signal.signal(number, interrupt)
        command()
    except (KeyboardInterrupt, SystemExit):
        if not stop_signals:
            raise
    except Exception as error:
        if not _is_from_interrupt(error):
            raise
        stop_signals.append(signal.SIGINT)
    finally:
        for number in handled_signals:
            signal.signal(number, signal.SIG_DFL)
    if stop_signals:
        sys.exit(128 + stop_signals[0])


def _is_from_interrupt(error: BaseException) -> bool:
    """Whether an interrupt caused an error: one that meets `__set_name__` becomes a `RuntimeError`."""
    cause: BaseException | None = error
    seen: set[int] = set()  # an error can be its own cause
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, KeyboardInterrupt):
            return True
        seen.add(id(cause))
        cause = cause.__cause__
    return False
