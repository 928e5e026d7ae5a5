"""The workflow that compares a pull request with its base, with its own commands and little data."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import peer_processes
import sgi
from harness import Figure, Timing, benchmark_main, rate_figure, time_alternately
from peer_processes import PeerError, peer, start_peer
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import start_run
from sgi.models.embedder import onnx_embedder

numbers = st.floats(1e-6, 1e9)


@given(numbers, numbers, numbers)
def test_the_ratio_to_a_peer_says_how_many_times_better_we_are(ours, peer, target):
    rate = Figure("work", "rows/s", ours, peer, "peer", wanted=target)
    time = replace(rate, unit="s", higher_is_better=False)
    assert rate.ratio == ours / peer
    assert time.ratio == peer / ours
    assert rate.at_least
    assert time.at_least
    assert rate.met == (ours / peer >= target)
    assert time.met == (peer / ours >= target)


@given(numbers, numbers, numbers)
def test_the_ratio_to_a_bound_is_our_share_of_it(ours, bound, target):
    share = Figure("work", "GFLOP/s", ours, bound, "the machine", is_bound=True, wanted=target)
    time = replace(share, unit="s", higher_is_better=False)
    assert share.ratio == time.ratio == ours / bound
    assert share.met == (ours / bound >= target)
    assert time.met == (ours / bound <= target)


@given(numbers, numbers)
def test_without_a_comparison_our_result_is_compared_with_the_target(ours, target):
    assert Figure("work", "rows/s", ours, wanted=target).met == (ours >= target)
    assert Figure("work", "MB", ours, wanted=target, higher_is_better=False).met == (ours <= target)
    assert Figure("work", "MB", ours).ratio is None


@pytest.mark.parametrize(
    "figure",
    [
        Figure("work", "s", 1.0, None, "peer", wanted=2),
        Figure("work", "s", None, 1.0, "peer", wanted=2),
        Figure("work", "s", None, wanted=2),
        Figure("work", "s", 1.0, 1.0, "peer"),
    ],
)
def test_without_a_measurement_or_a_target_the_target_is_neither_met_nor_missed(figure):
    assert figure.met is None


@given(st.text(), st.none() | numbers, st.lists(numbers, max_size=3))
def test_a_figure_survives_a_round_trip_through_json(text, ours, repeats):
    figure = Figure(text, text, ours, 1.0, "peer", note=text, repeats={"ours": repeats})
    line = figure.to_json()
    assert len(line.splitlines()) == 1
    assert Figure.from_json(line) == figure


def test_functions_take_turns_and_warm_up_rounds_are_not_counted():
    calls = []
    times = time_alternately(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3, warm=2
    )
    assert "".join(calls) == "ab" * 5
    assert {name: len(timing.seconds) for name, timing in times.items()} == {"a": 3, "b": 3}
    assert all(second >= 0 for timing in times.values() for second in timing.seconds)


def test_a_rate_counts_the_units_of_ours_and_of_the_peer():
    times = {"ours": Timing((1.0, 2.0, 4.0)), "peer": Timing((1.0, 1.0, 5.0))}
    figure = rate_figure("embed", "texts/s", times, 8, peer_count=2, beside="peer", wanted=2)
    assert (figure.ours, figure.peer, figure.wanted) == (4.0, 2.0, 2)
    assert figure.repeats == {"ours": (8.0, 4.0, 2.0), "peer": (2.0, 2.0, 0.4)}
    alone = rate_figure("embed", "texts/s", {"ours": times["ours"]}, 8, beside="peer")
    assert (alone.peer, alone.ratio) == (None, None)


@pytest.mark.parametrize("as_json", [True, False])
def test_a_benchmark_script_prints_its_figures(monkeypatch, capsys, as_json):
    monkeypatch.setattr(sys, "argv", ["benchmark", "--quick", *(["--json"] if as_json else [])])

    def measure(*, quick):
        yield Figure("sort", "rows/s", 2.0 if quick else 1.0)

    benchmark_main(measure)
    out = capsys.readouterr().out
    if as_json:
        assert json.loads(out)["ours"] == 2.0
    else:
        assert "sort" in out
        assert "2 rows/s" in out


ROOT = Path(__file__).parents[3]


COUNT = """
def count(texts, last):
    print("noise of a library")
    counts = []
    def work():
        print("more noise")
        counts.append(len(texts))
        if len(counts) == last:
            raise ValueError("the model is gone")
        return [sum(counts)]
    return work, "counter 1.2"

"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Use this environment as a peer's, and a worker with a function that counts its runs."""
    python = tmp_path / "counting" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("SGI_BENCH_PEERS", str(tmp_path))
    code, main, rest = peer_processes.WORKER.read_text(encoding="utf-8").partition("if __name__")
    monkeypatch.setattr(peer_processes, "WORKER", tmp_path / "worker.py")
    (tmp_path / "worker.py").write_text(f"{code}{COUNT}{main}{rest}", encoding="utf-8")


@pytest.mark.usefixtures("worker")
def test_a_peer_loads_once_and_runs_on_request():
    with ExitStack() as stack:
        other, name = start_peer(stack, "counting", "count", texts=["a", "b"], last=0)
        assert name == other.name == "counter 1.2"
        times = time_alternately({"peer": other.run}, repeats=2, warm=1)
        assert other.result() == [6]
    assert len(times["peer"].seconds) == 2


