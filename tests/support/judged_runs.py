"""Processes of `sgi run` with a judge, and a judge server that counts requests."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from support.judge_server import JudgeServer, Request, ServerReply

DATABASE = "runs.db"
PATIENCE = 120.0
CLAIMS = json.dumps({"claims": ["It is so.", "It was so."]})
VERDICTS = json.dumps(
    {"verdicts": [{"index": n, "reason": "So it says.", "supported": 1, "passage": 1} for n in (1, 2)]}
)


class CountingServer(JudgeServer):
    """Replies that every claim is supported, after a random delay.

    Args:
        delay: the mean of the delays, in seconds.
    """

    def __init__(self, delay: float) -> None:
        super().__init__(replies=self._reply)
        self._delay = delay
        self._random = random.Random(5)

    def _reply(self, request: Request) -> ServerReply:
        about_verdicts = "verdicts" in json.dumps(request.body)
        with self.lock:
            delay = self._random.uniform(0.5, 1.5) * self._delay
        return ServerReply(VERDICTS if about_verdicts else CLAIMS, delay=delay)

    @property
    def received(self) -> int:
        """Number of received requests."""
        with self.lock:
            return len(self.requests)


def rows_file(folder: Path, rows: int) -> Path:
    """Write a file of rows for judged metrics."""
    lines = [
        json.dumps(
            {"id": str(n), "question": f"Which {n}?", "contexts": [f"It is {n}."], "response": f"{n}!"}
        )
        for n in range(rows)
    ]
    path = folder / "rows.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def start(folder: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """Start ``sgi run -q WORDS`` in a folder, with its own database and cache.

    Args:
        folder: the working folder.
        words: arguments of the command.
        before: a command that runs the command, such as strace.
    """
    places = {"SGI_CACHE_DIR": str(folder / "cache"), "SGI_DATABASE_URL": str(folder / DATABASE)}
    return subprocess.Popen(
        [*before, sys.executable, "-m", "sgi", "run", "-q", *words],
        cwd=folder,
        env=os.environ | places | {"NO_PROXY": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with SIGKILL."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until the condition holds; fail if the process ends."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if process.poll() is not None:
            out, err = process.communicate()
            raise AssertionError((out + err).decode())
        assert time.monotonic() < until
        time.sleep(0.002)
