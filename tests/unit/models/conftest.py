import shutil
from pathlib import Path

import pytest

from sgi.models.embedder.load_embedder import load_embedder
from sgi.models.known_models import MODELS
from sgi.models.model_files import embedded_files
from support.reference_tokenizer import bert_tokenizer


@pytest.fixture(scope="session")
def minilm():
    return load_embedder("minilm")


@pytest.fixture(scope="session")
def minilm_files():
    return embedded_files(MODELS["minilm"])


@pytest.fixture
def own_models(monkeypatch, tmp_path):
    """An empty folder of the user's models; none is in the cache of the hub, or fetched from it."""
    monkeypatch.setenv("SGI_MODELS_DIR", str(tmp_path / "models"))
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "models"


@pytest.fixture
def folder(tmp_path, minilm_files):
    """A model's folder as on a hub: the published graph, which wants three inputs, and a tokenizer.json."""
    path = tmp_path / "a-model"
    (path / "onnx").mkdir(parents=True)
    (path / "1_Pooling").mkdir()
    (path / "onnx" / "model.onnx").symlink_to(minilm_files.weights)
    bert_tokenizer(minilm_files.tokenizer).save(str(path / "tokenizer.json"))
    (path / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    (path / "1_Pooling" / "config.json").write_text(
        '{"word_embedding_dimension": 384, "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}'
    )
    return path


@pytest.fixture
def copied(tmp_path):
    """Copies a file to where a test may spoil it."""

    def copy(path: Path) -> Path:
        return Path(shutil.copy(path, tmp_path / path.name))

    return copy
