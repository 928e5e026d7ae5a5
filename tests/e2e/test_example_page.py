"""The page of the example RAG shows what its commands print."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from shutil import copytree
from unittest.mock import patch

import pytest

from sgi import diagnose
from support.command import sgi
from support.console_blocks import commands, missing_lines

FOLDER = Path(__file__).parents[2] / "examples" / "bm25_rag"
DOCS = FOLDER.parents[1] / "docs"
MODULES = ("rag", "worse_retriever", "worse_prompt", "worse_model")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A copy of the example, in which the commands of its page were run, and the outputs."""
    folder = copytree(FOLDER, tmp_path_factory.mktemp("example") / "bm25_rag")
    with patch.object(sys, "dont_write_bytecode", new=True):
        shown = [each for each in commands(FOLDER / "README.md") if "http:" not in " ".join(each.words)]
        outputs = [(each, sgi(folder, *each.words)) for each in shown]
    for name in MODULES:
        sys.modules.pop(name, None)
    return folder, outputs


def test_the_commands_print_what_the_page_shows(example):
    _, outputs = example
    assert len(outputs) >= 11
    for shown, result in outputs:
        assert result.code == 0, result.err
        assert missing_lines(shown, result.out) == [], shown.words


def test_the_evidence_of_a_diagnosis_is_what_the_command_prints(example):
    shown = commands(DOCS / "diagnosis-table.md")[0]
    assert missing_lines(shown, sgi(example[0], *shown.words).out) == []


def test_the_diagnosis_names_the_part_that_is_worse(example):
    db = example[0] / "sgi.db"
    base, *worse = (diagnose(name, db=db) for name in ("base", "retriever", "prompt", "model"))
    before = Counter(row.cause for row in base.rows)
    rises = [Counter(row.cause for row in each.rows) - before for each in worse]
    highest = [rise.most_common(1)[0][0] for rise in rises]
    assert highest == ["retrieval_miss", "answered_unanswerable", "contradicted_fact"]


@pytest.mark.parametrize("page", ["citations", "conversations"])
def test_other_pages_score_the_rows_of_the_example(example, page):
    folder, _ = example
    rows = [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]
    usage = {"prompt_tokens": 812, "completion_tokens": 9, "cost": 0.0021}
    for name in ("data.jsonl", "answers.jsonl"):
        (folder / name).write_text("\n".join(json.dumps(row | usage) for row in rows))
    shown = [each for each in commands(DOCS / f"{page}.md") if each.words[0] in {"run", "check"}]
    offline = [each for each in shown if not {"--judge", "--define"} & set(each.words)]
    assert offline
    for each in offline:
        result = sgi(folder, *each.words)
        assert result.code == 0, result.err
        assert missing_lines(each, result.out) == [], each.words


def test_the_stored_name_of_a_definition_is_the_one_shown(tmp_path):
    page = (DOCS / "own-metrics.md").read_text("utf-8")
    (tmp_path / "metrics.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    result = sgi(tmp_path, "metrics", "quality", "--define", "metrics.toml")
    (stored,) = re.findall(r"Stored as +(.+)", result.out)
    assert f"`{stored}`" in page
