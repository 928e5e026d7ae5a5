"""Every profile with a small model of its architecture and outputs, run by ONNX Runtime and by torch."""

import json

import numpy as np
import onnxruntime
import pytest

from sgi.kernel.entailment_profile import entailment_profiles
from sgi.kernel.errors import (
    EmbedderError,
    ModelCorruptError,
    ModelMissingError,
    NonFiniteVectorError,
    UsageError,
)
from sgi.models.entailment.load_entailment import load_entailment_model
from sgi.models.entailment.pairs import PairTokenizer
from sgi.testing.entailment import check_entailment_model
from support.entailment_models import NLI, attending_graph, counting_model, expected, template_tokenizer

PROFILES = entailment_profiles()
PAIRS = [("the tower is tall", "the tower is tall"), ("the tower is old", "it is not in rome"), ("", "paris")]
CLASSIFIERS = [name for name, one in PROFILES.items() if not one.answer_tokens]
COLUMNS = {"contradiction": 0, "entailment": 1, "neutral": 2, "not entailment": 2}
pytestmark = pytest.mark.usefixtures("own_models")


def graph_of(profile, models, *, labels=None, **options):
    """Make the graph that compares words, with the outputs of a profile, in the user's folder of models."""
    columns = tuple(COLUMNS[label] for label in profile.labels)
    names = labels or tuple(f"LABEL_{place}" for place in range(len(columns)))
    return counting_model(models / profile.model, columns=columns, labels=names, limit=512, **options)


def template_graph(profile, models, **configuration):
    """Make a graph with random weights, two outputs and the tokenizer of a profile's template."""
    folder = attending_graph(models / profile.model, outputs=2, limit=512, **configuration)
    tokenizer = template_tokenizer(byte_level="roberta" in profile.name)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder, tokenizer


def filled(profile, premise, hypothesis):
    return profile.template.replace("{premise}", premise).replace("{hypothesis}", hypothesis)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if not PROFILES[name].template])
def test_outputs_mean_what_the_profile_says(name, own_models):
    profile = PROFILES[name]
    graph_of(profile, own_models)
    model = load_entailment_model(name)
    follows, against, _ = model.entail(PAIRS)
    for place, pair in enumerate(PAIRS):
        entailed, contradicted = expected(*pair)
        if profile.has_contradiction:
            assert (follows[place], against[place]) == pytest.approx((entailed, contradicted))
        else:
            neutral = 1 - entailed - contradicted
            assert follows[place] == pytest.approx(entailed / (entailed + neutral))
            assert np.isnan(against[place])
    assert model.fingerprint.endswith(f",fp32,{profile.code}")
    assert f",{profile.limit}tok," in model.fingerprint
    check_entailment_model(model)


TEMPLATES = [name for name in CLASSIFIERS if PROFILES[name].template]
TEXTS = [("The tower is tall.", "It is old."), ("Rome is old and tall", "Rome"), ("a", "b c d")]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_read_as_one_text(name, own_models):
    profile = PROFILES[name]
    folder, tokenizer = template_graph(profile, own_models)
    model = load_entailment_model(name)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    follows, against, windows = model.entail(TEXTS)
    for place, pair in enumerate(TEXTS):
        ids = np.array([tokenizer.encode(filled(profile, *pair)).ids])
        (logits,) = session.run(None, {"input_ids": ids})
        assert follows[place] == pytest.approx(1 / (1 + np.exp(logits[0, 0] - logits[0, 1])), abs=1e-6)
    assert np.ptp(follows) > 0
    assert np.isnan(against).all()
    assert windows.tolist() == [1] * len(TEXTS)


@pytest.mark.parametrize("name", TEMPLATES)
def test_special_tokens_in_a_text_do_not_end_the_premise(name, own_models):
    profile = PROFILES[name]
    _, tokenizer = template_graph(profile, own_models)
    pairs = PairTokenizer(tokenizer, 512, template=profile.template)
    premise, hypothesis = pairs.token_ids(["It rains.</s>Yes.", "<pad> No"])
    (window,) = pairs.windows(premise, hypothesis)
    frame = [*pairs.frame.before.ids, *pairs.frame.between.ids, *pairs.frame.after.ids]
    for special in (1, 2):
        assert window.ids.tolist().count(special) == frame.count(special)


def test_a_long_premise_is_read_in_windows_of_the_template(own_models):
    template_graph(PROFILES["minicheck-roberta-large"], own_models)
    model = load_entailment_model("minicheck-roberta")
    assert model.entail([("the tower is tall. " * 60, "it is old")]).windows[0] > 1
    assert model.readable(["x" * 400, "x" * 100]).tolist() == [False, True]


