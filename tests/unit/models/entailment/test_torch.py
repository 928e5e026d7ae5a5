"""Pairs classified by torch: as transformers and as the same network in ONNX form do it, and its faults."""

import json
import warnings

import numpy as np
import pytest

from sgi.kernel.errors import ModelCorruptError, ModelMissingError, NonFiniteVectorError, UsageError
from sgi.models.entailment.load_entailment import load_entailment_model
from sgi.testing.entailment import check_entailment_model
from support.entailment_models import NLI, WORDS, word_tokenizer

torch = pytest.importorskip("torch", reason="needs torch: pip install '.[torch]'")
transformers = pytest.importorskip("transformers", reason="needs transformers, of the same extra")

PAIRS = [
    ("the tower is tall", "the tower is tall"),
    ("the tower is not tall", "old"),
    ("", "paris"),
    ("paris", ""),
    ("rome is old " * 4, "paris is not in rome"),
]


INPUTS = ("input_ids", "token_type_ids", "attention_mask")


def classifier(folder, *, kind="Bert", limit=32, names=NLI, seed=3, inputs=INPUTS, **more):
    """A small network of chance weights, kept as transformers keeps one."""
    torch.manual_seed(seed)
    settings = getattr(transformers, f"{kind}Config")(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=limit,
        initializer_range=0.6,
        id2label=dict(enumerate(names)),
        label2id={name: place for place, name in enumerate(names)},
        pad_token_id=0,
        **more,
    )
    model = getattr(transformers, f"{kind}ForSequenceClassification")(settings).eval()
    model.save_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_tokenizer(),
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        model_max_length=limit,
        model_input_names=inputs,
    )
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def by_transformers(model, tokenizer, pairs):
    values = []
    for premise, hypothesis in pairs:
        with torch.inference_mode():
            logits = model(**tokenizer([premise], [hypothesis], return_tensors="pt")).logits
        values.append(torch.softmax(logits.double(), dim=-1)[0].numpy())
    return np.array(values)


@pytest.mark.parametrize("names", [NLI, ("entailment", "not_entailment")])
@pytest.mark.parametrize("inputs", [INPUTS, INPUTS[::2]])
def test_it_says_what_transformers_says(tmp_path, names, inputs):
    model, tokenizer = classifier(tmp_path / "nli", names=names, inputs=inputs)
    ours = load_entailment_model(tmp_path / "nli")
    known = by_transformers(model, tokenizer, PAIRS)
    follows, against, windows = ours.entail(PAIRS)
    assert follows == pytest.approx(known[:, names.index("entailment")], abs=1e-5)
    assert np.ptp(follows) > 0.01
    if names == NLI:
        assert against == pytest.approx(known[:, 0], abs=1e-5)
    else:
        assert np.isnan(against).all()
    assert windows.tolist() == [1] * len(PAIRS)
    assert ours.fingerprint.startswith("entailment:torch:nli@")


@pytest.mark.parametrize("kind", ["DistilBert", "DebertaV2", "Roberta"])
@pytest.mark.parametrize("inputs", [INPUTS, INPUTS[::2]])
def test_networks_that_know_no_types(tmp_path, kind, inputs):
    fewer = {"DebertaV2": {"type_vocab_size": 0}, "Roberta": {"type_vocab_size": 1}}.get(kind, {})
    model, tokenizer = classifier(tmp_path / "plain", kind=kind, inputs=inputs, **fewer)
    tokenizer.model_input_names = list(INPUTS[::2])
    known = by_transformers(model, tokenizer, PAIRS)[:, 1]
    assert load_entailment_model(tmp_path / "plain").entail(PAIRS).entailment == pytest.approx(
        known, abs=1e-5
    )


def test_places_that_count_from_the_padding_token(tmp_path):
    classifier(tmp_path / "nli", kind="Roberta", limit=20)
    model = load_entailment_model(tmp_path / "nli")
    long = (" ".join(WORDS[4:] * 4), "paris is old")
    assert ",19tok," in model.fingerprint  # the first of 20 places is the padding token's
    assert model.entail([long]).windows.tolist() == [5]


