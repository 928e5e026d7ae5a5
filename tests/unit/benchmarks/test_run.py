from __future__ import annotations

import json

import pytest

import run
from measured import Figure
from run import PIECES, run_all, run_piece

GOOD = """
from measured import Figure, piece
def measure(*, quick):
    yield Figure("quick" if quick else "whole", "s", 1.0)
piece(measure)
"""
HALF = """
from measured import Figure, piece
def measure(*, quick):
    yield Figure("first", "s", 1.0)
    raise RuntimeError("the disk is full")
piece(measure)
"""


@pytest.fixture
def scripts(tmp_path, monkeypatch, benchmarks):
    """Writes scripts that find what the benchmarks have in common."""
    monkeypatch.setenv("PYTHONPATH", str(benchmarks))

    def write(**named):
        for name, text in named.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return [tmp_path / f"{name}.py" for name in named]

    return write


def test_a_piece_that_fails_is_told_among_the_others_and_they_go_on(scripts):
    figures, faults = run_all(scripts(half=HALF, good=GOOD), quick=True)
    assert [figure.work for figure in figures] == ["first", "half", "quick"]
    assert figures[1].note == "FAILED: RuntimeError: the disk is full"
    assert figures[1].met is None
    assert list(faults) == ["half"]
    assert "Traceback" in faults["half"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("print('hello')", "told no figures"),
    ],
)
def test_why_a_piece_told_nothing(scripts, text, why):
    (script,) = scripts(broken=text)
    assert run_piece(script, quick=False) == ([], why)


def test_what_was_told_before_time_ran_out_is_kept(scripts):
    (script,) = scripts(slow=HALF.replace("raise RuntimeError", "import time; time.sleep(60); print"))
    figures, fault = run_piece(script, quick=False, seconds=3)
    assert [figure.work for figure in figures] == ["first"]
    assert fault == "not done after 3 s"


def test_the_exit_code_says_whether_all_worked_and_parts_are_not_kept(scripts, monkeypatch, tmp_path, capsys):
    scripts(store=GOOD, judge=HALF)
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "write", lambda _: pytest.fail("parts were written"))
    assert run.main(["--only", "store", "--quick"]) == 0
    assert "quick" in capsys.readouterr().out
    assert run.main(["--only", "store", "judge"]) == 1
    said = capsys.readouterr()
    assert "FAILED: RuntimeError: the disk is full" in said.out
    assert "judge failed:" in said.err


def test_a_whole_run_is_kept(scripts, monkeypatch, tmp_path, capsys):
    scripts(store=GOOD)
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "PIECES", ("store",))
    kept = []
    monkeypatch.setattr(run, "write", lambda figures: kept.append([*figures]) or tmp_path)
    assert run.main([]) == 0
    assert kept == [[Figure("whole", "s", 1.0)]]
    assert str(tmp_path) in capsys.readouterr().err


def test_parts_are_kept_on_demand_and_after_each_piece(scripts, monkeypatch, tmp_path):
    scripts(store=GOOD, judge=GOOD)
    monkeypatch.setattr(run, "HERE", tmp_path)
    kept = []
    monkeypatch.setattr(run, "write", lambda figures: kept.append([*figures]) or tmp_path)
    assert run.main(["--only", "store", "judge", "--write"]) == 0
    assert [len(figures) for figures in kept] == [1, 2]


def test_every_piece_is_there_and_tells_figures(benchmarks):
    for name in PIECES:
        text = (benchmarks / f"{name}.py").read_text(encoding="utf-8")
        assert "def measure(*, quick: bool) -> Iterator[Figure]:" in text, name
        assert text.endswith(" piece(measure)\n"), name


def test_figures_of_results_that_are_kept_can_be_read(benchmarks):
    for path in (benchmarks / "results").glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        for row in record["figures"]:
            made = Figure(**{name: value for name, value in row.items() if name not in {"ratio", "met"}})
            assert (made.ratio, made.met) == (row["ratio"], row["met"]), (path.name, made.work)
