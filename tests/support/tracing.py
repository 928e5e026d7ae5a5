"""Runs a command in an empty home folder, and traces the network calls of its processes with strace."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

SGI = (sys.executable, "-m", "sgi")
_PATIENCE = 300.0
_CALL = re.compile(r"^\d+ +(\w+)\(")
_INET = re.compile(r"^\d+ +socket\(AF_INET")
_NAME_LOOKUP = re.compile(r'sun_path="[^"]*(?:nscd|io\.systemd\.Resolve)')
_ADDRESS = re.compile(
    r'sin6?_port=htons\((\d+)\),.*?inet_(?:addr\("(?P<four>[^"]+)"|pton\(AF_INET6, "(?P<six>[^"]+)")'
)
_OUTWARD = {"bind", "connect", "sendto", "sendmsg", "sendmmsg"}


@dataclass(frozen=True)
class TracedCommand:
    """A command under strace.

    Attributes:
        folder: contains its home, working folder, temporary folder and trace.
    """

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def lines(self) -> list[str]:
        """The network calls of all its processes."""
        return (self.folder / "trace").read_text(encoding="utf-8", errors="replace").splitlines()

    @property
    def inet_sockets(self) -> list[str]:
        """The calls that opened an internet socket."""
        return [line for line in self.lines if _INET.match(line)]

    @property
    def name_lookups(self) -> list[str]:
        """The calls that looked up a host or user name in a local service."""
        return [line for line in self.lines if _NAME_LOOKUP.search(line)]

    @property
    def addresses(self) -> set[str]:
        """The internet addresses that it listened on, connected to or sent to, as ``host:port``."""
        outward = [line for line in self.lines if (call := _CALL.match(line)) and call[1] in _OUTWARD]
        found = [match for line in outward for match in _ADDRESS.finditer(line)]
        return {f"{match['four'] or match['six']}:{match[1]}" for match in found}

    @property
    def files_in_home(self) -> set[str]:
        """The files in its home folder, without the suffixes ``-wal`` and ``-shm``."""
        files = [path for path in self.home.rglob("*") if not path.is_dir()]
        return {re.sub(r"-(wal|shm)$", "", path.relative_to(self.home).as_posix()) for path in files}

    def command(self, *words: object) -> list[str]:
        trace = ["strace", "-f", "-qq", "-I2", "--seccomp-bpf", "-e", "trace=network", "-s", "0"]
        return [*trace, "-o", str(self.folder / "trace"), *map(str, words)]

    def environment(self, **more: str) -> dict[str, str]:
        """A minimal environment: without proxy, cache folder and variables that turn telemetry off."""
        own = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.folder / "tmp")}
        return own | more

    def run(self, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.work,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )

    @contextmanager
    def running(self, *words: object) -> Iterator[subprocess.Popen[str]]:
        """Run the command inside the block, with its standard output as a pipe."""
        with subprocess.Popen(
            self.command(*words),
            cwd=self.work,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                # End the command, not strace: the command would continue, and its socket calls would fail.
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                for child in children.read_text(encoding="ascii").split():
                    os.kill(int(child), signal.SIGTERM)
                process.wait(_PATIENCE)


def prepare_trace(folder: Path) -> TracedCommand:
    """Make the folders of a traced command. Fails the test if strace is missing."""
    if shutil.which("strace") is None:
        pytest.fail("This test needs strace: install the package `strace`.", pytrace=False)
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir(parents=True)
    return TracedCommand(folder)
