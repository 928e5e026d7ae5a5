import gzip

import numpy as np
import pytest

from sgi.kernel.sample import Sample
from sgi.metrics.grounding.grounding_model import FILE, GroundingModel, grounding_model, sigmoid
from sgi.metrics.grounding.signals import TRAINED, Signals
from sgi.stats.ranking import ranking
from support.kept_runs import rows, write_rows
from support.scripts import load_script

KINDS = len(TRAINED)
FACTS = [TRAINED.index("numbers"), TRAINED.index("names")]


@pytest.fixture(scope="module")
def script():
    with load_script("train_grounding") as module:
        yield module


@pytest.fixture
def folder(script, tmp_path):
    """Write a few labelled rows under the name of every set."""
    for number, name in enumerate(script.SETS.values(), start=1):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        write_rows(place, rows(24, answer="Item {k} has {k} old {topic}." + " It is so." * number))
        if place.suffix == ".gz":
            place.write_bytes(gzip.compress(place.read_bytes()))
    return tmp_path


def random_rows(script, n=80, seed=0, difference=1.5):
    """Return rows of one sentence each, whose supported answers have higher signals."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % 2 == 0
    measured = rng.normal(size=(n, KINDS)) + difference * true[:, None]
    measured[rng.random(measured.shape) < 0.1] = np.nan
    measured[:, FACTS] = -rng.integers(0, 2, size=(n, 2)) * ~true[:, None]
    signals = np.column_stack([measured, np.zeros((n, 2))])
    sentences = script.Sentences(signals, true)
    return script.Rows(signals, true, rng.integers(30, 90, size=n) * 1.0, np.arange(n) // 4, 0, sentences)


def test_read_skips_rows_without_a_label_or_a_value(script, tmp_path):
    samples = rows(6)
    samples[1] |= {"label": None}
    samples[2] |= {"response": "Yes."}
    signal_rows = script.read(write_rows(tmp_path / "a.jsonl", samples))
    assert signal_rows.true.tolist() == [False, True, False, True]
    assert (signal_rows.missing, signal_rows.signals.shape) == (1, (4, len(Signals._fields)))
    assert signal_rows.length.tolist() == [len(samples[index]["response"]) for index in (0, 3, 4, 5)]
    assert (signal_rows.signals[:, 0] <= 1).all()
    assert signal_rows.trained.shape == (4, KINDS)


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


def test_the_scale_recovers_slope_and_intercept(script):
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=40_000)
    true = rng.random(40_000) < 1 / (1 + np.exp(-(2 * log_odds - 0.25)))
    slope, intercept = script.fit_scale([(log_odds, true)])
    shift = np.log((~true).sum() / true.sum())  # both classes have equal weight
    assert (slope, intercept - shift) == pytest.approx((2, -0.25), abs=0.06)


def test_the_number_of_rows_does_not_change_the_weight_of_a_part(script):
    parts = [
        (np.nan_to_num(part.signals[:, 0]), part.true)
        for part in (random_rows(script), random_rows(script, seed=1))
    ]
    more = [tuple(np.tile(column, 5) for column in parts[0]), parts[1]]
    assert script.fit_scale(more) == pytest.approx(script.fit_scale(parts), abs=1e-3)


def test_few_supported_sentences_are_below_the_limits(script):
    sets = [random_rows(script, n=2_000, seed=seed, difference=0.5) for seed in (0, 1)]
    fitted = script.train(sets)
    limits = script.choose_limits(fitted, sets)
    kept = [sigmoid(fitted.log_odds(one.sentences.signals[one.true])) for one in sets]
    for limit, share in zip((limits.unsupported, limits.partly), script.FALSE_ALARMS, strict=True):
        assert np.mean([(scores < limit).mean() for scores in kept]) == pytest.approx(share, abs=2e-3)


def test_sentences_of_unsupported_answers_need_a_mark_or_be_alone(script):
    def sample(identity, label, spans=None, response="It is red. It is old."):
        metadata = {} if spans is None else {"spans": spans}
        return Sample(id=identity, response=response, contexts=["It is red."], label=label, metadata=metadata)

    samples = [
        sample("all", label=True),
        sample("marked", label=False, spans=[{"start": 12, "end": 14}]),
        sample("unknown", label=False),
        sample("alone", label=False, response="It is old."),
    ]
    result = script.sgi.evaluate(samples, "grounding")
    details = result["grounding"].details
    maps = [script.EvidenceMap.model_validate(dict(one)) for one in details]
    sentences = script.read_sentences(samples, maps)
    assert sentences.true.tolist() == [True, True, True, False, False]
    whole = {name: part.value for name, part in maps[3].signals.items() if part.value is not None}
    own = dict(zip(Signals._fields, sentences.signals[4].tolist(), strict=True))
    assert {name: own[name] for name in whole} == pytest.approx(whole, abs=1e-3)


def test_main_prints_the_report_and_writes_the_weights_only_with_write(script, folder, capsys, monkeypatch):
    path = folder / "src" / "sgi" / "data" / FILE
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(script, "__file__", str(folder / "scripts" / "train_grounding.py"))
    monkeypatch.setattr(script, "SETS", dict([*script.SETS.items()][:2]))
    script.main([str(folder), "--write"])
    output = capsys.readouterr().out
    assert output.count("18 supported, 6 not, 0 without a value") == 2
    assert output.count("; within lengths ") == 2
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
    assert script.choose_limits(trained, [*sets.values()]) == committed.sentence_limits
    assert committed.trained_on == {name: len(one.true) for name, one in sets.items()}
