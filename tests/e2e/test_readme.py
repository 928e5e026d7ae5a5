"""Commands in sentences and links of the README and the pages under docs lead somewhere."""

import re
from pathlib import Path

import pytest

from sgi.cli.commands import command_points

README = Path(__file__).parents[2] / "README.md"
DOCS = README.parent / "docs"
MADE_WITH_THE_SITE = r"(\.\./)?reference/"
PAGES = [README, *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("*/*.md"))]


@pytest.mark.parametrize("page", [README, DOCS / "command-line.md"], ids=lambda page: page.name)
def test_every_verb_shown_is_there(page):
    shown = set(re.findall(r"\bsgi ([a-z][a-z-]*)[ \n]", page.read_text("utf-8"))) - {"import"}
    assert shown <= {*command_points()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8"))
    lost = [link for link in links if not (page.parent / link).exists()]
    assert [link for link in lost if not re.match(MADE_WITH_THE_SITE, link)] == []
