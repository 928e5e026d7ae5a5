"""The table of profiles on the page is that of the code."""

from __future__ import annotations

import pytest

from sgi.kernel.entailment_profile import entailment_profiles
from support.scripts import load_script


@pytest.fixture(scope="module")
def script():
    with load_script("make_entailment_page") as module:
        yield module


def test_the_page_is_current(script):
    page = script.PAGE.read_text()
    parts = {"profiles": script.profile_table(), "sources": script.needs_list()}
    assert script.replace_parts(page, parts) == page, "run scripts/make_entailment_page.py"


def test_every_profile_has_a_line_with_its_sources(script):
    for profile in entailment_profiles().values():
        assert f"| {profile.name} |" in script.profile_table()
        (line,) = (
            line for line in script.needs_list().splitlines() if line.startswith(f"* `{profile.name}`")
        )
        assert all(source in line for source in profile.sources)
        assert profile.needs in line
