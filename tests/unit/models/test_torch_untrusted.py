"""A model's folder is data: it runs no code, whatever its settings say. Needs torch (make oracles)."""

import json
import os
from pathlib import Path

import pytest

from sgi.kernel.errors import ModelCorruptError, ModelMissingError, UsageError
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.models.entailment.entailment_labels import LabelMap
from sgi.models.entailment.windowed_entailment import TorchPairNetwork
from sgi.models.token_encoder.windowed_encoder import TorchTokenNetwork
from support.entailment_models import NLI, WORDS, word_tokenizer
from support.tracing import SGI, prepare_trace

torch = pytest.importorskip("torch", reason="needs torch: pip install '.[torch]'")
transformers = pytest.importorskip("transformers", reason="needs transformers, of the same extra")

CODE = """
import pathlib, torch, transformers
pathlib.Path(__file__).with_name("ran").touch()
class Module(torch.nn.Module):
    @classmethod
    def load(cls, *_, **__): return cls()
class Model(transformers.BertModel): pass
class Tokenizer(transformers.BertTokenizerFast): pass
class Config(transformers.BertConfig): pass
"""
OWN_CLASSES = {
    "AutoConfig": "own.Config",
    "AutoModel": "own.Model",
    "AutoModelForSequenceClassification": "own.Model",
}
MODULES = ("sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling")
SETTINGS = "sentence_bert_config.json"
CONSENT = {"trust_remote_code": True}


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.fixture
def folder(tmp_path):
    """A small network of chance weights that every kind of model opens, and a file of code beside it."""
    path = tmp_path / "model"
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=32,
        id2label=dict(enumerate(NLI)),
        label2id={name: place for place, name in enumerate(NLI)},
    )
    transformers.BertForSequenceClassification(config).save_pretrained(path)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=word_tokenizer(), pad_token="[PAD]")
    tokenizer.save_pretrained(path)
    name_modules(path, *MODULES)
    (path / "1_Pooling").mkdir()
    write(path / "1_Pooling" / "config.json", word_embedding_dimension=32, pooling_mode_mean_tokens=True)
    write(path / SETTINGS, max_seq_length=32)
    (path / "own.py").write_text(CODE, encoding="utf-8")
    return path


def write(path: Path, **settings: object) -> None:
    """Add settings to a file of JSON."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**known, **settings}), encoding="utf-8")


def name_modules(folder: Path, *types: str) -> None:
    paths = ("", "1_Pooling")
    entries = [
        {"idx": n, "name": str(n), "path": path, "type": kind}
        for n, (path, kind) in enumerate(zip(paths, types, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(entries), encoding="utf-8")


def own_module(folder: Path) -> None:
    name_modules(folder, MODULES[0], "own.Module")


def foreign_module(folder: Path) -> None:
    name_modules(folder, MODULES[0], "antigravity.geohash")  # it opens a browser when it is imported


def own_model(folder: Path) -> None:
    write(folder / "config.json", auto_map=OWN_CLASSES, model_type="own")


def consent_in_settings(folder: Path) -> None:
    own_model(folder)
    write(folder / SETTINGS, **dict.fromkeys(("model_args", "model_kwargs", "config_args"), CONSENT))


def pickled_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Touch(folder / "ran")}, folder / "pytorch_model.bin")


def pickled_weights_with_settings(folder: Path) -> None:
    pickled_weights(folder)
    write(folder / "config.json", dtype=None)  # transformers reads it from the weights then
    write(folder / SETTINGS, model_args={"weights_only": False, "use_safetensors": False})


def other_base_model(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    write(folder / "adapter_config.json", base_model_name_or_path="owner/base", peft_type="LORA")


ALL = [own_model, pickled_weights, pickled_weights_with_settings, other_base_model]
SENTENCES = [own_module, foreign_module, consent_in_settings]
KINDS = {
    "embedder": lambda folder: TorchEmbedder(folder).embed(["paris"]),
    "tokens": lambda folder: TorchTokenNetwork(str(folder)).dimension,
    "pairs": lambda folder: TorchPairNetwork(str(folder), LabelMap(3, 2, 0), 32).fingerprint,
}


@pytest.fixture(autouse=True)
def _nobody_is_asked(monkeypatch):
    """Transformers would ask on standard input; whoever answers yes would run the code."""
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("the user was asked"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_folder_itself_opens(folder, kind):
    assert KINDS[kind](folder) is not None


@pytest.mark.parametrize(
    ("kind", "spoil"),
    [*((kind, spoil) for kind in KINDS for spoil in ALL), *(("embedder", spoil) for spoil in SENTENCES)],
)
def test_a_folder_runs_no_code(folder, kind, spoil):
    spoil(folder)
    with pytest.raises((ModelCorruptError, ModelMissingError)):
        KINDS[kind](folder)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_classes_and_kernels_that_a_folder_names_are_not_used(folder, kind):
    write(folder / "config.json", auto_map=OWN_CLASSES, attn_implementation="owner/kernel")
    write(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["own.Tokenizer", "own.Tokenizer"]})
    assert KINDS[kind](folder) is not None
    assert not (folder / "ran").exists()


def test_a_version_that_trusts_folders_is_refused(folder, monkeypatch):
    monkeypatch.setattr("sgi.models.embedder.torch_embedder.version", lambda _: "5.6.1")
    with pytest.raises(UsageError, match=r"sentence-transformers 5\.6\.1"):
        TorchEmbedder(folder).embed(["paris"])


def test_a_folder_opens_no_socket(folder, tmp_path):
    command = prepare_trace(tmp_path / "traced")
    text = "the tower is tall"
    done = command.run(*SGI, "check", "--c", text, "--r", text, "-e", f"torch:{folder}")
    assert done.returncode == 0, done.stderr
    assert command.inet_sockets == []
    assert command.files_in_home <= {".cache/sgi/vectors.db"}
