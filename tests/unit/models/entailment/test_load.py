"""From names to entailment models: folders, the user's models, the hub's cache; what is refused, and why."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from sgi.kernel.errors import (
    MissingExtraError,
    ModelCorruptError,
    ModelMissingError,
    UnknownNameError,
    UsageError,
)
from sgi.models.entailment.load_entailment import EntailmentSettings, load_entailment_model
from support.entailment_models import counting_model

PAIR = [("the tower is tall", "the tower is tall")]
pytestmark = pytest.mark.usefixtures("own_models")


@pytest.fixture
def folder(tmp_path):
    return counting_model(tmp_path / "a-model")


def settings(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def test_a_folder(folder):
    for name in (folder, str(folder)):
        model = load_entailment_model(name)
        assert model.entail(PAIR).entailment[0] > 0.9
        assert model.fingerprint.startswith("entailment:a-model@")


def test_the_graph_may_lie_at_the_top(folder):
    (folder / "onnx" / "model.onnx").rename(folder / "model.onnx")
    assert load_entailment_model(folder).entail(PAIR).entailment[0] > 0.9


def test_one_of_the_users_models(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "models" / "owner" / "model")
    model = load_entailment_model("owner/model")
    assert model.entail(PAIR).entailment[0] > 0.9
    assert model.fingerprint.startswith("entailment:owner/model@")


@pytest.mark.parametrize("further", [(), ("tokenizer_config.json",)])
def test_one_that_was_fetched_from_the_hub_before(folder, tmp_path, further):
    stored = tmp_path / "hub" / "models--owner--model"
    (stored / "refs").mkdir(parents=True)
    (stored / "refs" / "main").write_text("0" * 40)
    absent = stored / ".no_exist" / ("0" * 40)  # as the hub's own client notes what it was told is not there
    (absent / "onnx").mkdir(parents=True)
    for name in (
        "tokenizer_config.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "onnx/model.onnx_data",
    ):
        if name not in further:
            (absent / name).touch()
    shutil.copytree(folder, stored / "snapshots" / ("0" * 40))
    for name in further:
        (stored / "snapshots" / ("0" * 40) / name).write_text('{"model_max_length": 20}')
    model = load_entailment_model("owner/model")
    assert model.entail(PAIR).entailment[0] > 0.9
    assert f",{20 if further else 32}tok," in model.fingerprint


def test_one_that_is_nowhere():
    with pytest.raises(ModelMissingError, match=r"config\.json.*owner/model") as caught:
        load_entailment_model("owner/model")
    assert "https://huggingface.co/owner/model" in caught.value.hint
    assert "models/owner/model" in caught.value.hint


def test_the_hub_extra_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"\[hub\]"):
        load_entailment_model("owner/model")


@pytest.mark.parametrize(
    "name", ["", "minilm", "a/b/c", "a b/c", "openai:gpt", "x/..\x00", "(labels=a)", "x" * 300]
)
def test_names_of_nothing(name):
    with pytest.raises(UnknownNameError) as caught:
        load_entailment_model(name)
    assert caught.value.kind == "entailment model"


@pytest.mark.parametrize(
    "name",
    ["/no/such/folder", "./none", "~/no-such-folder-here", "../x/y", "~no-such-user/x", "/" + "x" * 300],
)
def test_folders_that_are_not_there(name):
    with pytest.raises(ModelMissingError, match=re.escape(Path(name).name[:80])):
        load_entailment_model(name)


def test_a_folder_without_graph_or_weights(folder):
    shutil.rmtree(folder / "onnx")
    with pytest.raises(ModelMissingError, match=r"a-model.*ONNX"):
        load_entailment_model(folder)


def test_torch_takes_no_graphs_place_for_want_of_a_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "model.safetensors").touch()
    with pytest.raises(ModelMissingError, match=r"a-model.*tokenizer"):
        load_entailment_model(folder)


@pytest.mark.parametrize("content", [b"{", b"\xff", b""])
def test_settings_that_cannot_be_read(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ModelCorruptError, match=r"config\.json"):
        load_entailment_model(folder)


def test_labels_by_argument_and_by_name(folder):
    settings(folder, id2label={"0": "A", "1": "B", "2": "C"}, label2id={})
    with pytest.raises(UsageError, match="'A', 'B', 'C'"):
        load_entailment_model(folder)
    named = load_entailment_model(f"{folder}(labels=contradiction,entailment,neutral)")
    by_argument = load_entailment_model(folder, labels=("contradiction", "entailment", "neutral"))
    assert named.fingerprint == by_argument.fingerprint
    with pytest.raises(UsageError, match="`labels`"):
        load_entailment_model(f"{folder}(labels=a,b,c)", labels=("a",))


def test_threads_must_be_positive(folder):
    with pytest.raises(UsageError, match=r"`threads`.* 0"):
        load_entailment_model(folder, threads=0)


@pytest.mark.parametrize("prefix", ["torch:", ""])
def test_torch_is_an_extra(folder, monkeypatch, prefix):
    monkeypatch.setitem(sys.modules, "transformers", None)
    if not prefix:
        shutil.rmtree(folder / "onnx")
        (folder / "model.safetensors").touch()
    model = load_entailment_model(f"{prefix}{folder}")
    with pytest.raises(MissingExtraError, match=r"\[torch\]"):
        model.entail(PAIR)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"auto_map": {"AutoModelForSequenceClassification": "modeling.Own"}}, "own code"),
        ({"architectures": ["T5ForConditionalGeneration"]}, "T5ForConditionalGeneration"),
        ({"architectures": ["BertModel"]}, "BertModel"),
    ],
)
def test_what_torch_cannot_run_from_its_files(folder, changes, words):
    settings(folder, **changes)
    with pytest.raises(UsageError, match=words) as caught:
        load_entailment_model(f"torch:{folder}")
    assert "Export it to ONNX" in caught.value.hint
    assert load_entailment_model(folder).entail(PAIR).entailment[0] > 0.9  # of a graph nothing else is needed


def test_a_model_with_a_prompt_of_its_own_is_refused(folder):
    settings(folder, model_type="HHEMv2")
    with pytest.raises(UsageError, match="a-model"):
        load_entailment_model(folder)


@pytest.mark.parametrize(
    ("changes", "files", "limit"),
    [
        ({"max_position_embeddings": None}, {}, 512),
        ({"max_position_embeddings": -1}, {"tokenizer_config.json": {"model_max_length": 10**30}}, 512),
        ({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}, {}, 512),
        ({"max_position_embeddings": 512}, {"tokenizer_config.json": {"model_max_length": 384}}, 384),
        ({"max_position_embeddings": 512}, {"sentence_bert_config.json": {"max_seq_length": 256}}, 256),
        ({"max_position_embeddings": 512}, {"tokenizer_config.json": {"model_max_length": "many"}}, 512),
    ],
)
def test_the_limit_is_the_least_that_is_told(folder, changes, files, limit):
    settings(folder, **changes)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    assert EntailmentSettings("a-model", folder).limit == limit
    assert f",{limit}tok," in load_entailment_model(folder).fingerprint


def test_sentence_transformers_may_tell_of_its_activation_apart(folder):
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"activation_fn": "torch.nn.modules.activation.Sigmoid"})
    )
    assert ",sigmoid3-e1-c0," in load_entailment_model(folder).fingerprint


def test_types_are_left_out_where_the_tokenizer_lists_its_inputs_without(folder):
    typed = load_entailment_model(folder)
    (folder / "tokenizer_config.json").write_text('{"model_input_names": ["input_ids", "attention_mask"]}')
    untyped = load_entailment_model(folder)
    assert typed.entail(PAIR).entailment[0] > 0.9
    assert untyped.entail(PAIR).entailment[0] < 0.1  # the graph sees no hypothesis
    assert typed.fingerprint != untyped.fingerprint
