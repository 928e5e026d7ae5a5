"""Check that a tag fits the version of the project, and print the section of the changelog.

python scripts/check_release.py v0.2.0 > notes.md
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(changelog: str, version: str) -> str:
    """Return the text below the heading of a version.

    Raises:
        SystemExit: the changelog has no such heading with a date, or no text below it.
    """
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$\n(.*?)(?=^## |\Z)"
    section = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        raise SystemExit(f"CHANGELOG.md needs a section `## {version} (YYYY-MM-DD)` with text.")
    return section[1].strip()


def check(tag: str, root: Path = ROOT) -> str:
    """Return the notes of a release.

    Raises:
        SystemExit: the tag does not fit the files.
    """
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if tag != f"v{version}":
        raise SystemExit(f"The tag is {tag}, but pyproject.toml has version {version}.")
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text("utf-8"):
        raise SystemExit(f"CITATION.cff needs the line `version: {version}`.")
    return notes((root / "CHANGELOG.md").read_text("utf-8"), version)


if __name__ == "__main__":
    print(check(sys.argv[1]))
