from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi import evaluate
from sgi.engine.calibration_file import read_calibration
from sgi.engine.calibration_parts import Target
from sgi.engine.open_resources import read_options
from sgi.engine.resources import Resources
from sgi.engine.run_options import RunOptions
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.judged_metric import prompts_digest
from sgi.kernel.registry import metric
from sgi.stats.conformal import FLAGS_NOTHING, LengthThresholds
from sgi.testing import HashEmbedder, ScriptedJudge
from sgi.testing.judging import typical_judge
from support.calibration_files import EMBEDDER, MAP, RATE, calibration_file, file_content, thresholds_content

BINS = thresholds_content()["bins"]
REFERENCE = file_content()["reference"]


def with_thresholds(**changes):
    return file_content(thresholds=thresholds_content(**changes))


def written(path, values):
    path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
    return path


def check(calibration, resources):
    calibration.check(resources.provenance(calibration.inner()))


def test_what_is_written_reads_back(tmp_path):
    made = calibration_file()
    again = read_calibration(written(tmp_path / "c.json", made.to_json()))
    assert again == made
    assert again.digest == made.digest
    assert again.to_json() == made.to_json()
    assert read_calibration(str(tmp_path / "c.json")) == made
    assert read_calibration(made) is made


def test_what_is_applied_is_on_the_scale_of_better_values():
    made = calibration_file().fitted()
    assert made.thresholds == LengthThresholds((20.0, 50.0), (0.9, FLAGS_NOTHING, 1.1), (40, 40, 40))
    lower = calibration_file(higher_is_better=False).fitted()
    assert lower.thresholds.thresholds == (-0.9, FLAGS_NOTHING, -1.1)
    assert lower.digest != made.digest


@pytest.mark.parametrize(
    "change",
    [
        {"run": "another"},
        {"thresholds": None},
        {"thresholds": thresholds_content(threshold=None)},
        {"map": MAP | {"slope": 3.0000000000000004}},
        {"log_odds": True},
        {"map": {"map": "isotonic", "scores": [0.0], "probabilities": [0.5]}},
        {"thresholds": thresholds_content(target={"rate": "fpr", "value": 0.1})},
    ],
)
def test_any_difference_makes_another_digest(change):
    assert calibration_file(**change).digest != calibration_file().digest


def test_the_metric_and_what_is_made_of_it():
    made = calibration_file()
    inner, outer = made.metrics()
    assert inner == metric("sgi")
    assert outer.canonical == f'calibrated(metric="sgi", calibration="{made.digest}")'
    assert outer.calibration == made.fitted()


def test_a_run_keeps_the_content_and_finds_it_again(tmp_path):
    path = written(tmp_path / "c.json", calibration_file().to_json())
    spec = RunOptions.of({"data": "rows.jsonl", "metrics": "rouge_l", "calibration": path})
    path.unlink()
    metrics = (*map(metric, spec.metrics), *spec.extra_metrics(None))
    resolved = spec.with_metrics(metrics)
    assert resolved.metrics == ("rouge_l", "sgi")
    stored = json.loads(json.dumps(resolved.to_dict()))
    again = RunOptions.of(stored)
    assert again == resolved
    assert again.extra_metrics(None) == spec.extra_metrics(None)
    assert again.identity(metrics) == spec.identity(metrics)
    other = RunOptions.of({"data": "rows.jsonl", "calibration": calibration_file(run="another")})
    assert other.identity((metric("sgi"), *other.extra_metrics(None))) != again.identity(
        (metric("sgi"), *again.extra_metrics(None))
    )


def test_a_toml_file_names_it_from_its_own_folder(tmp_path):
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep" / "c.json", calibration_file().to_json())
    file = written(tmp_path / "deep" / "run.toml", 'data = "a.jsonl"\ncalibration = "c.json"\n')
    assert RunOptions.of(read_options(file)).calibration.metric == "sgi"


