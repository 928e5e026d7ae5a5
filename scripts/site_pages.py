"""Collects the sources of the documentation site: docs/index.md, the pages that it lists, the reference."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import make_reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:)([^()#\s]+)(#[^()\s]*)?\)")
_GROUP = re.compile(r"^## (.+)$|^(?:\*|\d+\.) \[([^\]]*)\]\(([^)#]+\.md)\)", re.MULTILINE)


class Entry(NamedTuple):
    """A page in the navigation: its group, its title there and its path in docs/."""

    group: str
    title: str
    path: str


def collect() -> dict[str, bytes]:
    """Return all files by their path: the pages, with the navigation in the index, and what they show."""
    entries = navigation()
    texts = written_pages() | _reference()
    texts["index.md"] += _reference_list(entries) + _toctrees(entries)
    files: dict[str, bytes] = {}
    for name, text in texts.items():
        for target in _targets(DOCS / name, text):
            if target.suffix != ".md" and target.is_file() and DOCS in target.parents:
                files[target.relative_to(DOCS).as_posix()] = target.read_bytes()
    return files | {name: _rewritten(DOCS / name, text, {*texts}).encode() for name, text in texts.items()}


def navigation() -> list[Entry]:
    """Return the entries of the lists of the index, with their headings, and the pages of the reference."""
    group, entries = "", []
    for heading, title, path in _GROUP.findall((DOCS / "index.md").read_text(encoding="utf-8")):
        group = heading or group
        if path:
            entries.append(Entry(group, title.replace("`", ""), path))
    return entries + [Entry("Reference", _title(text), name) for name, text in _reference().items()]


def written_pages() -> dict[str, str]:
    """Return the text of the index and of each page that it lists, by its path."""
    names = ["index.md", *(entry.path for entry in navigation() if entry.path not in _reference())]
    return {name: (DOCS / name).read_text(encoding="utf-8") for name in names}


@cache
def _reference() -> dict[str, str]:
    return {f"reference/{name}": text for name, text in make_reference.pages().items()}


def _title(text: str) -> str:
    return re.findall(r"^# (.+)$", text, re.MULTILINE)[0].replace("`", "")


def _reference_list(entries: list[Entry]) -> str:
    items = [f"* [{title}]({path})" for group, title, path in entries if group == "Reference"]
    return "\n".join(["\n## Reference\n", *items, ""])


def _toctrees(entries: list[Entry]) -> str:
    groups: dict[str, str] = {}
    for group, title, path in entries:
        groups[group] = groups.get(group, "") + f"{title} </{path}>\n"
    trees = [f"```{{toctree}}\n:hidden:\n:caption: {group}\n\n{each}```\n" for group, each in groups.items()]
    return "\n" + "\n".join(trees)


def _targets(page: Path, text: str) -> list[Path]:
    return [_target(page, match[2]) for match in _LINK.finditer(text)]


def _target(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _rewritten(page: Path, text: str, listed: set[str]) -> str:
    """Return the text of a page; a link to what the site does not have becomes a path in the repository."""
    here = PurePosixPath(page.relative_to(DOCS).as_posix()).parent

    def rewrite(match: re.Match[str]) -> str:
        target = _target(page, match[2])
        inside = target.relative_to(DOCS).as_posix() if DOCS in target.parents else ""
        words = "" if match[1] == target.name else match[1]  # Sphinx takes the title in place of a file name
        if inside in listed or (inside and target.is_file() and target.suffix != ".md"):
            return f"[{words}]({os.path.relpath(inside, here)}{match[3] or ''})"
        if target.exists() and ROOT in target.parents:
            return f"{words} (`{target.relative_to(ROOT)}`)".lstrip()
        return match[0]  # a broken link, which Sphinx reports

    return _LINK.sub(rewrite, text)