def test_a_tokenizer_that_joins_text_and_template_is_refused(own_models):
    tokenizer = template_tokenizer(byte_level=True)
    with pytest.raises(ModelCorruptError, match="template"):
        PairTokenizer(template_tokenizer(byte_level=False), 512, template="x{premise}</s>{hypothesis}")
    assert PairTokenizer(tokenizer, 512, template="x{premise}</s>{hypothesis}").frame.size == 4


@pytest.mark.parametrize("name", [name for name, one in PROFILES.items() if one.runs == "own files"])
def test_a_model_whose_files_must_be_prepared_says_how(name, own_models):
    with pytest.raises(ModelMissingError) as caught:
        load_entailment_model(name)
    assert PROFILES[name].needs in str(caught.value)
    assert str(own_models / PROFILES[name].model) in caught.value.hint


@pytest.mark.parametrize("name", ["hhem", "vectara/hallucination_evaluation_model"])
def test_code_of_a_model_is_never_run(name, own_models):
    profile = PROFILES["hhem-2.1-open"]
    folder, _ = template_graph(profile, own_models, model_type="HHEMv2", auto_map={"AutoModel": "x.Y"})
    assert load_entailment_model(name).entail(TEXTS).entailment.shape == (3,)
    (folder / "model.onnx").unlink()
    (folder / "model.safetensors").touch()
    for prefix in ("", "torch:"):
        with pytest.raises(UsageError, match="own code"):
            load_entailment_model(f"{prefix}{name}")


def test_a_configuration_that_contradicts_the_profile_is_refused(own_models):
    profile = PROFILES["nli-deberta-v3-small"]
    folder = graph_of(profile, own_models, labels=("entailment", "neutral", "contradiction"))
    with pytest.raises(UsageError, match=r"entailment, neutral, contradiction.*nli-deberta-v3-small"):
        load_entailment_model("deberta-small")
    named = load_entailment_model("deberta-small(labels=contradiction,entailment,neutral)")
    assert named.entail(PAIRS).entailment[0] > 0.9
    changed = json.loads((folder / "config.json").read_text()) | {
        "id2label": {"0": "a", "1": "b"},
        "label2id": {},
    }
    (folder / "config.json").write_text(json.dumps(changed))
    with pytest.raises(UsageError, match=r"2 outputs.* 3 names"):
        load_entailment_model("deberta-small")


def test_a_graph_with_other_outputs_than_its_configuration_is_refused(own_models):
    counting_model(own_models / PROFILES["nli-deberta-v3-small"].model, columns=(0, 1), labels=NLI, limit=512)
    model = load_entailment_model("deberta-small")
    with pytest.raises(ModelCorruptError, match=r"\[1, 3\].*\[1, 2\]"):
        model.entail(PAIRS[:1])


def test_outputs_without_a_number_never_make_a_probability(own_models):
    graph_of(PROFILES["alignscore-base"], own_models, steep=float("nan"))
    with pytest.raises(NonFiniteVectorError):
        load_entailment_model("alignscore").entail(PAIRS)


def test_a_huge_premise_is_read_and_a_huge_hypothesis_refused(own_models):
    graph_of(PROFILES["nli-deberta-v3-xsmall"], own_models)
    model = load_entailment_model("nli-deberta-v3-xsmall")
    huge = "rain " * 20_000
    scores = model.entail([(f"{huge} the tower is tall {huge}", "the tower is tall")])
    assert scores.entailment[0] > 0.9
    assert scores.windows[0] > 100
    with pytest.raises(EmbedderError, match="deberta-v3-xsmall"):
        model.entail([("rome " * 600, huge)])


def test_an_own_profile_runs_its_folder(tmp_path):
    counting_model(tmp_path / "weights", columns=(1, 2), labels=("LABEL_0", "LABEL_1"))
    path = tmp_path / "mine.toml"
    path.write_text(
        "model = 'weights'\nlabels = ['entailment', 'not entailment']\nlimit = 20\nweight = 0.7\n"
    )
    model = load_entailment_model(str(path))
    assert model.entail(PAIRS).entailment[0] > 0.9
    assert model.fingerprint.startswith("entailment:weights@")
    assert model.fingerprint.endswith(",20tok,softmax2-e0,fp32,w0.7-p3")
    before = model.identity
    path.write_text(path.read_text().replace("0.7", "0.8"))
    assert load_entailment_model(str(path)).identity != before
