from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import pytest

import compare_results
import results
from harness import Figure


def figures(speed=400.0, share=0.5, seconds=1.0):
    return [
        Figure("embed", "texts/s", speed, 100.0, "peer"),
        Figure("products", "GFLOP/s", share, 1.0, "bound", is_bound=True),
        Figure("geometry", "s", seconds, 1.0, "one pass", is_bound=True, higher_is_better=False),
        Figure("start", "s", seconds * 9),
    ]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    def call(*runs, limit="0.1"):
        files = [
            results.write(each, tmp_path, datetime(2026, 11, day, tzinfo=UTC))
            for day, each in enumerate(runs, 1)
        ]
        monkeypatch.setattr(sys, "argv", ["compare", *map(str, files), "--limit", limit])
        try:
            compare_results.main()
        except SystemExit as error:
            return error.code, capsys.readouterr().out
        return 0, capsys.readouterr().out

    return call


def test_small_changes_and_gains_pass(run):
    assert run(figures(), figures(speed=365.0, share=0.9, seconds=0.5))[0] == 0


@pytest.mark.parametrize("change", [{"speed": 355.0}, {"share": 0.44}, {"seconds": 1.12}])
def test_a_ratio_that_got_worse_fails_in_its_direction(run, change):
    code, printed = run(figures(), figures(**change))
    assert code == 1
    assert printed.splitlines()[2].endswith("| worse |")
    assert printed.count("worse") == 1
    assert run(figures(), figures(**change), limit="0.2")[0] == 0


def test_a_ratio_that_only_one_file_has_is_listed(run):
    code, printed = run(figures(), figures()[1:])
    assert (code, "| embed / peer | 4 × | – | – |  |" in printed) == (0, True)


def test_files_of_other_processors_are_not_compared(tmp_path):
    path = results.write(figures(), tmp_path, datetime(2026, 11, 1, tzinfo=UTC))
    record = json.loads(path.read_text())
    other = record | {"machine": record["machine"] | {"processor": "Other"}, "date": "2026-11-02"}
    with pytest.raises(SystemExit, match="different processors"):
        compare_results.compare(record, other)
    (tmp_path / "other.json").write_text(json.dumps(other))
    assert compare_results.newest_pair(tmp_path) == [tmp_path / "other.json"]