def test_no_calibration_scores_nothing_beside():
    spec = RunOptions.of({"data": "rows.jsonl"})
    assert spec.extra_metrics(None) == ()
    assert "calibration" not in spec.to_dict()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is not a calibration"),
        (file_content(format=1), "the file has format 1; this version reads format 2"),
        (file_content(metric=3), "metric: "),
        (with_thresholds(bins=BINS[1:]), "the length ranges of the bins have gaps"),
        (with_thresholds(bins=BINS[:1] + BINS[2:]), "the length ranges of the bins have gaps"),
        (file_content(reference=REFERENCE | {"scores": [1.0, 0.8, 1.2]}), "not finite and ascending"),
        (file_content(reference=REFERENCE | {"lengths": [1]}), "the number of reference lengths differs"),
        (file_content(reference=REFERENCE | {"scores": [1.0] * 1001}), "reference.scores: "),
        (file_content(map={"map": "spline"}), "map: expected a logistic or isotonic map"),
        (file_content(map="logistic"), "map: expected an object"),
        (
            file_content(map={"map": "isotonic", "scores": [2, 1], "probabilities": [0, 1]}),
            "increasing scores",
        ),
        (file_content(map=MAP | {"slope": "steep"}), "a list of numbers"),
        (file_content(map=MAP | {"slope": -1.0}), "a slope and variances of 0 or more"),
        (file_content(map=MAP | {"spread": 0.0}), "a spread above 0"),
        (with_thresholds(threshold=math.nan), "is not JSON"),
        (with_thresholds(recall=RATE | {"interval": RATE["interval"] | {"high": 1.2}}), "not within"),
        (with_thresholds(recall=RATE | {"value": 1.5}), "recall.value: "),
        (with_thresholds(target={"rate": "fpr", "value": 1.0}), "target.value: "),
        (with_thresholds(target={"rate": "tpr", "value": 0.5}), "target.rate: "),
        (with_thresholds(target={"rate": "fpr", "value": 0.5, "among": "all rows"}), "target.among: "),
        (file_content(further="x"), "further: "),
    ],
)
def test_what_is_no_calibration_is_told_with_its_place(tmp_path, values, words):
    path = written(tmp_path / "c.json", values)
    with pytest.raises(UsageError) as caught:
        read_calibration(path)
    assert str(caught.value).startswith(str(path))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("higher_is_better", False),
        ("metric", "sgi_of_another"),
        ("version", 9),
        ("thresholds", thresholds_content(target={"rate": "fpr", "value": 0.001})),
        ("map", MAP | {"slope": 1e300}),
        ("log_odds", True),
        ("digest", "00000000"),
        ("digest", None),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path, key, value):
    values = json.loads(calibration_file().to_json())
    assert values[key] != value
    path = written(tmp_path / "c.json", values | {key: value})
    with pytest.raises(UsageError) as caught:
        read_calibration(path)
    assert str(caught.value).startswith(str(path))
    assert "Fit a new calibration" in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_file_of_another_layout_is_the_same_file(tmp_path):
    values = json.loads(calibration_file().to_json())
    backwards = json.dumps({key: values[key] for key in reversed(values)})
    assert read_calibration(written(tmp_path / "c.json", backwards)) == calibration_file()


