"""The page of the example RAG shows what its commands print."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import copytree

import pytest

from support.command import sgi
from support.console_blocks import commands, missing_lines

FOLDER = Path(__file__).parents[2] / "examples" / "bm25_rag"
MODULES = ("rag", "worse_retriever", "worse_prompt", "worse_model")


@pytest.fixture
def example(tmp_path, monkeypatch):
    """A copy of the example, whose modules can be imported."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield copytree(FOLDER, tmp_path / "bm25_rag")
    for name in MODULES:
        sys.modules.pop(name, None)


def test_the_commands_print_what_the_page_shows(example):
    shown = [each for each in commands(FOLDER / "README.md") if "http:" not in " ".join(each.words)]
    assert len(shown) >= 9
    for each in shown:
        result = sgi(example, *each.words)
        assert result.code == 0, result.err
        assert missing_lines(each, result.out) == [], each.words
