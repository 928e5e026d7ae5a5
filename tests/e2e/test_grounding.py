"""The grounding detector as a user meets it: a table, its run and report; and one answer by itself."""

import csv
import re
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sgi.cli.check_command import check
from support.command import Outcome, sgi

Command = Callable[..., Outcome]


TOWER = "The tower in Paris is 330 m tall. It opened in 1889."
ROWS = [
    {"id": "right", "question": "How tall is it?", "context": TOWER, "response": "The tower is 330 m tall."},
    {"id": "wrong", "question": "How tall is it?", "context": TOWER, "response": "The tower is 312 m tall."},
    {"id": "silent", "question": "Who built it?", "context": TOWER, "response": "The passage does not say."},
]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """`sgi` in a new directory."""
    return partial(sgi, tmp_path)


def write_csv(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as lines:
        table = csv.DictWriter(lines, fieldnames=[*ROWS[0]])
        table.writeheader()
        table.writerows(ROWS)


def test_from_a_table_to_its_report(command: Command, tmp_path: Path) -> None:
    write_csv(tmp_path / "answers.csv")
    run = command("run", "answers.csv", "-m", "grounding", "--quiet", "--json")
    assert (run.code, run.err) == (0, "")
    outcome = command("show", "last", "--sample", "wrong")
    assert (outcome.code, outcome.err) == (0, "")
    assert "The tower is [312 m] tall." in outcome.out
    assert "✗ number 312 m: passage 1 has 330 m (other value)" in outcome.out
    silent = command("show", "last", "--sample", "silent", "--json").json["scores"]["grounding"]
    assert (silent["status"], silent["value"]) == ("undefined", None)
    assert silent["reason"] == "the response claims nothing that passages could support"
    result = command("report", "last", "-o", "report.html")
    assert result.code == 0, result.err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<mark class="contradicted" title="passage 1 has 330 m (other value)">312 m<' in page
    values = {name: value(command, name) for name in ("right", "wrong")}
    assert values["wrong"] < values["right"] - 0.1


def value(command: Command, sample: str) -> float:
    found: Any = command("show", "last", "--sample", sample, "--json").json
    return float(found["scores"]["grounding"]["value"])


@pytest.mark.parametrize(
    ("answer", "least", "code"),
    [
        ("The tower is 330 m tall.", 0.5, 0),
        ("The tower is 312 m tall.", 0.9, 4),
        ("Bees sleep in Spanish attics.", 0.5, 4),
        ("Bees sleep in Spanish attics.", 0.0, 0),
        ("Yes.", 0.0, 4),
        ("The tower is 330 m tall.", 1.5, 2),
    ],
)
def test_a_gate_for_one_answer(command: Command, answer: str, least: float, code: int) -> None:
    result = command("check", "--c", TOWER, "--r", answer, "--fail-under", least)
    assert result.code == code, result.out + result.err
    assert bool(result.err) == (code == 2)


def test_the_examples_of_the_help_do_what_they_say(command: Command, tmp_path: Path) -> None:
    for name, text in (("passage", TOWER), ("other", "Bees sleep."), ("answer", "It is 330 m tall.")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    lines = [
        line.strip() for line in str(check.__doc__).splitlines() if line.strip().startswith("sgi check ")
    ]
    contradicted, gate, as_json, further = (command(*words(line, tmp_path)) for line in lines)
    assert (contradicted.code, gate.code, as_json.code, further.code) == (0, 0, 0, 0)
    assert "It is [312 m] tall." in contradicted.out
    assert "Passage 2 supports no sentence: Bees sleep." in gate.out
    assert 'contains(text="330")' in further.out
    assert as_json.json["status"] == "ok"
    assert as_json.json["sentences"][0]["checks"][0]["verdict"] == "supported"


def words(line: str, folder: Path) -> list[str]:
    """An example as a shell makes words of it: what `$(cat FILE)` names is read."""
    return [
        re.sub(r"^\$\(cat (.*)\)$", lambda found: (folder / found[1]).read_text(encoding="utf-8"), word)
        for word in shlex.split(line)[1:]
    ]
