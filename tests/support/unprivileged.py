"""Runs commands for which file permissions hold, also if the tests run as root."""

import os
import subprocess
import sys
from pathlib import Path

_POWERS = "-dac_override,-dac_read_search"


def sgi(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``sgi WORDS`` in a folder without the privilege to ignore permissions."""
    prefix = ["setpriv", f"--bounding-set={_POWERS}", f"--inh-caps={_POWERS}"] if os.geteuid() == 0 else []
    command = [*prefix, sys.executable, "-m", "sgi", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
