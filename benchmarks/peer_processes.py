"""Run peers in their own environments, so that a benchmark can time them alternately with SGI.

``make bench-peers`` builds the environments. A worker (``benchmarks/peers``) loads its model once, and then
runs its work on request, so the time to load is not measured.
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
    # no telemetry
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


class NotInstalledError(Exception):
    """The environment of a peer does not exist."""


class PeerError(Exception):
    """A worker failed."""


def python_of(environment: str) -> Path:
    """Return the interpreter of an environment.

    Raises:
        NotInstalledError: it does not exist.
    """
    folder = Path(os.environ.get("SGI_BENCH_PEERS", ROOT / ".venv-peers"))
    python = folder / environment / "bin" / "python"
    if not python.exists():
        raise NotInstalledError(f"{environment}: not installed (make bench-peers)")
    return python


class Peer:
    """A worker process that has loaded its model.

    Attributes:
        about: facts about the peer, such as its version and its number of threads.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.about: dict[str, Any] = self._read()

    def run(self) -> float:
        """Do the work once; return the seconds that the worker measured."""
        return float(self._request("run")["seconds"])

    def result(self) -> Any:
        """Return the result of the last run."""
        return self._request("result")["result"]

    def _request(self, command: str) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # reading the reply raises the error
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise PeerError
        reply: dict[str, Any] = json.loads(line)
        return reply


@contextmanager
def peer(environment: str, worker: str, setting: Mapping[str, Any]) -> Iterator[Peer]:
    """Start a worker, and stop it at the end of the context.

    Args:
        environment: name of its environment.
        worker: name of its script in ``benchmarks/peers``.
        setting: its input as JSON, for example texts.

    Raises:
        NotInstalledError: the environment does not exist.
        PeerError: the worker failed; the message has the last line of its output.
    """
    python = python_of(environment)
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "errors").open("w+") as errors:
        path = Path(folder) / "setting.json"
        path.write_text(json.dumps(setting), encoding="utf-8")
        with subprocess.Popen(
            [python, WORKERS / f"{worker}.py", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env={**os.environ, **ENVIRONMENT},
        ) as process:
            try:
                yield Peer(process)
            except PeerError:
                process.wait(timeout=10)
                errors.seek(0)
                lines = errors.read().strip().splitlines() or ["no output"]
                raise PeerError(f"{worker} failed: {lines[-1][:300]}") from None
            finally:
                if process.stdin is not None:
                    process.stdin.close()
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
