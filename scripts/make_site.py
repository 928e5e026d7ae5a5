"""Build the documentation site into a folder with one folder for each version.

python scripts/make_site.py [FOLDER]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

from site_pages import DOCS, collect, navigation, written_pages

import sgi

SITE = Path(__file__).parents[1] / "build" / "site"
_SETTINGS = Path(__file__).with_name("site")
_SKILL = DOCS / "skills" / "evaluate-rag" / "SKILL.md"
_FOR_ASSISTANTS = (
    "- [All pages written by hand, in one Markdown file](llms-full.md)",
    "- [Skill: evaluate a RAG system with `sgi … --json`](SKILL.md)",
)
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">{head}<title>{title}</title>
<body style="font-family: system-ui, sans-serif; margin: 2rem"><h1>{title}</h1>{body}</body></html>
"""


def build(folder: Path, version: str = sgi.__version__) -> Path:
    """Build the site of this version, and return its folder; a warning is an error.

    Raises:
        CalledProcessError: Sphinx found a problem, such as a broken link, and printed it.
    """
    source = folder.with_name(f"{folder.name}-source")
    index = source / "index.md"
    before = index.read_bytes() if index.is_file() else b""
    write_changed(source, collect())
    command = [sys.executable, "-m", "sphinx", "--jobs", "auto", "--quiet", "--fail-on-warning"]
    if index.read_bytes() != before:  # each page has the navigation, and old pages go
        shutil.rmtree(folder / version, ignore_errors=True)
        command.append("--write-all")
    paths = ["-c", _SETTINGS, "-d", folder.with_name(f"{folder.name}-cache"), source, folder / version]
    environment = {**os.environ, "SGI_SITE_VERSION": version}
    subprocess.run([*command, *map(str, paths)], check=True, env=environment)
    _write_for_assistants(folder / version)
    _write_versions(folder)
    return folder / version


def write_changed(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder have these files only; Sphinx reads again those that changed."""
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


def _write_for_assistants(folder: Path) -> None:
    """Write the list of the pages as llms.txt, all pages as one Markdown file, and the skill."""
    texts = written_pages()
    words = texts["index.md"].split("\n\n")[1].replace("\n", " ")
    lines = ["# SGI", f"\n> {words}\n", *_FOR_ASSISTANTS]
    group = ""
    for entry in navigation():
        lines += [] if entry.group == group else [f"\n## {entry.group}\n"]
        group = entry.group
        lines.append(f"- [{entry.title}]({entry.path.removesuffix('.md')}.html)")
    (folder / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "llms-full.md").write_text("\n\n".join(texts.values()), encoding="utf-8")
    (folder / "SKILL.md").write_bytes(_SKILL.read_bytes())


def _write_versions(folder: Path) -> None:
    """Write a list of the versions in the folder, and a start page that opens the newest."""
    versions = sorted((path.parent.name for path in folder.glob("*/index.html")), key=_order, reverse=True)
    items = "".join(f'<li><a href="{escape(each)}/index.html">{escape(each)}</a></li>' for each in versions)
    page = _PAGE.format(title="Versions of the SGI documentation", head="", body=f"<ul>{items}</ul>")
    (folder / "versions.html").write_text(page, encoding="utf-8")
    newest = f"{escape(versions[0])}/index.html"
    refresh = f'<meta http-equiv="refresh" content="0; url={newest}">'
    link = f'<p><a href="{newest}">Version {escape(versions[0])}</a></p>'
    start = _PAGE.format(title="SGI documentation", head=refresh, body=link)
    (folder / "index.html").write_text(start, encoding="utf-8")


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


if __name__ == "__main__":
    site = build(Path(sys.argv[1]) if len(sys.argv) > 1 else SITE)
    print(f"{sum(1 for _ in site.rglob('*.html'))} pages in {site}")
