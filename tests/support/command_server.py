"""Runs scripts whose command `sgi` is executed in this process, which saves the start of new processes."""

import io
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Self
from unittest.mock import patch

from support.command import sgi

# Python without its site packages starts in a few milliseconds.
_PROGRAM = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as wire:
    wire.connect({address!r})
    call = {{"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
    call["input"] = sys.stdin.buffer.read().decode()
    wire.sendall(json.dumps(call).encode())
    wire.shutdown(socket.SHUT_WR)
    result = json.loads(wire.makefile("rb").read())
for name, text in result["parts"]:
    stream = sys.stdout if name == "out" else sys.stderr
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.flush()
sys.exit(result["code"])
"""


class CommandServer:
    """A folder with a program `sgi`, which this process executes while it waits for a script."""

    def __init__(self) -> None:
        self._temporary = TemporaryDirectory()
        self.folder = Path(self._temporary.name)
        address = str(self.folder / "socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen()
        self._listener.settimeout(0.02)
        program = self.folder / "sgi"
        program.write_text(_PROGRAM.format(python=sys.executable, address=address), "utf-8")
        program.chmod(0o755)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._temporary.cleanup()

    def execute(self, command: Sequence[str | Path], **options: Any) -> tuple[int, bytes]:
        """Run a command, and execute its calls of `sgi`; return its exit code and output."""
        with TemporaryFile() as output:
            with subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options) as process:
                self.answer_until(lambda: process.poll() is not None)
            output.seek(0)
            return process.returncode, output.read()

    def answer_until(self, is_done: Callable[[], bool]) -> None:
        """Execute calls until the function says that no more will come."""
        while not is_done():
            self._answer()

    def _answer(self) -> None:
        """Execute one call, if there is one within a moment."""
        try:
            wire, _ = self._listener.accept()
        except TimeoutError:
            return
        with wire:
            wire.settimeout(60)
            call = json.loads(wire.makefile("rb").read())
            with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(call["input"].encode()), "utf-8")):
                outcome = sgi(Path(call["folder"]), *call["words"], **call["environment"])
            wire.sendall(json.dumps(vars(outcome)).encode())
