"""SQLite gets too little memory: each step says so, leaves no lock, and succeeds when there is enough."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_CACHE = "Close other programs; what the cache held before is kept."
_DATABASE = "Close other programs; what was written before is kept, and you can resume the run."
TESTS = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_run_and_a_cache_go_through_every_step_without_memory(tmp_path):
    command = [sys.executable, "-m", "support.short_memory", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["same"]
    assert min(found["refused"].values()) > 5
    assert found["messages"] == [
        f"The cache FILE cannot be used: out of memory. {_CACHE}",
        f"The database FILE cannot be used: out of memory. {_DATABASE}",
    ]
