from __future__ import annotations

import numpy as np
import pytest

from sgi.metrics.grounding.model import FILE, GroundingModel, grounding_model
from sgi.metrics.grounding.signals import MEASURED, MOST_COUNTED, Signals, stretches
from sgi.stats.ranking import ranking
from support.kept_runs import rows, write_rows
from support.scripts import load_script

KINDS = len(MEASURED)


@pytest.fixture(scope="module")
def script():
    with load_script("train_grounding") as module:
        yield module


@pytest.fixture
def folder(script, tmp_path):
    """Write a few labelled rows under the name of every set."""
    for number, name in enumerate(script.SETS.values(), start=1):
        write_rows(tmp_path / name, rows(24, answer="Item {k} has {k} old {topic}." + " It is so." * number))
    return tmp_path


def random_rows(script, n=80, seed=0, difference=1.5):
    """Return rows of one stretch whose supported answers have higher signals."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % 2 == 0
    measured = rng.normal(size=(n, KINDS)) + difference * true[:, None]
    measured[rng.random(measured.shape) < 0.1] = np.nan
    measured[:, script.COUNTED] = -rng.integers(0, 2, size=(n, 2)) * ~true[:, None]
    words = rng.integers(5, 15, size=n)
    return script.Rows(
        np.column_stack([measured, np.zeros((n, 2))]), true, words * 6.0, words, np.arange(n) // 4, 0
    )


def test_read_skips_rows_without_a_label_or_a_value(script, tmp_path):
    samples = rows(6)
    samples[1] |= {"label": None}
    samples[2] |= {"response": "Yes."}
    signal_rows = script.read(write_rows(tmp_path / "a.jsonl", samples))
    assert signal_rows.true.tolist() == [False, True, False, True]
    assert (signal_rows.missing, signal_rows.signals.shape) == (1, (4, len(Signals._fields)))
    assert signal_rows.length.tolist() == [len(samples[index]["response"]) for index in (0, 3, 4, 5)]
    assert (signal_rows.signals[:, 0] <= 1).all()
    assert signal_rows.measured.shape == (4, KINDS)


def test_trained_weights_are_never_negative(script):
    inverted = random_rows(script, difference=-1.5)
    model = script.train([inverted, random_rows(script, seed=1, difference=-1.5)])
    assert (model.weights >= 0).all()
    assert (model.weights.shape, model.centres[-1], model.spreads[-1]) == ((len(Signals._fields),), 0.0, 1.0)


def test_training_separates_the_classes_and_is_reproducible(script):
    sets = [random_rows(script, seed=seed) for seed in (0, 1)]
    model, again = script.train(sets), script.train(sets)
    other = random_rows(script, seed=2)
    assert ranking(model.log_odds(other.signals), other.true, other.clusters).auroc > 0.95
    assert (model.weights.tolist(), model.intercept) == (again.weights.tolist(), again.intercept)


def test_joined_answers_give_a_positive_allowance_for_length(script):
    assert script.train([random_rows(script), random_rows(script, seed=1)]).weights[-2] > 0


def test_joined_answers_have_the_weakest_part_and_all_failed_facts(script):
    answers = random_rows(script)
    table, true = script.join_answers(answers, 3, np.random.default_rng(0))
    assert (table.shape, true.sum()) == ((script.JOINED_ROWS, KINDS + 1), script.JOINED_ROWS // 2)
    free = [signal for signal in range(KINDS) if signal not in script.COUNTED]
    lowest = np.nanmin(answers.measured[answers.true], axis=0)
    assert not (table[true][:, free] < lowest[free]).any()
    assert (table[true][:, script.COUNTED] == 0).all()
    assert table[:, script.COUNTED].min() >= MOST_COUNTED
    assert np.nanmean(table[~true][:, free]) < np.nanmean(table[true][:, free])
    assert set(table[:, -1]) <= {stretches(words) for words in range(15, 45)}


def test_the_scale_recovers_slope_and_intercept(script):
    rng = np.random.default_rng(0)
    log_odds, long = rng.normal(size=40_000), rng.integers(0, 2, 40_000).astype(float)
    true = rng.random(40_000) < 1 / (1 + np.exp(-(2 * log_odds + 0.5 * long - 0.25)))
    slope, allowance, intercept = script.fit_scale([(log_odds, long, true)])
    shift = np.log((~true).sum() / true.sum())  # both classes have equal weight
    assert (slope, allowance, intercept - shift) == pytest.approx((2, 0.5, -0.25), abs=0.06)


def test_the_number_of_rows_does_not_change_the_weight_of_a_part(script):
    parts = [
        (part.signals[:, 0], part.stretches, part.true)
        for part in (random_rows(script), random_rows(script, seed=1))
    ]
    parts = [(np.nan_to_num(values), long, true) for values, long, true in parts]
    more = [tuple(np.tile(column, 5) for column in parts[0]), parts[1]]
    assert script.fit_scale(more) == pytest.approx(script.fit_scale(parts), abs=1e-3)


def test_balanced_rows_has_equal_classes(script):
    answers = random_rows(script)
    fewer = answers.take(np.flatnonzero(answers.true | (np.arange(80) < 20)))
    drawn = script.balanced_rows(fewer)
    assert (fewer.true[drawn].sum(), len(drawn)) == (10, 20)
    assert drawn.tolist() == sorted(set(drawn.tolist()))


def test_a_signal_can_be_removed_or_used_alone(script):
    answers = random_rows(script)
    assert (script.without_signal(answers, "copied").signals[:, 4] == 0).all()
    assert np.isnan(answers.signals[:, 4]).any()
    assert np.isfinite(script.signal_alone(answers, "copied")).all()


def test_main_prints_the_report_and_writes_the_weights_only_with_write(script, folder, capsys, monkeypatch):
    path = folder / "src" / "sgi" / "data" / FILE
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(script, "__file__", str(folder / "scripts" / "train_grounding.py"))
    monkeypatch.setattr(script, "JOINED_ROWS", 60)
    monkeypatch.setattr(script, "SETS", dict([*script.SETS.items()][:2]))
    script.main([str(folder), "--write"])
    output = capsys.readouterr().out
    assert output.count("18 supported, 6 not, 0 without a value") == 2
    assert output.count("without nearness: ") == 2
    model = GroundingModel.model_validate_json(path.read_text(encoding="utf-8"))
    assert model.trained_on == dict.fromkeys(script.SETS, 24)
    assert model.recipe == "scripts/train_grounding.py"
    monkeypatch.setattr(script, "report", list)
    path.unlink()
    script.main([str(folder)])
    assert capsys.readouterr().out == f"{model.model_dump_json(indent=2)}\n\n"
    assert not path.exists()


@pytest.mark.slow
def test_training_reproduces_the_committed_weights(script, data_folder):
    missing = [name for name in script.SETS.values() if not (data_folder / name).is_file()]
    if missing:
        pytest.skip(f"needs {', '.join(missing)} in {data_folder}")
    sets = {name: script.read(data_folder / file) for name, file in script.SETS.items()}
    trained, committed = script.train([*sets.values()]), grounding_model()
    for name in ("weights", "centres", "spreads"):
        assert getattr(trained, name) == pytest.approx(getattr(committed.logistic, name), abs=1e-6)
    assert trained.intercept == pytest.approx(committed.intercept, abs=1e-6)
    assert committed.trained_on == {name: len(one.true) for name, one in sets.items()}
