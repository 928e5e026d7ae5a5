"""A metric of somebody else's distribution comes in by its entry point, and is used by its name."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Brevity(sgi.Metric):
    """One over the number of words of the response."""

    power: float = 1.0
    spec: ClassVar = sgi.MetricSpec("brevity", 1, frozenset({sgi.Field.RESPONSE}), low=0.0, high=1.0)

    def score(self, batch, features, /):
        words = np.array([max(len(text.split()), 1) for text in batch.response])
        return sgi.Scores.of(1 / words**self.power)
'''


@pytest.fixture
def command(tmp_path):
    (tmp_path / "brevity_plugin.py").write_text(MODULE)
    about = tmp_path / "brevity_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brevity-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[sgi.metrics]\nbrevity = brevity_plugin:Brevity\nbroken = brevity_plugin:Nowhere\n"
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
    listed = command("metrics")
    assert listed.returncode == 0, listed.stderr
    assert "brevity" in listed.stdout
