"""The page on detectors shows what its commands print."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from support.command import sgi
from support.console_blocks import commands, missing_lines

PAGE = Path(__file__).parents[2] / "docs" / "detectors.md"


def test_the_calibration_with_few_labels_is_what_the_commands_print(tmp_path):
    items = (files("sgi") / "data" / "halueval_qa_sample.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "first.jsonl").write_text("".join(items[:20]), encoding="utf-8")
    (tmp_path / "later.jsonl").write_text("".join(items[20:120]), encoding="utf-8")
    shown = [each for each in commands(PAGE) if each.lines]
    assert [each.words[0] for each in shown] == ["run", "calibrate", "run"]
    for each in shown:
        result = sgi(tmp_path, *each.words)
        assert result.code == 0, result.err
        assert missing_lines(each, result.out + "\n" + result.err) == [], each.words
