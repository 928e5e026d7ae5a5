"""docs/internals/versions.md names the formats that the code writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sgi.engine import calibration_file
from sgi.llm import cassette
from sgi.store import transfer
from sgi.store.schema import SCHEMA_VERSION
from sgi_cluster import result_folder

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "versions.md"


@pytest.mark.parametrize(
    ("row", "written"),
    [
        ("database (", f"schema {SCHEMA_VERSION}"),
        ("`sgi runs db export`", f"format {transfer.FORMAT}, schema {SCHEMA_VERSION}"),
        ("calibration", f"format {calibration_file.FORMAT}"),
        ("cassette", f"format {cassette._VERSION}"),
        ("folder of a run on Ray", f"format {result_folder.FORMAT}"),
    ],
)
def test_the_page_names_what_this_version_writes(row, written):
    lines = re.findall(rf"^\| {re.escape(row)}.*$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [line.split(" | ")[1] for line in lines] == [written]
