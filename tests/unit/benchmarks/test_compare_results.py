"""Noise does not fail a comparison of results, and a real change does."""

import json
import shutil
import subprocess
from datetime import UTC, datetime

import numpy as np
import pytest

import compare_results
import results
from compare_results import compare, main, newest_pair
from harness import Figure
from results import document, machine, versions, write
from tracked import LIMIT, MAX_SPREAD, TRACKED
from turns import change_interval, spread, turns_of

TRIALS = 100


def simulated_run(generator, turns, slower=1.0):
    """Return turns with 3 % noise, a load that changes, and some turns that other work disturbs."""
    load = np.exp(generator.normal(0, 0.1, (turns, 1)))
    seconds = np.array([1.0, 17.0]) * load * np.exp(generator.normal(0, 0.03, (turns, 2)))
    seconds[generator.random((turns, 2)) < 0.05] *= 1.5
    return seconds[:, ::-1] * np.array([1.0, slower])  # the ratio is that of the peer to ours


def share_of_failures(slower, *, runs=3, turns=9):
    generator = np.random.default_rng(11)
    failures = 0
    for _ in range(TRIALS):
        old = [simulated_run(generator, turns) for _ in range(runs)]
        new = [simulated_run(generator, turns, slower) for _ in range(runs)]
        failures += compare_results.Gain(*change_interval(old, new)).exceeds(LIMIT)
    return failures / TRIALS


def test_noise_fails_no_comparison_and_a_change_of_15_percent_does():
    assert share_of_failures(1.0) == 0
    assert share_of_failures(1 / 0.85) >= 0.95


def figure(our_seconds, peer_seconds, **options):
    seconds = {"ours": our_seconds, "peer": peer_seconds}
    rates = {name: 10 / float(np.median(values)) for name, values in seconds.items()}
    fields = {"beside": "rouge-score", "repeats": seconds, **rates, **options}
    return Figure("rouge_l, 10,000 answer pairs", "pairs/s", **fields)


def test_the_turns_give_the_ratio_of_the_figure():
    rate = figure([1.0, 1.0, 1.2], [5.0, 5.0, 6.0])
    assert np.median(turns_of(rate), axis=0).tolist() == [5.0, 1.0]
    bound = Figure(
        "x", "s", 3.0, 2.0, "b", is_bound=True, higher_is_better=False, repeats={"a": [3], "b": [2]}
    )
    assert turns_of(bound).tolist() == [[3.0, 2.0]]
    assert turns_of(figure([1.0, 1.0], [5.0])) is None
    assert turns_of(figure([1.0], [5.0], peer=9.0)) is None  # the ratio is another one
    assert spread(turns_of(rate)) == pytest.approx(0)
    assert spread(np.array([[9.0, 10.0], [10.0, 10.0], [11.0, 10.0]])) == pytest.approx(0.148, abs=0.001)


def record(tmp_path, name, figures, date, **about):
    content = document(figures, date)
    content["machine"] |= about
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def sides(tmp_path, now):
    """Write two results: a tracked ratio, 20 % worse with noise or without, and one that is not tracked."""

    def write(*, noise):
        steps = np.linspace(1 - noise, 1 + noise, 5)
        old = [figure(list(1.0 * steps), [5.0] * 5), figure([1.0], [5.0], beside="other")]
        new = [figure(list(1.25 * steps), [5.0] * 5), figure([3.0], [5.0], beside="other")]
        return [
            str(record(tmp_path, f"{name}.json", figures, now))
            for name, figures in (("old", old), ("new", new))
        ]

    return write


def test_only_a_tracked_ratio_fails_and_only_beyond_its_noise(sides, capsys):
    with pytest.raises(SystemExit) as stop:
        main(sides(noise=0.02))
    assert stop.value.code == 1
    other, tracked = capsys.readouterr().out.splitlines()[2:]  # the worst is first
    assert "| ROUGE-L, short answers / rouge-score | 5 × | 4 × | -20.0% (" in tracked
    assert tracked.endswith("| -10% | worse |")
    assert other.endswith("| none |  |")
    main(sides(noise=0.4))  # raises nothing: the interval contains zero
    main([*sides(noise=0.02), "--limit", "0.25"])


