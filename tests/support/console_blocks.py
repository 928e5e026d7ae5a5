"""Console blocks of the documentation: commands with the output that the page shows."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK = re.compile(r"^( *)```console\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_GAP = "…"
_VARIABLE = re.compile(r"\$ ([A-Z]+)=(\S+)")


class Shown(NamedTuple):
    """A command of `sgi` on a page, and the lines that the page shows below it."""

    words: list[str]
    lines: list[str]


def commands(page: Path) -> list[Shown]:
    """Return the commands of `sgi` on a page in order; a line `$ NAME=…` defines `$NAME`."""
    text, result = page.read_text("utf-8"), []
    variables = dict(_VARIABLE.findall(text))
    for indent, block in _BLOCK.findall(text):
        for each in re.sub(rf"(?m)^{indent}", "", block).replace("\\\n", " ").split("\n$ "):
            command, *lines = each.removeprefix("$ ").rstrip("\n").split("\n")
            for name, value in variables.items():
                command = command.replace(f"${name}", value)
            if command.startswith("sgi "):
                result.append(Shown(shlex.split(command, comments=True)[1:], lines))
    return result


def missing_lines(shown: Shown, output: str) -> list[str]:
    """Return the first part of the shown lines that the output lacks; `…` stands for any lines."""
    rest = [line.rstrip() for line in output.split("\n")]
    parts = "\n".join(shown.lines).split(f"\n{_GAP}")
    for part in parts:
        lines = [line.rstrip() for line in part.removeprefix(f"{_GAP}\n").strip("\n").split("\n")]
        if lines in ([""], [_GAP]):
            continue
        starts = [i for i in range(len(rest)) if rest[i : i + len(lines)] == lines]
        if not starts:
            return lines
        rest = rest[starts[0] + len(lines) :]
    return []
