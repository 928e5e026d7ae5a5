"""Profiles run by torch: the architecture of each published model, with few random weights."""

import json

import numpy as np
import pytest

from sgi.kernel.entailment_profile import entailment_profiles
from sgi.kernel.errors import ModelCorruptError, ModelMissingError, UsageError
from sgi.models.entailment.load_entailment import load_entailment_model
from sgi.testing.entailment import check_entailment_model
from support.entailment_models import template_tokenizer, with_pairs, word_tokenizer

torch = pytest.importorskip("torch", reason="needs torch: pip install '.[torch]'")
transformers = pytest.importorskip("transformers", reason="needs transformers, of the same extra")

PROFILES = entailment_profiles()
KINDS = {"nli-deberta": "DebertaV2", "deberta-v3": "DebertaV2", "minicheck-deberta": "DebertaV2"} | {
    "minicheck-roberta": "Roberta",
    "alignscore": "Roberta",
    "minicheck-flan": "T5",
}
RUNNING = {name: kind for name in PROFILES for start, kind in KINDS.items() if name.startswith(start)}
PAIRS = [("the tower is tall", "the tower is old"), ("Rome is old and tall", "not in Rome"), ("a", "paris")]
pytestmark = pytest.mark.usefixtures("own_models")


def tokenizer_of(profile):
    if profile.template:
        return template_tokenizer(byte_level="roberta" in profile.name)
    return with_pairs(word_tokenizer(), 2, 3)


def model_of(name, models, *, outputs=None):
    """Save a small model of the profile's architecture in the user's folder of models."""
    profile, kind = PROFILES[name], RUNNING[name]
    torch.manual_seed(4)
    count = outputs or len(profile.labels)
    if kind == "T5":
        settings = transformers.T5Config(
            vocab_size=300, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=1
        )
        network = transformers.T5ForConditionalGeneration(settings)
    else:
        settings = getattr(transformers, f"{kind}Config")(
            vocab_size=300,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=514,
            type_vocab_size=0 if kind == "DebertaV2" else 1,
            initializer_range=0.2,
            id2label={place: str(place) for place in range(count)},
            label2id={str(place): place for place in range(count)},
            pad_token_id=0 if kind == "DebertaV2" else 1,
        )
        network = getattr(transformers, f"{kind}ForSequenceClassification")(settings)
    folder = models / profile.model
    network.eval().save_pretrained(folder)
    tokenizer = tokenizer_of(profile)
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"]
    )
    wrapped.save_pretrained(folder)
    return network, tokenizer


def expected_entailment(profile, network, tokenizer, premise, hypothesis):
    """The probability that transformers gives for the input that the model's authors describe."""
    if profile.template:
        text = profile.template.replace("{premise}", premise).replace("{hypothesis}", hypothesis)
        ids = tokenizer.encode(text).ids
    else:
        ids = tokenizer.encode(premise, hypothesis).ids
    inputs = torch.tensor([ids])
    with torch.inference_mode():
        if profile.answer_tokens:
            start = torch.tensor([[network.config.decoder_start_token_id]])
            logits = network(input_ids=inputs, decoder_input_ids=start).logits[0, 0][[*profile.answer_tokens]]
        else:
            logits = network(input_ids=inputs).logits[0]
    return torch.softmax(logits.double(), dim=-1)[profile.labels.index("entailment")].item()


@pytest.mark.parametrize("name", RUNNING)
def test_torch_gives_what_transformers_gives(name, own_models):
    profile = PROFILES[name]
    network, tokenizer = model_of(name, own_models)
    model = load_entailment_model(f"torch:{name}")
    follows, against, _ = model.entail(PAIRS)
    known = [expected_entailment(profile, network, tokenizer, *pair) for pair in PAIRS]
    assert follows == pytest.approx(known, abs=1e-5)
    assert np.ptp(follows) > 1e-6
    assert np.isfinite(against).all() == profile.has_contradiction
    assert model.fingerprint.endswith(f",fp32,{profile.code}")
    check_entailment_model(model, tolerance=1e-6)


def test_pickled_weights_are_not_loaded(own_models):
    network, _ = model_of("minicheck-deberta-v3-large", own_models)
    folder = own_models / PROFILES["minicheck-deberta-v3-large"].model
    (folder / "model.safetensors").unlink()
    torch.save(network.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(ModelMissingError, match="MiniCheck-DeBERTa"):
        load_entailment_model("minicheck-deberta").entail(PAIRS)


def test_another_number_of_outputs_than_the_profile_is_refused(own_models):
    model_of("minicheck-roberta-large", own_models, outputs=3)
    with pytest.raises(UsageError, match=r"3 outputs.* 2 names"):
        load_entailment_model("minicheck-roberta")


def test_answer_tokens_beyond_the_vocabulary_are_refused(own_models, tmp_path):
    model_of("minicheck-flan-t5-large", own_models)
    profile = PROFILES["minicheck-flan-t5-large"]
    path = tmp_path / "mine.toml"
    values = {"labels": [*profile.labels], "template": profile.template, "answer_tokens": [3, 5000]}
    path.write_text(
        f"model = {json.dumps(str(own_models / profile.model))}\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    )
    with pytest.raises(ModelCorruptError, match=r"300 tokens.* 3, 5000"):
        load_entailment_model(str(path)).entail(PAIRS)


def test_a_classifier_is_not_a_model_that_generates(own_models):
    model_of("minicheck-roberta-large", own_models)
    folder = own_models / PROFILES["minicheck-roberta-large"].model
    folder.rename(own_models / PROFILES["minicheck-flan-t5-large"].model)
    with pytest.raises(UsageError, match="RobertaForSequenceClassification"):
        load_entailment_model("minicheck-t5")