def test_results_of_other_processors_are_not_compared(tmp_path, now):
    paths = [
        record(tmp_path, f"{name}.json", [figure([1.0], [5.0])], now, processor=name) for name in ("a", "b")
    ]
    with pytest.raises(SystemExit, match="different processors"):
        main([str(path) for path in paths])
    assert newest_pair(tmp_path) == paths[-1:]


def test_a_lower_ratio_to_a_bound_in_seconds_is_better():
    def bound(seconds):
        repeats = {"ours": [seconds] * 5, "bound": [1.0] * 5}
        return Figure("w", "s", seconds, 1.0, "b", is_bound=True, higher_is_better=False, repeats=repeats)

    assert compare_results.gain([bound(2.0)], [bound(2.5)]) == pytest.approx((-0.2, -0.2, -0.2))


def test_each_tracked_ratio_was_measured_and_those_with_a_limit_have_small_spreads(benchmarks):
    spreads = {each.title: [] for each in TRACKED}
    for path in (benchmarks / "results").glob("*.json"):
        for one in compare_results.figures(json.loads(path.read_text("utf-8"))):
            found = compare_results.tracked(one.work, one.beside)
            if found:
                spreads[found.title].append(spread(turns_of(one)))
    assert all(spreads.values())
    assert all(min(spreads[each.title]) <= MAX_SPREAD for each in TRACKED if each.limited)


def test_a_ratio_of_one_side_is_listed(tmp_path, now):
    old, new = (
        [json.loads(record(tmp_path, "one.json", figures, now).read_text("utf-8"))]
        for figures in ([figure([1.0], [5.0])], [figure([1.0], [5.0], beside="other")])
    )
    assert [(each.old, each.new, each.gain) for each in compare(old, new)] == [
        (pytest.approx(5.0), None, None),
        (None, pytest.approx(5.0), None),
    ]


NOW = datetime(2026, 11, 22, 14, 30, tzinfo=UTC)
FIGURES = [
    Figure("embed", "texts/s", 400.0, 100.0, "peer", wanted=2.5, repeats={"ours": (390.0, 400.0, 410.0)}),
    Figure("geometry", "s", None, note="FAILED: no memory | no swap"),
]


def test_the_record_has_every_figure_with_repeats_and_the_machine(tmp_path):
    path = write(FIGURES, tmp_path / "results", NOW)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert path.name.startswith("2026-11-22-")
    assert record["date"] == "2026-11-22T14:30:00+00:00"
    assert record["figures"][0]["ratio"] == 4.0
    assert record["figures"][0]["met"] is True
    assert record["figures"][0]["repeats"] == {"ours": [390.0, 400.0, 410.0]}
    assert record["figures"][1]["met"] is None
    assert record["versions"]["numpy"] == versions()["numpy"]
    assert record["machine"] == machine()
    assert record["machine"]["cores"] >= 1
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert "| embed | 400 texts/s | peer: 100 | 4 × | ≥ 2.5 × | yes |" in page
    assert "FAILED" in page


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_changed_result_files_do_not_make_the_revision_dirty(tmp_path, monkeypatch):
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    for file in (tmp_path / "code.py", folder / "figures.json"):
        file.write_text("1", encoding="utf-8")
    identity = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for arguments in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    monkeypatch.setattr(results, "CODE", tmp_path)
    clean = results.revision()
    assert len(clean) == 12
    (folder / "figures.json").write_text("2", encoding="utf-8")
    assert results.revision() == clean
    (tmp_path / "code.py").write_text("2", encoding="utf-8")
    assert results.revision() == f"{clean}-dirty"