@pytest.mark.usefixtures("worker")
def test_an_error_in_the_work_of_a_peer_is_reported():
    with (
        pytest.raises(PeerError, match="ValueError: the model is gone"),
        peer("counting", "count", {"texts": [], "last": 1}) as other,
    ):
        other.run()


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("environment", "setting", "reason"),
    [("counting", {"last": 0}, "texts"), ("ragas", {}, "ragas: not installed")],
)
def test_a_peer_that_cannot_be_loaded_has_a_reason(environment, setting, reason):
    with ExitStack() as stack:
        other, note = start_peer(stack, environment, "count", **setting)
    assert other is None
    assert reason in note


def test_every_environment_is_pinned_and_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (names,) = [line for line in makefile.splitlines() if line.startswith("PEERS :=")]
    files = {path.stem: path for path in (ROOT / "requirements" / "peers").glob("*.txt")}
    assert set(names.partition(":=")[2].split()) == set(files)
    for path in files.values():
        requirements = [
            line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
        ]
        assert requirements
        assert all("==" in line for line in requirements), path


WORKFLOW = Path(__file__).parents[3] / ".github" / "workflows" / "benchmarks.yml"


@pytest.fixture(scope="module")
def job():
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["compare"]


@pytest.fixture
def run_step(job, tmp_path):
    """Run the commands of a step in a folder where both revisions are this checkout and its environment."""
    assert job["defaults"]["run"]["shell"] == "bash"
    for side in ("base", "head"):
        (tmp_path / side).mkdir()
        (tmp_path / side / ".venv").symlink_to(sys.prefix)
        for name in ("benchmarks", "src"):
            (tmp_path / side / name).symlink_to(WORKFLOW.parents[2] / name)

    def run(name, **variables):
        (step,) = (step for step in job["steps"] if step.get("name") == name)
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        environment = {
            **os.environ,
            **step.get("env", {}),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            **variables,
        }
        return subprocess.run(
            bash, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


def plant(files, factor):
    """Make our work in the results slower by the factor, and the noise small."""
    for file in files:
        record = json.loads(file.read_text(encoding="utf-8"))
        for row in record["figures"]:
            ours = row["ours"] * factor
            row |= {"ours": ours, "repeats": {"ours": [ours] * 5, "bound": [row["peer"]] * 5}}
        file.write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.slow
def test_both_sides_are_measured_and_a_slower_one_fails(run_step, tmp_path):
    measured = run_step("Measure both in turns", BENCH="--only overhead --quick", ROUNDS="1")
    assert measured.returncode == 0, measured.stderr
    base, head = (list((tmp_path / "results" / side / "1").glob("*.json")) for side in ("base", "head"))
    assert len(base) == len(head) == 1
    head[0].write_text(base[0].read_text(encoding="utf-8"), encoding="utf-8")
    plant([*base, *head], 1)
    assert run_step("Compare").returncode == 0
    plant(head, 1.15)
    assert run_step("Compare").returncode == 1
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").count("| worse |") == 2


def test_a_benchmark_that_fails_stops_the_workflow(run_step):
    assert run_step("Measure both in turns", BENCH="--only missing", ROUNDS="1").returncode != 0


SAMPLE = Path(sgi.__file__).parent / "data" / "halueval_qa_sample.jsonl"


ROWS = 8


METRICS = ("sgi", "semantic_similarity", "lexical_aggregate")


@dataclass
class Counts:
    tokenized: list[str] = field(default_factory=list)
    tokens: int = 0
    computed: int = 0


@pytest.fixture
def counts(monkeypatch):
    """Count the inputs of the tokenizer and of the model."""
    counts = Counts()
    tokenize, hidden = onnx_embedder.tokenize, onnx_embedder.OnnxNetwork.token_vectors

    def counted_tokenize(tokenizer, texts, limit=None):
        counts.tokenized += texts
        tokens = tokenize(tokenizer, texts, limit)
        counts.tokens += sum(len(ids) for ids in tokens.ids)
        return tokens

    def counted_hidden(self, ids, /):
        counts.computed += ids.size
        return hidden(self, ids)

    monkeypatch.setattr(onnx_embedder, "tokenize", counted_tokenize)
    monkeypatch.setattr(onnx_embedder.OnnxNetwork, "token_vectors", counted_hidden)
    return counts


def score(folder, name, **more):
    data = folder / "rows.jsonl"
    if not data.exists():
        data.write_bytes(b"".join(SAMPLE.read_bytes().splitlines(keepends=True)[:ROWS]))
    values = {"data": data, "metrics": METRICS, "out": folder / f"{name}.jsonl", **more}
    call = {"db": folder / f"{name}.db", "cache": folder / "vectors.db"}
    anyio.run(start_run, RunOptions.of(values, **call))
    return (folder / f"{name}.jsonl").read_bytes()


def test_each_distinct_text_is_tokenized_once_and_nothing_is_padded(tmp_path, counts):
    score(tmp_path, "first")
    assert len(counts.tokenized) == len(set(counts.tokenized)) > ROWS
    assert counts.computed == counts.tokens > 0


def test_a_second_run_tokenizes_and_computes_nothing_and_writes_the_same(tmp_path, counts):
    first = score(tmp_path, "first")
    before = (len(counts.tokenized), counts.computed)
    assert score(tmp_path, "second") == first
    assert (len(counts.tokenized), counts.computed) == before
