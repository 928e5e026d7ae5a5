"""Parts of Markdown pages, and docstrings as Markdown."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEADINGS = {"Args", "Attributes", "Raises", "References", "Returns", "Source", "Yields"}
_ITEM = re.compile(r"    (\*{0,2}\w+(?:, \w+)*): ")
_ROLE = re.compile(r":\w+:(?=`)")
_CODE = re.compile(r"(`[^`]*`)")
_TITLE = re.compile(r'documentation:\s+"([^"]+)"')
_DOCS = Path(__file__).parents[2] / "docs"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table; cells are Markdown. A column without values is left out.

    >>> table(["a", "b"], [["1", "x|y"]]).splitlines()[-1]
    '| 1 | x\\|y |'
    """
    body = [*rows]
    kept = [number for number in range(len(headers)) if any(row[number] for row in body)]
    lines = [[line[number] for number in kept] for line in (headers, ["---"] * len(headers), *body)]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def code(text: str) -> str:
    """Return inline code."""
    return f"``{text}``" if "`" in text else f"`{text}`"


def sentence(words: str) -> str:
    """Return a description as a sentence.

    >>> sentence("the id of the row")
    'The id of the row.'
    """
    ends = words.endswith((".", "?", "!", ":"))
    return words[:1].upper() + words[1:] + ("" if ends or not words else ".")


def block(text: str, language: str = "text") -> str:
    """Return a block of code."""
    fence = "````" if "```" in text else "```"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def page(title: str, *parts: str) -> str:
    """Return a page with this title; empty parts are left out."""
    return "\n\n".join([f"# {title}", *(part.strip() for part in parts if part.strip())]) + "\n"


def text(words: str) -> str:
    r"""Return plain text as Markdown: outside code, ``<`` and ``*`` have no meaning.

    >>> text("x < *y `a*b`")
    'x &lt; \\*y `a*b`'
    """
    parts = _CODE.split(_ROLE.sub("", words.replace("``", "`")))
    return "".join(
        part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*") for part in parts
    )


def link_titles(content: str) -> str:
    """Return a page whose mentions of other pages, ``documentation: "TITLE"``, are links.

    Raises:
        KeyError: no page of docs/ has this title.
    """
    return _TITLE.sub(lambda match: f"documentation: [{match[1]}](../{_files()[match[1]]})", content)


@cache
def _files() -> dict[str, str]:
    """Return the file of each page directly in docs/, by its title."""
    return {
        path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "): path.name
        for path in _DOCS.glob("*.md")
    }


def prose(docstring: str, *, without: frozenset[str] = frozenset()) -> str:
    """Return a docstring as Markdown, with blocks of code and formulas, and attributes as lists.

    Args:
        docstring: as `inspect.getdoc` returns it.
        without: headings of sections to leave out.
    """
    parts = [_part(part.splitlines(), without) for part in re.split(r"\n\n(?!    )", docstring.strip())]
    return "\n\n".join(part for part in parts if part)


def _part(lines: list[str], without: frozenset[str]) -> str:
    if not lines:
        return ""
    first = lines[0]
    heading, _, rest = first.partition(":")
    if first.startswith(".. math::"):
        formula = " ".join([first.removeprefix(".. math::"), *lines[1:]])
        return block(formula.strip(), "math")
    if first.startswith(">>>"):
        return block("\n".join(lines), "pycon")
    if heading in without:
        return ""
    if heading in _HEADINGS:
        items = [_item(line) for line in lines[1:]]
        return "\n".join([f"**{heading}:**{text(rest)}".rstrip(), *([""] if not rest else []), *items])
    return _with_example(lines)


def _with_example(lines: list[str]) -> str:
    """Return a paragraph; indented lines after ``::`` are a block of code."""
    start = next((number for number, line in enumerate(lines, 1) if line.endswith("::")), None)
    if start is None:
        return text("\n".join(lines))
    rest = "\n".join(line.removeprefix("    ") for line in lines[start:]).strip("\n")
    words = text("\n".join(lines[:start]))[:-1]
    return f"{words}\n\n{block(rest)}" if rest else words


def _item(line: str) -> str:
    """Return an indented ``name: text`` as a list item, or its next line."""
    if match := _ITEM.match(line):
        return f"- {code(match[1])}: {text(line[match.end() :])}"
    return f"  {text(line.strip())}"
