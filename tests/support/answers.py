"""Rows with correct and wrong responses, and a target that fails from row 256 on."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TERMINAL_ATTACK = "\x1b[31mred\x9b0m \u202e[bold]x[/bold] [/nobody] :smile:\nforged"
"""A text that changes a terminal if it is printed raw: colours, text direction, markup, a line feed."""

FAILING_TARGET = """
def answer(question):
    if int(question.split()[1]) >= 256:
        raise RuntimeError("no such luck")
    return "answer"
"""


def rows(n: int = 40, *, spoilt: int = 0) -> list[dict[str, Any]]:
    """Rows whose response equals the reference, except in the first ``spoilt`` rows."""
    return [
        {
            "id": f"q{k}",
            "question": f"Question {k} of many?",
            "response": "nothing of the kind" if k < spoilt else f"the answer number {k}",
            "reference": f"the answer number {k}",
            "label": int(k >= n // 2),
            "metadata": {"method": ("bm25", "dense")[k % 2], "depth": k % 3, "tags": ["a", k % 2]},
        }
        for k in range(n)
    ]


def write_jsonl(path: Path, data: Iterable[Mapping[str, Any]]) -> Path:
    """Write the rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in data))
    return path


def run_with_closed_stdout(folder: Path, *words: str) -> tuple[int, bytes]:
    """Run a command whose stdout is a closed pipe; return its exit code and stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        command = [sys.executable, "-m", "sgi", *words]
        done = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    return done.returncode, done.stderr
