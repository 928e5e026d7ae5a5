"""Collects the sources of the documentation site: docs/, pages that docs/ links, and pages made by code."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

import make_reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INTERNALS = DOCS / "internals"
"""For contributors; the site does not have it."""
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:)([^()#\s]+)(#[^()\s]*)?\)")
_ENTRY = re.compile(r"^\* \[([^\]]*)\]\(([^)#]+\.md)\)", re.MULTILINE)
_REPOSITORY = "repository"
"""Folder of the files that are not in docs/."""


def collect() -> dict[str, bytes]:
    """Return all files by their path: pages with links to where the targets are on the site, and pictures.

    The navigation is made of the list entries of each ``index.md`` and the pages beside each ``README.md``.
    """
    paths = [path for path in sorted(DOCS.rglob("*")) if path.is_file() and not _is_internal(path)]
    pages = [path for path in paths if path.suffix == ".md"]
    linked = {target for page in pages for target in _outside(page) if target.suffix == ".md"}
    files = {_place(path): path.read_bytes() for path in paths}
    texts = {}
    for page in (*pages, *sorted(linked)):
        files |= {_place(each): each.read_bytes() for each in _outside(page) if each.suffix != ".md"}
        texts[_place(page)] = _rewritten(page, linked)
    texts |= {f"reference/{name}": text for name, text in make_reference.pages().items()}
    navigation = {name: _below(name, text, texts) for name, text in texts.items()}
    listed = {other for below in navigation.values() for _, other in below}
    pages = {name: _with_navigation(name, text, navigation[name], listed) for name, text in texts.items()}
    return files | {name: text.encode() for name, text in pages.items()}


def _outside(page: Path) -> list[Path]:
    """Return the files outside docs/ to which a page links."""
    targets = (_target(page, match[2]) for match in _LINK.finditer(page.read_text(encoding="utf-8")))
    return [target for target in targets if target.is_file() and DOCS not in target.parents]


def _is_internal(path: Path) -> bool:
    return path == INTERNALS or INTERNALS in path.parents


def _target(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _place(path: Path) -> str:
    """Return the path of a file on the site."""
    if DOCS in path.parents:
        return path.relative_to(DOCS).as_posix()
    return f"{_REPOSITORY}/{path.relative_to(ROOT).as_posix()}"


def _rewritten(page: Path, linked: set[Path]) -> str:
    """Return the text of a page; a link to what the site does not have becomes text."""
    here = PurePosixPath(_place(page)).parent

    def rewrite(match: re.Match[str]) -> str:
        words, target = match[1], _target(page, match[2])
        words = (
            "" if words == PurePosixPath(match[2]).name else words
        )  # Sphinx takes the title in place of a file name
        on_site = (
            target.is_file()
            and not _is_internal(target)
            and (DOCS in target.parents or target.suffix != ".md" or target in linked)
        )
        if on_site:
            anchor = (match[3] or "") if target.suffix == ".md" else ""
            return f"[{words}]({os.path.relpath(_place(target), here)}{anchor})"
        if (target / "README.md") in linked:
            return f"[{words}]({os.path.relpath(_place(target / 'README.md'), here)})"
        if target.exists() and ROOT in target.parents:
            return f"{words} (`{target.relative_to(ROOT)}`)"
        return match[0]  # a page of the reference, or a broken link that Sphinx reports

    return _LINK.sub(rewrite, page.read_text(encoding="utf-8"))


def _below(name: str, text: str, texts: dict[str, str]) -> list[tuple[str, str]]:
    """Return the entries of the navigation below an index or a README of docs/, and their pages."""
    path = PurePosixPath(name)
    if path.name == "index.md":
        entries = _ENTRY.findall(text)
        return [(title.replace("`", ""), os.path.normpath(path.parent / link)) for title, link in entries]
    if path.name == "README.md" and not name.startswith(_REPOSITORY):
        inside = [other for other in sorted(texts) if other.startswith(f"{path.parent}/") and other != name]
        return [(_title(texts[other]), other) for other in inside]
    return []


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ").replace("`", "")


def _with_navigation(name: str, text: str, below: list[tuple[str, str]], listed: set[str]) -> str:
    """Return a page with the hidden list of the pages below it; pages of the repository may be on no list."""
    if name.startswith(_REPOSITORY) and name not in listed:
        return f"---\norphan: true\n---\n\n{text}"
    if not below:
        return text
    entries = "\n".join(f"{title} </{other}>" for title, other in below)
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
