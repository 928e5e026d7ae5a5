"""Known models in the user's own folder of models, and messages of the hub."""

from __future__ import annotations

import json
import logging
import shutil

import pytest

from sgi.kernel.errors import ModelCorruptError, ModelMissingError
from sgi.kernel.protocols import embedder_name
from sgi.models.embedder.load_embedder import load_embedder
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.models.hub import models_folder, quiet_hub
from sgi.models.known_models import MODELS
from sgi.models.model_location import find_model


@pytest.fixture
def models(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("SGI_MODELS_DIR", str(folder))
    return folder


@pytest.fixture
def offline(monkeypatch, tmp_path):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def weights(models, name):
    """A folder as one with safetensors looks; nothing of it is loaded here."""
    model_folder = models / name
    model_folder.mkdir()
    (model_folder / "config.json").write_text("{}")
    (model_folder / "model.safetensors").touch()
    return model_folder


def test_the_folder_is_the_users_unless_told(monkeypatch, tmp_path):
    monkeypatch.delenv("SGI_MODELS_DIR", raising=False)
    assert models_folder().parts[-2:] == ("sgi", "models")
    monkeypatch.setenv("SGI_MODELS_DIR", str(tmp_path))
    assert models_folder() == tmp_path


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "bge-base-en-v1.5", "bge"])
def test_a_graph_there_is_run_with_what_is_known_of_the_model(models, folder, name):
    record = MODELS.get(name, MODELS["bge-base-en-v1.5"])
    shutil.move(folder, models / record.name)

    embedder = load_embedder(name)

    assert isinstance(embedder, OnnxEmbedder)
    assert embedder_name(embedder) == record.name
    assert (embedder.files.limit, embedder.files.pooling) == (record.limit, record.pooling)
    assert embedder.files.prefix == record.prefix
    assert embedder.embed(["a cat"]).shape == (1, 384)


@pytest.mark.parametrize("name", ["mpnet", "all-mpnet-base-v2"])
def test_weights_there_are_for_torch_and_called_as_their_folder(models, name):
    folder = weights(models, "all-mpnet-base-v2")

    embedder = load_embedder(name)

    assert isinstance(embedder, TorchEmbedder)
    assert (embedder.source, embedder.name) == (str(folder), "torch:all-mpnet-base-v2")
    assert embedder.name == load_embedder(f"torch:{folder}").name


def test_torch_must_be_told_the_prefix_of_a_model(models):
    folder = weights(models, "e5-base-v2")
    with pytest.raises(ModelCorruptError, match=r"e5-base-v2.*'query: '") as caught:
        load_embedder("e5")
    _, _, settings = caught.value.hint.partition("there: ")
    (folder / "config_sentence_transformers.json").write_text(settings.removesuffix("."))
    assert json.loads(settings.removesuffix("."))["prompts"]
    assert isinstance(load_embedder("e5"), TorchEmbedder)


def test_an_empty_folder_is_none(models, offline):
    (models / "gte-base").mkdir()
    assert find_model("gte").folder is None
    with pytest.raises(ModelMissingError, match="gte-base") as caught:
        load_embedder("gte")
    assert str(models / "gte-base") in caught.value.hint


def test_the_embedded_model_stays_the_embedded_one(models, minilm):
    weights(models, "minilm")
    assert load_embedder("minilm").fingerprint == minilm.fingerprint


def test_messages_of_the_hub_about_retries_are_not_shown(caplog):
    logger = logging.getLogger("huggingface_hub")
    with quiet_hub():
        logger.warning("Retrying in 8s [Retry 5/5].")
    logger.warning("Another message.")

    assert [record.message for record in caplog.records] == ["Another message."]
