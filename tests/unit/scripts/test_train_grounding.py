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
    """A few labelled rows under the name of every set."""
    for number, name in enumerate(script.SETS.values(), start=1):
        write_rows(tmp_path / name, rows(24, answer="Item {k} has {k} old {topic}." + " It is so." * number))
    return tmp_path


def made_up(script, n=80, seed=0, apart=1.5):
    """Rows whose supported answers have more of every signal; all are one stretch long."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % 2 == 0
    measured = rng.normal(size=(n, KINDS)) + apart * true[:, None]
    measured[rng.random(measured.shape) < 0.1] = np.nan
    measured[:, script.COUNTED] = -rng.integers(0, 2, size=(n, 2)) * ~true[:, None]
    words = rng.integers(5, 15, size=n)
    return script.Rows(
        np.column_stack([measured, np.zeros(n)]), true, words * 6.0, words, np.arange(n) // 4, 0
    )


def test_signals_are_read_of_the_rows_that_have_a_label_and_a_value(script, tmp_path):
    given = rows(6)
    given[1] |= {"label": None}
    given[2] |= {"response": "Yes."}
    found = script.read(write_rows(tmp_path / "a.jsonl", given))
    assert found.true.tolist() == [False, True, False, True]
    assert (found.left_out, found.signals.shape) == (1, (4, len(Signals._fields)))
    assert found.length.tolist() == [len(given[at]["response"]) for at in (0, 3, 4, 5)]
    assert (found.signals[:, 0] <= 1).all()
    assert found.measured.shape == (4, KINDS)


def test_what_is_learnt_cannot_read_a_signal_the_wrong_way_round(script):
    given = made_up(script, apart=-1.5)
    found = script.learnt([given, made_up(script, seed=1, apart=-1.5)])
    assert (found.weights >= 0).all()
    assert (found.weights.shape, found.centres[-1], found.spreads[-1]) == ((len(Signals._fields),), 0.0, 1.0)


def test_what_is_learnt_tells_rows_apart_and_is_the_same_again(script):
    sets = [made_up(script, seed=seed) for seed in (0, 1)]
    found, again = script.learnt(sets), script.learnt(sets)
    other = made_up(script, seed=2)
    assert ranking(found.log_odds(other.signals), other.true, other.clusters).auroc > 0.95
    assert (found.weights.tolist(), found.intercept) == (again.weights.tolist(), again.intercept)


def test_length_is_made_up_for_where_answers_are_joined(script):
    assert script.learnt([made_up(script), made_up(script, seed=1)]).weights[-1] > 0


def test_joined_answers_have_the_weakest_part_and_all_failures(script):
    given = made_up(script)
    table, true = script.joined(given, 3, np.random.default_rng(0))
    assert (table.shape, true.sum()) == ((script.EACH, len(Signals._fields)), script.EACH // 2)
    free = [place for place in range(KINDS) if place not in script.COUNTED]
    lowest = np.nanmin(given.measured[given.true], axis=0)
    assert not (table[true][:, free] < lowest[free]).any()
    assert (table[true][:, script.COUNTED] == 0).all()
    assert table[:, script.COUNTED].min() >= MOST_COUNTED
    assert np.nanmean(table[~true][:, free]) < np.nanmean(table[true][:, free])
    assert set(table[:, -1]) <= {stretches(words) for words in range(15, 45)}


def test_slope_and_intercept_are_those_that_made_the_labels(script):
    rng = np.random.default_rng(0)
    odds, long = rng.normal(size=40_000), rng.integers(0, 2, 40_000).astype(float)
    true = rng.random(40_000) < 1 / (1 + np.exp(-(2 * odds + 0.5 * long - 0.25)))
    slope, allowance, intercept = script.scaled([(odds, long, true)])
    weigh = np.log((~true).sum() / true.sum())  # both kinds count alike
    assert (slope, allowance, intercept - weigh) == pytest.approx((2, 0.5, -0.25), abs=0.06)


def test_every_part_counts_alike_however_many_rows_it_has(script):
    parts = [
        (part.signals[:, 0], part.signals[:, -1], part.true)
        for part in (made_up(script), made_up(script, seed=1))
    ]
    parts = [(np.nan_to_num(odds), long, true) for odds, long, true in parts]
    more = [tuple(np.tile(column, 5) for column in parts[0]), parts[1]]
    assert script.scaled(more) == pytest.approx(script.scaled(parts), abs=1e-3)


def test_as_many_supported_rows_as_others_are_drawn(script):
    given = made_up(script)
    fewer = given.take(np.flatnonzero(given.true | (np.arange(80) < 20)))
    chosen = script.balanced(fewer)
    assert (fewer.true[chosen].sum(), len(chosen)) == (10, 20)
    assert chosen.tolist() == sorted(set(chosen.tolist()))


def test_a_signal_is_left_out_and_taken_alone(script):
    given = made_up(script)
    assert (script.without(given, "copied").signals[:, 4] == 0).all()
    assert np.isnan(given.signals[:, 4]).any()
    assert np.isfinite(script.alone(given, "copied")).all()


def test_the_report_is_told_and_weights_are_written_only_where_asked(script, folder, capsys, monkeypatch):
    place = folder / "src" / "sgi" / "data" / FILE
    place.parent.mkdir(parents=True)
    monkeypatch.setattr(script, "__file__", str(folder / "scripts" / "train_grounding.py"))
    monkeypatch.setattr(script, "EACH", 60)
    monkeypatch.setattr(script, "SETS", dict([*script.SETS.items()][:2]))
    script.main([str(folder), "--write"])
    told = capsys.readouterr().out
    assert told.count("18 supported, 6 not, 0 without a value") == 2
    assert told.count("without nearness: ") == 2
    made = GroundingModel.model_validate_json(place.read_text(encoding="utf-8"))
    assert made.trained_on == dict.fromkeys(script.SETS, 24)
    assert made.recipe == "scripts/train_grounding.py"
    monkeypatch.setattr(script, "report", list)
    place.unlink()
    script.main([str(folder)])
    assert capsys.readouterr().out == f"{made.model_dump_json(indent=2)}\n\n"
    assert not place.exists()


@pytest.mark.slow
def test_the_committed_weights_are_made_by_the_recipe(script, data_folder):
    missing = [name for name in script.SETS.values() if not (data_folder / name).is_file()]
    if missing:
        pytest.skip(f"needs {', '.join(missing)} in {data_folder}")
    sets = {name: script.read(data_folder / file) for name, file in script.SETS.items()}
    found, kept = script.learnt([*sets.values()]), grounding_model()
    for name in ("weights", "centres", "spreads"):
        assert getattr(found, name) == pytest.approx(getattr(kept.logistic, name), abs=1e-6)
    assert found.intercept == pytest.approx(kept.intercept, abs=1e-6)
    assert kept.trained_on == {name: len(one.true) for name, one in sets.items()}
