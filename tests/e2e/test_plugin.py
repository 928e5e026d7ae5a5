"""Metrics, formats and commands of another distribution come in by their entry points."""

import json
import os
import subprocess
import sys

import pytest

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import sgi
from sgi.io import open_dataset


@dataclass(frozen=True)
class Brevity(sgi.Metric):
    """One over the number of words of the response."""

    power: float = 1.0
    spec: ClassVar = sgi.types.MetricSpec("brevity", 1, frozenset({sgi.types.Field.RESPONSE}))

    def score(self, batch, features, /):
        words = np.array([max(len(text.split()), 1) for text in batch.response])
        return sgi.types.Scores.of(1 / words**self.power)


class Cards:
    """Files of cards: a first line, then a question, a tab and an answer on each line."""

    name = title = "cards"

    def recognises(self, head):
        return head.data.startswith(b"# cards")

    def parse_options(self, options):
        return dict(options)

    def open(self, path, options, columns, encoding):
        pairs = (line.split("\\t") for line in path.read_text().splitlines()[1:])
        return open_dataset([{"question": one, "response": other} for one, other in pairs])


READERS = (Cards(),)


def shout(text: str) -> None:
    """Print a text in capitals."""
    print(text.upper())


def run(text: str) -> None:
    """Take the name of a command of SGI."""
    raise SystemExit(9)
'''


@pytest.fixture
def command(tmp_path):
    (tmp_path / "brevity_plugin.py").write_text(MODULE)
    about = tmp_path / "brevity_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brevity-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[sgi.metrics]\nbrevity = brevity_plugin:Brevity\nbroken = brevity_plugin:Nowhere\n"
        "[sgi.readers]\nbrevity = brevity_plugin:READERS\n"
        "[sgi.commands]\nshout = brevity_plugin:shout\nrun = brevity_plugin:run\nlost = brevity_plugin:lost\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"response": "two words"}\n')

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "sgi", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_it_scores_and_passes_the_contract(command, tmp_path):
    result = command("run", "rows.jsonl", "-m", "brevity(power=2.0)", "-o", "out.jsonl", "-q")
    assert result.returncode == 0, result.stderr
    scores = json.loads((tmp_path / "out.jsonl").read_text())["scores"]
    assert scores == {"brevity(power=2.0)": {"value": 0.25, "status": "ok"}}
    check = "import sgi; from brevity_plugin import Brevity; sgi.testing.check_metric(Brevity(power=2.0))"
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, check=True)


def test_it_has_its_page(command):
    assert "One over the number of words" in command("metrics", "brevity").stdout


def test_a_broken_entry_is_reported_and_the_others_work(command):
    result = command("run", "rows.jsonl", "-m", "broken")
    assert result.returncode == 2
    assert "brevity_plugin:Nowhere" in result.stderr
    listed = command("metrics", "--all")
    assert listed.returncode == 0, listed.stderr
    assert "brevity" in listed.stdout


@pytest.mark.parametrize("data", ["cards:some.txt", "some.txt"])
def test_its_format_is_read_by_name_and_by_content(command, tmp_path, data):
    (tmp_path / "some.txt").write_text("# cards\nWho?\tNobody at all\n")
    result = command("run", data, "-m", "brevity", "-o", "out.jsonl", "-q")
    assert result.returncode == 0, result.stderr
    scores = json.loads((tmp_path / "out.jsonl").read_text())["scores"]
    assert scores["brevity"]["value"] == pytest.approx(1 / 3)


def test_its_command_is_called_and_cannot_replace_one_of_ours(command):
    assert command("shout", "words").stdout == "WORDS\n"
    assert command("run", "--help").returncode == 0  # the other `run` exits with 9


def test_a_command_that_cannot_be_loaded_is_an_error_of_its_package(command):
    result = command("lost")
    assert result.returncode == 2
    assert "brevity_plugin:lost" in result.stderr
