"""Pages of the documentation as programs: their blocks, and the notes of the page about them.

A note is an HTML comment before a block, which readers do not see:

    <!-- file: NAME -->       the block is the content of a file
    <!-- exit: CODE -->       the last command of the block ends with this code
    <!-- repeat: SECONDS -->  the block runs again until it prints what the page shows, at most for this time
    <!-- not run: REASON -->  the block is checked only: commands must parse, data must be valid
    <!-- example: NAME -->    the block is a part of examples/integrations/with_NAME.py, and
    <!-- printed: NAME -->    this block is its output: tests/integrations run it where the framework is

A console block shows an output below its command. A block of Python shows one in comments with an arrow,
behind the statement or in the lines below it; other comments are explanations:

    print(result.rows)  # → 24
    print(result)
    # → metric   mean
    # → …
"""

import re
import shlex
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
NOTE = re.compile(r"<!--\s*(file|exit|repeat|not run|example|printed):\s*(.*?)\s*-->", re.DOTALL)
PROMPT = "$ "
COMMENT = "# → "


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    content: str
    notes: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """The commands of a console block, each with the lines that the page shows below it.

        A block of bash has one command in a line, without a prompt and without output.
        """
        if self.language == "bash":
            return [(line, []) for line in self.content.replace("\\\n", " ").splitlines() if line.strip()]
        steps = re.split(rf"^{re.escape(PROMPT)}", self.content, flags=re.MULTILINE)
        assert not steps[0], f"{self}: the block does not begin with '{PROMPT}'"
        return [(step[0], step[1:]) for step in map(_command_and_lines, steps[1:])]

    @property
    def shown(self) -> list[str]:
        """The output that a block of text or the comments of a block of Python show."""
        if self.language == "text":
            return self.content.split("\n")
        result: list[str] = []
        for before, line in pairwise(["", *self.content.split("\n")]):
            code, arrow, output = line.partition(COMMENT)
            if arrow:
                result += ["…", output] if code.strip() or COMMENT not in before else [output]
        return result


def _command_and_lines(step: str) -> list[str]:
    """Return a command, which continues after a backslash or inside a quote, and the lines below it."""
    lines = step.rstrip("\n").split("\n")
    count = 1
    while not _is_complete("\n".join(lines[:count])):
        count += 1
    return ["\n".join(lines[:count]).replace("\\\n", " "), *lines[count:]]


def _is_complete(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    result: list[Block] = []
    notes: dict[str, str] = {}
    page = str(path.relative_to(ROOT))
    for token in MarkdownIt().parse(path.read_text("utf-8")):
        if token.type == "html_block":
            notes |= dict(NOTE.findall(token.content))
        elif token.type == "fence":
            assert token.map is not None
            result.append(Block(page, token.map[0] + 1, token.info.strip(), token.content, notes))
            notes = {}
    assert not notes, f"{page}: no block follows the note {notes}"
    return result


def pages() -> list[Path]:
    """Return the pages that have blocks."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
    for folder in ("docs", "examples"):
        found += sorted((ROOT / folder).rglob("*.md"))
    decisions = ROOT / "docs" / "internals" / "decisions"
    return [path for path in found if path.parent != decisions and blocks(path)]


_VARIABLE_PARTS = [
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?(?: UTC|Z)?"), "DATE"),
    (re.compile(r"(?<![\w.])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b"), "ID"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:s|ms|min|MB|kB)\b"), "AMOUNT"),
    (re.compile(r"\b\d+(?:\.\d+)? rows/s"), "SPEED"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"[ \t─━-]{2,}"), " "),
]
_NUMBER_OR_GAP = re.compile(r"(\d+\.\d+|…)")


def is_same_line(shown: str, printed: str) -> bool:
    """Whether two lines differ only in times, ids, dates, spaces and the last digits of numbers.

    `…` stands for any characters.
    """
    for pattern, name in _VARIABLE_PARTS:
        shown, printed = pattern.sub(name, shown), pattern.sub(name, printed)
    parts = _NUMBER_OR_GAP.split(shown.strip())
    numbers = [float(part) for part in parts[1::2] if part != "…"]
    pattern = re.compile("".join(map(_pattern_of_part, parts)))
    found = pattern.fullmatch(printed.strip())
    return found is not None and all(
        abs(one - float(other)) <= 0.01 + 0.01 * one
        for one, other in zip(numbers, found.groups(), strict=True)
    )


def _pattern_of_part(part: str) -> str:
    if part == "…":
        return ".*"
    return r"(\d+\.\d+)" if _NUMBER_OR_GAP.fullmatch(part) else re.escape(part)


def first_missing(shown: list[str], output: str) -> str:
    """Return the first shown line that the output lacks, or nothing; `…` stands for any lines."""
    printed = [line for line in output.split("\n") if line.strip()]
    position, gap = 0, True
    for line in filter(str.strip, shown):
        if line.strip() == "…":
            gap = True
            continue
        found = (i for i in range(position, len(printed)) if is_same_line(line, printed[i]))
        following = next(found, -1) + 1
        if not following or not (gap or following == position + 1):
            return line
        position, gap = following, False
    return ""
