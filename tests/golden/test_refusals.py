"""The errors of invalid input: `refusals/KIND.jsonl` has lines of an input and the whole message.

Write the messages of changed errors with `SGI_UPDATE_WORDS=1`, and read the difference. An input that you add
needs any text as its message.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sgi.analysis.diagnosis.decision_table import read_table
from sgi.analysis.gate.rules import parse_rule, read_rules
from sgi.engine.open_resources import read_options
from sgi.engine.run_options import RunOptions
from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
from sgi.kernel.entailment_profile import read_profile
from sgi.kernel.errors import SgiError
from sgi.kernel.registry import metric
from sgi.metrics.definitions import read_metrics
from sgi.target.target_spec import TargetSpec

FOLDER = Path(__file__).parent / "refusals"
READERS = {
    "metric": metric,
    "gate_rule": parse_rule,
    "row": lambda row: [*read_rows([RawRow(3, row, kind="object")], file="a.jsonl")],
    "target": lambda settings: TargetSpec(**settings),
}
FILE_READERS = {
    "definitions": read_metrics,
    "diagnosis_table": read_table,
    "entailment_profile": read_profile,
    "gate_rules": read_rules,
    "run_options": lambda path: RunOptions.of(read_options(path), source=str(path)),
}


@pytest.mark.parametrize("kind", [*READERS, *FILE_READERS])
def test_invalid_input_is_refused_with_these_words(kind, tmp_path):
    file = FOLDER / f"{kind}.jsonl"
    expected = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    found = [[given, _message(kind, given, tmp_path / "input.toml")] for given, _ in expected]
    if os.environ.get("SGI_UPDATE_WORDS"):
        file.write_text("".join(json.dumps(one) + "\n" for one in found), "utf-8")
    assert found == expected


def _message(kind, given, path):
    if kind in FILE_READERS:
        path.write_text(given, "utf-8")
    with pytest.raises(SgiError) as caught:
        READERS[kind](given) if kind in READERS else FILE_READERS[kind](path)
    assert str(caught.value).isprintable()
    return str(caught.value).replace(str(path), path.name)
