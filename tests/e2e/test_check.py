"""`sgi check` as a script runs it, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

TOWER = "The tower in Paris is 330 m tall."


def test_a_script_can_stop_at_an_answer_that_is_not_supported() -> None:
    command = [
        sys.executable,
        "-m",
        "sgi",
        "check",
        "--c",
        TOWER,
        "--r",
        "It is 12 m tall.",
        "--fail-under",
        "0.5",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (4, "")
    assert "It is [12 m] tall." in result.stdout
    assert "passage 1 has 330 m" in result.stdout