def test_the_other_direction_is_refused():
    with pytest.raises(UsageError):
        calibration_file(higher_is_better=False).metrics()


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(UsageError):
        read_calibration(tmp_path / "none.json")
    with pytest.raises(UsageError):
        read_calibration(tmp_path)
    (tmp_path / "c.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UsageError, match="is not UTF-8"):
        read_calibration(tmp_path / "c.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_a_spoilt_file_is_refused(data):
    values = json.loads(calibration_file().to_json())
    spot, place = values, []
    while isinstance(spot, (dict, list)) and spot and (not place or data.draw(st.booleans())):
        key = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
        place.append((spot, key))
        spot = spot[key]
    holder, key = place[-1]
    holder[key] = data.draw(json_values)
    try:
        made = read_calibration(values)
    except UsageError:
        return
    assert made == calibration_file()  # what was drawn is what stood there, or means the same


@given(json_values)
def test_any_json_is_refused_in_words(value):
    with pytest.raises(UsageError, match="calibration"):
        read_calibration(
            {"format": 2, "metric": value} if not isinstance(value, (str, dict)) else {"x": value}
        )


def test_another_encoder_is_refused_and_both_are_named():
    made = calibration_file()
    check(made, Resources({"hash": EMBEDDER}))
    other = HashEmbedder(48, "hash")
    with pytest.raises(UsageError) as caught:
        check(made, Resources({"hash": other}))
    assert EMBEDDER.fingerprint in str(caught.value)
    assert other.fingerprint in str(caught.value)
    assert "Fit a new calibration" in str(caught.value)


def test_the_encoder_that_counts_is_the_one_the_metric_uses():
    further = HashEmbedder(48, "other")
    made = calibration_file()
    check(made, Resources({"hash": EMBEDDER, "other": further}))
    with pytest.raises(UsageError, match="another encoder"):
        check(made, Resources({"other": further, "hash": EMBEDDER}))


def test_a_metric_without_vectors_minds_no_encoder():
    check(calibration_file(metric="rouge_l", version=2, encoders=[]), Resources({"hash": EMBEDDER}))


def test_another_judge_or_other_prompts_are_refused():
    judged = {"metric": "faithfulness", "version": 2, "encoders": [], "judge": "scripted"}
    prompts = prompts_digest([metric("faithfulness")])
    made = calibration_file(**judged, prompts=prompts)
    check(made, Resources(judge=ScriptedJudge({})))
    with pytest.raises(UsageError):
        check(made, Resources(judge=replace(ScriptedJudge({}), fingerprint="another")))
    with pytest.raises(UsageError, match=f"another set of prompts: 0000; this run has {prompts}"):
        check(calibration_file(**judged, prompts="0000"), Resources(judge=ScriptedJudge({})))


def test_a_judged_metric_without_a_judge_is_refused():
    """Whoever has no judge makes no scores of this kind, whatever the file says of its own."""
    prompts = prompts_digest([metric("faithfulness")])
    for judge, message in (("scripted", "scripted; this run has none"), (None, "none; this run has none")):
        values = file_content(metric="faithfulness", version=2, encoders=[], judge=judge, prompts=prompts)
        with pytest.raises(UsageError, match=f"another judge: {message}"):
            check(calibration_file(**values), Resources())


@pytest.mark.parametrize(
    ("claim", "words"), [({"judge": "scripted"}, "another judge"), ({"prompts": "0000"}, "set of prompts")]
)
def test_a_metric_that_asks_nobody_was_not_fitted_on_answers_of_a_judge(claim, words):
    with pytest.raises(UsageError, match=words):
        check(calibration_file(**claim), Resources({"hash": EMBEDDER}, judge=ScriptedJudge({})))


def test_a_judged_metric_is_asked_for_and_read_through_its_calibration():
    judge = typical_judge()
    asks = prompts_digest([metric("faithfulness")])
    values = file_content(
        metric="faithfulness", version=2, encoders=[], judge=judge.fingerprint, prompts=asks
    )
    rows = [{"question": "Who?", "contexts": ["Anke did."], "response": "Anke."}, {"response": "Ida."}]
    fitted = calibration_file(**values)
    made = evaluate(rows, calibration=fitted, metrics="faithfulness", judge=judge)
    inner, outer = made.values()
    judged, calibrated = fitted.metrics()
    assert calibrated.spec.needs == judged.spec.needs
    assert inner.status.tolist() == outer.status.tolist() == ["ok", "missing"]
    assert inner.reasons == outer.reasons
    assert outer.details[0]["score"] == inner.values[0]
    assert outer.values[0] == pytest.approx(1 / (1 + math.exp(3 - 3 * inner.values[0])))
    with pytest.raises(UsageError, match="another judge"):
        evaluate(
            rows,
            "faithfulness",
            judge=replace(judge, fingerprint="another"),
            calibration=calibration_file(**values),
        )


def test_another_version_of_the_metric_is_refused():
    installed = metric("sgi").spec.version
    words = rf"is for version 9 of sgi; installed is version {installed}\. Fit a new"
    with pytest.raises(UsageError, match=words):
        calibration_file(version=9).metrics()


def test_a_metric_that_is_not_here_is_told():
    with pytest.raises(UnknownNameError, match="semantic_grounding"):
        calibration_file(metric="semantic_grounding").inner()


@pytest.mark.parametrize(("text", "value"), [("fpr=0.05", 0.05), (" fpr = 1e-3", 0.001), ("fpr=.5", 0.5)])
def test_a_target_is_read(text, value):
    assert Target.of(text) == Target(rate="fpr", value=value)


@pytest.mark.parametrize(
    "text", ["", "0.05", "fpr", "fpr=", "fpr=5%", "fpr=0", "fpr=1", "fpr=nan", "recall=0.9"]
)
def test_a_target_that_cannot_be_read_says_how_to_write_it(text):
    with pytest.raises(UsageError, match=r"Write fpr=0\.05"):
        Target.of(text)
