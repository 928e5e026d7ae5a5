"""A graph reads weights from its own folder alone, and brings no operators of its own."""

import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper

from sgi.kernel.errors import ModelCorruptError
from sgi.models.embedder.load_embedder import load_embedder
from support.reference_tokenizer import bert_tokenizer

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
