"""Process that scores an upload. It imports only what a run needs, not the dashboard."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from sgi.cli.stop_signals import run_until_signal
from sgi.engine.runner import start_run
from sgi.kernel.durable_files import mark_in_use
from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from sgi.engine.progress import Event
    from sgi.engine.run_options import RunOptions


def score_upload(messages: Connection, options: RunOptions) -> None:
    """Score an upload in a process of its own; a signal, or the end of the server, interrupts the run."""

    def tell(event: Event) -> None:
        try:
            messages.send(event)
        except OSError as error:  # the server is gone
            raise KeyboardInterrupt from error

    try:
        with _in_use(options.rows_file):  # until its run names it, also if the server is gone
            run_until_signal(lambda: anyio.run(start_run, options, tell))
    except SgiError as error:
        messages.send(str(error))
        sys.exit(1)
    except KeyboardInterrupt:  # Ctrl-C also reaches the server
        sys.exit(130)


@contextmanager
def _in_use(path: Path) -> Iterator[None]:
    """Context manager that locks a file, if it is still there."""
    with ExitStack() as stack:
        with suppress(OSError):
            mark_in_use(stack.enter_context(path.open("rb")).fileno())
        yield
