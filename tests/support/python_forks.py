"""Python processes that begin as copies of one process, which has imported `sgi`: they start at once."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple, Self

# The loop ends in the copies, which run the rest, and when the tests end.
_PROGRAM = """
import contextlib, json, os, socket, sys
import sgi.api, sgi.api_analysis, sgi.engine.evaluate, sgi.types

wire = socket.socket(fileno=int(sys.argv.pop()))
while True:
    call, streams, *_ = socket.recv_fds(wire, 1 << 20, 2)
    if not call or not os.fork():
        break
    for stream in streams:
        os.close(stream)
if call:
    os.setsid()
    for stream, own in zip((*streams, streams[1]), (0, 1, 2)):
        os.dup2(stream, own)
    for stream in streams:
        os.close(stream)
    folder, environment, code = json.loads(call)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    wire.sendall(str(os.getpid()).encode())
    wire.close()
    exec(code, {"__name__": "__main__"})
else:  # their CPU time is part of that of the tests
    with contextlib.suppress(ChildProcessError):
        while os.wait():
            pass
"""


class Fork(NamedTuple):
    """A process in a session of its own, and the pipes of its input and output."""

    pid: int
    stdin: IO[str]
    stdout: IO[str]


class PythonForks:
    """Starts Python processes. The process that they copy begins with the first of them."""

    def __init__(self) -> None:
        self._origin: subprocess.Popen[bytes] | None = None
        self._wire, self._other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wire.settimeout(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()
        self._other.close()
        if self._origin is not None:
            self._origin.wait()

    def start(self, code: str, folder: Path, environment: Mapping[str, str]) -> Fork:
        """Start a process that executes the code in a folder, with these environment variables alone."""
        if self._origin is None:
            number = self._other.fileno()
            command = [sys.executable, "-u", "-c", _PROGRAM, str(number)]
            self._origin = subprocess.Popen(command, env=environment, pass_fds=[number])
            self._other.close()
        (stdin, to_stdin), (from_stdout, stdout) = os.pipe(), os.pipe()
        call = json.dumps([str(folder), dict(environment), code]).encode()
        socket.send_fds(self._wire, [call], [stdin, stdout])
        os.close(stdin)
        os.close(stdout)
        pid = int(self._wire.recv(100))
        return Fork(pid, os.fdopen(to_stdin, "w"), os.fdopen(from_stdout))
