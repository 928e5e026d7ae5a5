from __future__ import annotations

import pytest

from support.scripts import load_script


def test_the_page_has_every_installed_dependency_with_its_licence():
    with load_script("make_licences_page") as script:
        listed = script.rows(script.Environment([]))
        page = script.PAGE.read_text(encoding="utf-8").splitlines()
    starts = {line.rpartition(" | ")[0] for line in page}
    missing = [name for name, text, _ in listed if f"| {name} | {text}" not in starts]
    assert len(listed) > 80
    assert not missing, (
        "run `python scripts/make_licences_page.py .venv-oracles/lib/python3.11/site-packages`"
    )


def test_every_licence_on_the_page_is_allowed():
    with load_script("make_licences_page") as script:
        lines = script.PAGE.read_text(encoding="utf-8").splitlines()
        table = [
            line.split(" | ")[1] for line in lines if line.startswith("| ") and " | licence | " not in line
        ]
        assert [text for text in table if not script.is_allowed(text)] == []


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND AGPL-3.0", False),
        ("", False),
        ("Proprietary", False),
    ],
)
def test_all_parts_and_one_alternative_of_each_must_be_allowed(expression, allowed):
    with load_script("make_licences_page") as script:
        assert script.is_allowed(expression) == allowed
