"""Commands that the README names, and links of all pages and notebooks of the repository, lead somewhere."""

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from sgi.cli.commands import command_points
from support.pages import ROOT

README = ROOT / "README.md"
FOLDERS = ("docs", "action", "benchmarks", "examples", "notebooks", "src", "tests", ".github")
PAGES = sorted(
    [*ROOT.glob("*.md")]
    + [page for folder in FOLDERS for kind in ("md", "ipynb") for page in (ROOT / folder).rglob(f"*.{kind}")]
)


def markdown(page):
    text = page.read_text("utf-8")
    if page.suffix == ".md":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def spans(page):
    """List what the paragraphs and headings of a page consist of."""
    for token in MarkdownIt().enable("table").parse(markdown(page)):
        yield from token.children or ()


@cache
def anchors(page):
    """Return the anchors of a page: those of its headings, as GitHub and the site make them, and its own."""
    tokens = MarkdownIt().parse(markdown(page))
    headings = [
        tokens[place + 1].children for place, each in enumerate(tokens) if each.type == "heading_open"
    ]
    found = []
    for heading in headings:
        text = "".join(part.content for part in heading if part.type in {"text", "code_inline"})
        slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return {*found, *re.findall(r'<a (?:id|name)="([^"]+)"', markdown(page))}


def is_dead(page, link):
    path, _, anchor = link.partition("#")
    target = Path(os.path.normpath(page.parent / path)) if path else page
    return not target.exists() or bool(anchor and target.suffix == ".md" and anchor not in anchors(target))


def test_every_command_shown_is_there():
    shown = set(re.findall(r"\bsgi ([a-z][a-z-]*)[ \n]", README.read_text("utf-8"))) - {"import"}
    assert shown <= {name.partition(".")[0] for name in command_points()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page):
    links = {span.attrGet("href") or span.attrGet("src") for span in spans(page)} - {None}
    assert [link for link in sorted(links) if not re.match(r"\w+:", link) and is_dead(page, link)] == []
