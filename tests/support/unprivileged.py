"""Commands that may not write where the permissions of a file or folder say so, also as root."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_POWERS = "-dac_override,-dac_read_search"


def sgi(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``sgi WORDS`` in a folder, as a process that permissions bind."""
    bound = ["setpriv", f"--bounding-set={_POWERS}", f"--inh-caps={_POWERS}"] if os.geteuid() == 0 else []
    command = [*bound, sys.executable, "-m", "sgi", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
