"""Peers in environments of their own, asked to do the same work by turns with ours.

``make bench-peers`` builds the environments. A worker (``benchmarks/peers``) loads once, and then does its
work whenever it is told to, so that turns can be taken with what runs here, and loading is not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from material import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORKERS = Path(__file__).parent / "peers"
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    # what would send something out
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


class NotInstalled(Exception):  # noqa: N818 - what it says
    """The environment of a peer was not built."""


class PeerFailed(Exception):  # noqa: N818 - what it says
    """A worker ended with an error."""


def python_of(environment: str) -> Path:
    """The interpreter of an environment.

    Raises:
        NotInstalled: there is none.
    """
    folder = Path(os.environ.get("SGI_BENCH_PEERS", ROOT / ".venv-peers"))
    python = folder / environment / "bin" / "python"
    if not python.exists():
        raise NotInstalled(f"{environment}: not installed (make bench-peers)")
    return python


class Peer:
    """A worker that is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.about: dict[str, Any] = self._answer()

    def go(self) -> float:
        """Do the work once; the seconds it took by the worker's own clock."""
        return float(self._ask("go")["seconds"])

    def result(self) -> Any:
        """What the work last came to."""
        return self._ask("result")["result"]

    def _ask(self, word: str) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        try:
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will be missing, and says why
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        line = self._process.stdout.readline()
        if not line:
            raise PeerFailed
        told: dict[str, Any] = json.loads(line)
        return told


@contextmanager
def peer(environment: str, worker: str, setting: Mapping[str, Any]) -> Iterator[Peer]:
    """Start a worker, and end it.

    Args:
        environment: the folder of its environment.
        worker: the script, among ``benchmarks/peers``.
        setting: texts and what else it needs, as JSON.

    Raises:
        NotInstalled: there is no such environment.
        PeerFailed: the worker ended; the last line it wrote says why.
    """
    python = python_of(environment)
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "errors").open("w+") as errors:
        place = Path(folder) / "setting.json"
        place.write_text(json.dumps(setting), encoding="utf-8")
        with subprocess.Popen(
            [python, WORKERS / f"{worker}.py", place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env={**os.environ, **ENVIRONMENT},
        ) as process:
            try:
                yield Peer(process)
            except PeerFailed:
                process.wait(timeout=10)
                errors.seek(0)
                lines = errors.read().strip().splitlines() or ["no word"]
                raise PeerFailed(f"{worker} failed: {lines[-1][:300]}") from None
            finally:
                if process.stdin is not None:
                    process.stdin.close()
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
