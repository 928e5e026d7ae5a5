"""Files of answers to score: right ones, spoilt ones, and a target that fails half way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

TERMINAL_ATTACK = "\x1b[31mred\x9b0m \u202e[bold]x[/bold] [/nobody] :smile:\nforged"
"""Steers a terminal, if it may: colours, direction, markup, a line of its own."""

FAILING_TARGET = """
def answer(question):
    if int(question.split()[1]) >= 256:
        raise RuntimeError("no such luck")
    return "answer"
"""


def rows(n: int = 40, *, spoilt: int = 0) -> list[dict[str, Any]]:
    """Rows whose response is the reference, but for the first ``spoilt`` ones."""
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
    """The rows as a file of JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in data))
    return path


def run_with_closed_stdout(folder: Path, *words: str) -> tuple[int, bytes]:
    """Exit code and stderr of a command whose stdout nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        command = [sys.executable, "-m", "sgi", *words]
        done = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    return done.returncode, done.stderr