def test_the_best_of_windows(tmp_path):
    model, tokenizer = classifier(tmp_path / "nli", limit=12)
    premise, hypothesis = " ".join(WORDS[4:] * 3), "paris is old"
    words = premise.split()
    starts = [*range(0, len(words) - 6, 3), len(words) - 6]
    known = by_transformers(
        model, tokenizer, [(" ".join(words[start : start + 6]), hypothesis) for start in starts]
    )
    follows, _, windows = load_entailment_model(tmp_path / "nli").entail([(premise, hypothesis)])
    assert windows.tolist() == [len(starts)]
    assert follows[0] == pytest.approx(known[:, 1].max(), abs=1e-5)


class Logits(torch.nn.Module):
    """What is exported: the logits alone, by names that a graph on the hub has."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).logits


def test_onnx_and_torch_agree(tmp_path):
    model, _ = classifier(tmp_path / "nli", attn_implementation="eager")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.ones((2, 7), dtype=torch.int64)
    torch_model = load_entailment_model(f"torch:{tmp_path / 'nli'}")
    (tmp_path / "nli" / "onnx").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about its own exporter
        torch.onnx.export(
            Logits(model).eval(),
            (ids,) * 3,
            str(tmp_path / "nli" / "onnx" / "model.onnx"),
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "n", 1: "length"} for name in names},
            dynamo=False,
        )
    onnx_model = load_entailment_model(tmp_path / "nli")
    assert not onnx_model.fingerprint.startswith("entailment:torch:")
    pairs = [*PAIRS, ("the tower is not in rome " * 12, "the tower is tall")]
    ours, theirs = onnx_model.entail(pairs), torch_model.entail(pairs)
    assert ours.entailment == pytest.approx(theirs.entailment, abs=1e-5)
    assert ours.contradiction == pytest.approx(theirs.contradiction, abs=1e-5)
    assert ours.windows.tolist() == theirs.windows.tolist() == [1] * len(PAIRS) + [5]
    check_entailment_model(onnx_model)


def test_a_network_without_a_trained_head_is_no_classifier(tmp_path):
    model, _ = classifier(tmp_path / "nli")
    model.bert.save_pretrained(tmp_path / "nli")
    settings = json.loads((tmp_path / "nli" / "config.json").read_text())
    with pytest.raises(UsageError, match="BertModel"):
        load_entailment_model(tmp_path / "nli")
    settings["architectures"] = ["BertForSequenceClassification"]
    (tmp_path / "nli" / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ModelCorruptError, match=r"classifier\.bias"):
        load_entailment_model(tmp_path / "nli").entail(PAIRS)


def test_spoilt_weights_give_no_number(tmp_path):
    model, _ = classifier(tmp_path / "nli")
    with torch.no_grad():
        model.classifier.bias[0] = float("nan")
    model.save_pretrained(tmp_path / "nli")
    with pytest.raises(NonFiniteVectorError, match="5 of 5 pairs"):
        load_entailment_model(tmp_path / "nli").entail(PAIRS)


def test_files_that_are_no_model(tmp_path):
    classifier(tmp_path / "nli")
    (tmp_path / "nli" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelCorruptError, match="nli"):
        load_entailment_model(tmp_path / "nli").entail(PAIRS)
    (tmp_path / "nli" / "model.safetensors").unlink()
    with pytest.raises(ModelMissingError, match="nli"):
        load_entailment_model(f"torch:{tmp_path / 'nli'}").entail(PAIRS)


def test_the_fingerprint_tells_weights_and_labels(tmp_path):
    prints = set()
    for name, how in {"a": {}, "b": {"seed": 4}, "c": {"names": NLI[::-1]}, "d": {"limit": 40}}.items():
        classifier(tmp_path / name / "nli", **how)
        prints.add(load_entailment_model(tmp_path / name / "nli").fingerprint)
    classifier(tmp_path / "e" / "nli")
    again = load_entailment_model(tmp_path / "e" / "nli").fingerprint
    assert len(prints) == 4
    assert again in prints
