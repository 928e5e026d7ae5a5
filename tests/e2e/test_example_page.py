"""Pages of the documentation score the rows of the example RAG."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from shutil import copytree
from unittest.mock import patch

import pytest

from support.command import sgi
from support.console_blocks import commands, missing_lines

FOLDER = Path(__file__).parents[2] / "examples" / "bm25_rag"
DOCS = FOLDER.parents[1] / "docs"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A copy of the example, with the rows of its page."""
    folder = copytree(FOLDER, tmp_path_factory.mktemp("example") / "bm25_rag")
    with patch.object(sys, "dont_write_bytecode", new=True):
        sgi(folder, "run", "questions.jsonl", "--target", "rag:answer", "--name", "base", "-m", "grounding")
    sys.modules.pop("rag", None)
    sgi(folder, "export", "base", "--inputs", "-o", "data.jsonl")
    return folder


@pytest.mark.parametrize("page", ["which-metric", "retrieval", "citations", "refusals", "conversations"])
def test_other_pages_score_the_rows_of_the_example(example, page):
    rows = [json.loads(line) for line in (example / "data.jsonl").read_text().splitlines()]
    usage = {"prompt_tokens": 812, "completion_tokens": 9, "cost": 0.0021}
    for name in ("data.jsonl", "answers.jsonl"):
        (example / name).write_text("\n".join(json.dumps(row | usage) for row in rows))
    shown = [each for each in commands(DOCS / f"{page}.md") if each.words[0] in {"run", "check"}]
    offline = [each for each in shown if not {"--judge", "--define"} & set(each.words)]
    assert offline
    for each in offline:
        result = sgi(example, *each.words)
        assert result.code == 0, result.err
        assert missing_lines(each, result.out) == [], each.words


def test_the_stored_name_of_a_definition_is_the_one_shown(tmp_path):
    page = (DOCS / "own-metrics.md").read_text("utf-8")
    (tmp_path / "metrics.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    result = sgi(tmp_path, "metrics", "quality", "--define", "metrics.toml")
    (stored,) = re.findall(r"Stored as +(.+)", result.out)
    assert f"`{stored}`" in page
