"""The words of each command: `commands/NAME.txt` has its calls with their output and exit codes.

A line that begins with `$ ` is a call in a folder with the files below; `% ` is one whose output is not part
of the words. Write the output of changed commands with `SGI_UPDATE_WORDS=1`, and read the difference.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from support import command
from support.answers import FAILING_TARGET, TERMINAL_ATTACK, rows, write_jsonl

FILES = sorted((Path(__file__).parent / "commands").glob("*.txt"))
VARIABLE = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b"), "<run>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC)?"), "<time>"),
    (re.compile(r"(?<= labels, )20\d\d-\d\d-\d\d"), "<date>"),
    (re.compile(r"\bpython \d.*"), "<versions>"),
    (re.compile(r"(?<=Calibration )[0-9a-f]{8}"), "<digest>"),
    (re.compile(r"[\d,]+ bytes"), "<size>"),
    (re.compile(r"(Usage: |Try ').*?\bsgi(?= )"), r"\1sgi"),
)
ANSWERS = {"good": "right answer", "half": "right", "bad": "wrong"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the data and the target that the calls name."""
    monkeypatch.setenv("COLUMNS", "120")
    write_jsonl(tmp_path / "main.jsonl", rows())
    write_jsonl(tmp_path / "worse.jsonl", rows(spoilt=12))
    write_jsonl(tmp_path / "three.jsonl", [{"id": row["id"], "response": row["response"]} for row in rows(3)])
    write_jsonl(tmp_path / "many.jsonl", rows(300))
    hostile = [
        row | {"id": f"{row['id']}{TERMINAL_ATTACK}", "metadata": {TERMINAL_ATTACK: k % 2}}
        for k, row in enumerate(rows(8))
    ]
    write_jsonl(tmp_path / "hostile.jsonl", hostile)
    systems = (
        {
            "question": f"question {k}?",
            "reference": "right answer",
            "response": answer,
            "model": model,
            "kind": "easy" if k < 8 else "hard",
        }
        for k in range(20)
        for model, answer in ANSWERS.items()
    )
    write_jsonl(tmp_path / "models.jsonl", systems)
    (tmp_path / "broken.jsonl").write_text((tmp_path / "three.jsonl").read_text() + "{broken\n")
    (tmp_path / "flaky_words.py").write_text(FAILING_TARGET)
    (tmp_path / "run.toml").write_text('data = "main.jsonl"\nmetric = "squad_em"\n')
    return tmp_path


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_words_of_a_command(file, folder):
    expected = file.read_text("utf-8")
    found = "".join(_call(line, folder) for line in expected.splitlines() if line.startswith(("$ ", "% ")))
    if os.environ.get("SGI_UPDATE_WORDS"):
        file.write_text(found, "utf-8")
    assert found == expected


def _call(line, folder):
    words = [word.replace("{hostile}", TERMINAL_ATTACK) for word in shlex.split(line[2:])]
    result = command.sgi(folder, *words[1:])
    assert not set(result.out + result.err) & set("\x1b\x9b\u202e"), line
    if line.startswith("% "):
        assert result.code in {0, 2, 3}, result.err
        return f"{line}\n"
    text = f"{_lines('  ', result.out)}{_lines('! ', result.err)}".replace(str(folder), "<folder>")
    for pattern, name in VARIABLE:
        text = pattern.sub(name, text)
    text = re.sub(r" +$", "", text, flags=re.MULTILINE)
    return f"{line}\n{text}[{result.code}]\n\n"


def _lines(sign, text):
    return "".join(f"{sign}{line}\n" for line in text.splitlines())
