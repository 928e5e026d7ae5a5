import json

import pytest

import run
from harness import Figure
from run import BENCHMARKS, run_all, run_benchmark

GOOD = """
from harness import Figure, benchmark_main
def measure(*, quick):
    yield Figure("quick" if quick else "whole", "s", 1.0)
benchmark_main(measure)
"""
HALF = """
from harness import Figure, benchmark_main
def measure(*, quick):
    yield Figure("first", "s", 1.0)
    raise RuntimeError("the disk is full")
benchmark_main(measure)
"""


@pytest.fixture
def scripts(tmp_path, monkeypatch, benchmarks):
    """Write scripts that can import the modules of the benchmarks."""
    monkeypatch.setenv("PYTHONPATH", str(benchmarks))

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return [tmp_path / f"{name}.py" for name in texts]

    return write


def test_a_failed_benchmark_is_a_figure_and_the_others_run(scripts):
    figures, errors = run_all(scripts(half=HALF, good=GOOD), quick=True)
    assert [figure.work for figure in figures] == ["first", "half", "quick"]
    assert figures[1].note == "FAILED: RuntimeError: the disk is full"
    assert figures[1].met is None
    assert list(errors) == ["half"]
    assert "Traceback" in errors["half"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("print('hello')", "printed no figures"),
    ],
)
def test_a_benchmark_without_figures_has_an_error(scripts, text, error):
    (script,) = scripts(broken=text)
    assert run_benchmark(script, quick=False) == ([], error)


def test_a_failure_gives_exit_code_1_and_a_partial_run_is_not_written(scripts, monkeypatch, tmp_path, capsys):
    scripts(cost=GOOD, judge=HALF)
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "write", lambda *_, **__: pytest.fail("a partial run was written"))
    assert run.main(["--only", "cost", "--quick"]) == 0
    assert "quick" in capsys.readouterr().out
    assert run.main(["--only", "cost", "judge"]) == 1
    output = capsys.readouterr()
    assert "FAILED: RuntimeError: the disk is full" in output.out
    assert "judge failed:" in output.err


def test_a_run_of_all_benchmarks_is_written(scripts, monkeypatch, tmp_path, capsys):
    scripts(cost=GOOD)
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "BENCHMARKS", ("cost",))
    saved = []
    monkeypatch.setattr(run, "write", lambda figures, **_: saved.append([*figures]) or tmp_path)
    assert run.main([]) == 0
    assert saved == [[Figure("whole", "s", 1.0)]]
    assert str(tmp_path) in capsys.readouterr().err


def test_write_saves_a_partial_run_after_each_benchmark(scripts, monkeypatch, tmp_path):
    scripts(cost=GOOD, judge=GOOD)
    monkeypatch.setattr(run, "HERE", tmp_path)
    saved = []
    monkeypatch.setattr(run, "write", lambda figures, **_: saved.append([*figures]) or tmp_path)
    assert run.main(["--only", "cost", "judge", "--write"]) == 0
    assert [len(figures) for figures in saved] == [1, 2]


def test_every_benchmark_yields_figures(benchmarks):
    for name in BENCHMARKS:
        text = (benchmarks / f"{name}.py").read_text(encoding="utf-8")
        assert "def measure(*, quick: bool) -> Iterator[Figure]:" in text, name
        assert text.endswith(" benchmark_main(measure)\n"), name


def test_committed_results_can_be_read(benchmarks):
    for path in (benchmarks / "results").glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        for row in record["figures"]:
            figure = Figure(**{name: value for name, value in row.items() if name not in {"ratio", "met"}})
            assert (figure.ratio, figure.met) == (row["ratio"], row["met"]), (path.name, figure.work)
