"""Processes that run blocks one after the other and keep their state: a shell, and Python."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Self

from support.command_server import CommandServer

_END = "-- end of the block:"
_PYTHON = f"""
import sys, traceback
names = {{"__name__": "__main__"}}
for size in iter(sys.stdin.readline, ""):
    code = 0
    try:
        exec(compile(sys.stdin.read(int(size)), "block", "exec"), names)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        code = 1
    print("\\n{_END}", code)
"""


class BlockSession:
    """A shell or a Python that executes blocks in a folder; its state lasts from block to block."""

    def __init__(
        self, language: str, folder: Path, environment: Mapping[str, str], server: CommandServer
    ) -> None:
        self._is_shell = language == "console"
        self._server = server
        self._process = subprocess.Popen(
            ["bash"] if self._is_shell else [sys.executable, "-u", "-c", _PYTHON],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that its end also ends the servers that it started
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._process.communicate()

    def run(self, text: str, *, limit: float = 120.0) -> tuple[int, str]:
        """Execute a block; return its exit code and what it printed, errors among it."""
        if self._is_shell:
            sent = f"{{ {text}\n}} < /dev/null\ncode=$?; echo; echo '{_END}' $code\n"
        else:
            sent = f"{len(text)}\n{text}"
        lines: list[str] = []
        reader = Thread(target=self._communicate, args=(sent, lines))
        reader.start()
        end = time.monotonic() + limit
        self._server.answer_until(lambda: not reader.is_alive() or time.monotonic() > end)
        if reader.is_alive():
            self._kill()
        reader.join()
        assert lines, text
        assert lines[-1].startswith(_END), f"The block did not end:\n{text}\n{''.join(lines)}"
        return int(lines[-1].removeprefix(_END)), "".join(lines[:-1])

    def _communicate(self, sent: str, lines: list[str]) -> None:
        """Send a block, and collect the lines until its end or the end of the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(sent)
        self._process.stdin.flush()
        for line in self._process.stdout:
            lines.append(line)
            if line.startswith(_END):
                return

    def _kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
