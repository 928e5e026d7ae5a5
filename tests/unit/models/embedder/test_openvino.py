from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from sgi.kernel.errors import (
    EmbedderError,
    MissingExtraError,
    ModelCorruptError,
    ModelMissingError,
    UsageError,
)
from sgi.kernel.protocols import TruncatingEmbedder
from sgi.models.batching import equal_length_batches
from sgi.models.embedder import openvino as room
from sgi.models.embedder.openvino import OpenvinoEmbedder, OpenvinoNetwork, Processor, supported_precision
from sgi.models.embedder.settings import embedder_files
from sgi.models.model_location import find_model
from sgi.models.tokenizer import bert_tokenizer, tokenize
from sgi.testing.contracts import check_embedder
from support.embedder_texts import HOSTILE, real_texts

pytest.importorskip("openvino", reason="needs OpenVINO: pip install '.[openvino]'")

TEXTS = [*HOSTILE, *real_texts()[:24]]


def needs_int8():
    if not room.processor().int8:
        pytest.skip("this processor multiplies no 8-bit activations")


@pytest.fixture(scope="module")
def exact(minilm_files):
    return OpenvinoEmbedder(minilm_files, precision="f32")


@pytest.fixture(scope="module")
def small(minilm_files):
    needs_int8()
    return OpenvinoEmbedder(minilm_files, precision="int8")


@pytest.fixture(scope="module")
def published(minilm):
    return minilm.embed(TEXTS).astype(np.float64)


def cosines(rows, others):
    return np.einsum("ij,ij->i", rows.astype(np.float64), others)


def test_float32_is_that_of_onnx_runtime(exact, published):
    rows = exact.embed(TEXTS)
    assert cosines(rows, published).min() >= 0.999999
    assert np.abs(rows - published).max() < 1e-5


def test_eight_bits_stay_near_float32(small, published):
    similarities = cosines(small.embed(TEXTS), published)
    assert similarities.mean() >= 0.999
    assert similarities.min() >= 0.99
    assert similarities.max() < 1 - 1e-6


def test_bfloat16_stays_near_float32(minilm_files, published, monkeypatch):
    """Where the processor has no bfloat16, OpenVINO rounds as if it had."""
    monkeypatch.setattr(room, "processor", lambda: Processor("any", bf16=True, int8=True))
    embedder = OpenvinoEmbedder(minilm_files)
    assert embedder.fingerprint.endswith(",openvino-bf16")
    similarities = cosines(embedder.embed(TEXTS[-12:]), published[-12:])
    assert 0.9999 <= similarities.min() < 1 - 1e-7


def test_it_keeps_the_promises_of_an_embedder(small):
    assert isinstance(small, TruncatingEmbedder)
    check_embedder(small)


@pytest.mark.parametrize("precision", ["f32", "int8"])
def test_the_same_bits_in_any_company_and_with_any_threads(request, minilm_files, precision):
    embedder = request.getfixturevalue({"f32": "exact", "int8": "small"}[precision])
    together = embedder.embed(TEXTS)
    order = np.random.default_rng(7).permutation(len(TEXTS))
    assert embedder.embed([TEXTS[place] for place in order]).tobytes() == together[order].tobytes()
    some = range(0, len(TEXTS), 5)
    assert b"".join(embedder.embed([TEXTS[n]]).tobytes() for n in some) == together[some].tobytes()
    other = OpenvinoEmbedder(minilm_files, precision=precision, threads=3)
    assert other.embed(TEXTS).tobytes() == together.tobytes()


@pytest.mark.parametrize("precision", ["f32", "int8"])
def test_the_same_bits_however_a_batch_is_divided(request, minilm_files, precision):
    embedder = request.getfixturevalue({"f32": "exact", "int8": "small"}[precision])
    side_by_side, alone = embedder.network(), embedder.network(alone=True)
    ids = tokenize(bert_tokenizer(minilm_files.tokenizer), real_texts()[:30]).ids
    for batch in equal_length_batches([min(len(text), 256) for text in ids], 512):
        rows = np.stack([ids[place][:256] for place in batch])
        assert alone.token_vectors(rows).tobytes() == side_by_side.token_vectors(rows).tobytes()


@pytest.mark.skipif(not room.processor().bf16, reason="this processor has no bfloat16")
def test_short_texts_have_the_same_bits_alone_with_bfloat16(minilm_files):
    """Up to four tokens the runtime uses another matrix kernel."""
    texts = ["Paris", "London", "Rome", "yes", "no", "1815", "a", "b"]
    together = OpenvinoEmbedder(minilm_files, precision="bf16").embed(texts)
    alone = OpenvinoEmbedder(minilm_files, precision="bf16")
    assert b"".join(alone.embed([text]).tobytes() for text in texts) == together.tobytes()


WITHOUT_AVX512 = """
import numpy as np
from sgi.models.embedder.load import load_embedder
from support.embedder_texts import real_texts
embedder = load_embedder("minilm", backend="openvino", precision="f32", threads=2)
texts = real_texts()[:40]
together = embedder.embed(texts)
alone = np.concatenate([embedder.embed([text]) for text in texts])
print((together != alone).any(axis=1).sum(), embedder.network().tokens_per_batch)
"""


@pytest.mark.slow
def test_the_same_bits_in_any_company_without_avx512():
    """Without AVX-512 the runtime adds up a batch in another order than a single text."""
    paths = os.pathsep.join(sys.path)
    limited = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2", "PYTHONPATH": paths}
    command = [sys.executable, "-c", WITHOUT_AVX512]
    done = subprocess.run(command, env=limited, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "0 1\n"), done.stderr


FIRST_ARRAYS = """
import sys
from threading import Thread
from sgi.models.embedder.openvino import _core
_core()
from openvino import Core, Model, Type, opset13
sys.setswitchinterval(1e-6)
port = opset13.parameter([1, 2], Type.f32)
compiled = Core().compile_model(Model([opset13.relu(port)], [port]), "CPU")
tensors = [compiled.create_infer_request().get_input_tensor(0) for _ in range(24)]
started = False

def read(tensor):
    while not started:
        pass
    tensor.data

threads = [Thread(target=read, args=(tensor,), daemon=True) for tensor in tensors]
for thread in threads:
    thread.start()
started = True
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("attempt", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_threads_that_read_their_first_array_together_do_not_deadlock(attempt):
    """A runtime that no thread has used for arrays before deadlocks here in about 8 of 10 processes."""
    command = [sys.executable, "-c", FIRST_ARRAYS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_several_threads_open_and_use_one_embedder(minilm_files, exact):
    embedder, start = OpenvinoEmbedder(minilm_files, precision="f32"), Barrier(4)
    expected = exact.embed(TEXTS[-12:]).tobytes()

    def use(_):
        start.wait()
        return embedder.embed(TEXTS[-12:]).tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(use, range(4))) == {expected}


def test_fingerprints_tell_runtime_and_precision(minilm, minilm_files):
    exact = OpenvinoEmbedder(minilm_files, precision="f32").fingerprint
    assert exact == minilm.fingerprint.removesuffix("fp32") + "openvino-f32"
    needs_int8()
    assert OpenvinoEmbedder(minilm_files, precision="int8").fingerprint.endswith(",openvino-int8x64")


def test_a_folder_whose_graph_wants_three_inputs(folder, published):
    embedder = OpenvinoEmbedder(embedder_files(find_model(folder)), precision="f32")
    assert cosines(embedder.embed(TEXTS[:30]), published[:30]).min() > 0.99999
    assert embedder.fingerprint.startswith("a-model@8199be6f-")


@pytest.mark.parametrize("put", [Path.symlink_to, Path.hardlink_to, None])
def test_weights_are_found_beside_the_graph_behind_a_link_and_elsewhere(
    minilm_files, tmp_path, monkeypatch, exact, put
):
    graph, weights = tmp_path / ("graph.onnx" if put else "model.onnx"), tmp_path / "model.onnx"
    graph.write_bytes(minilm_files.graph.read_bytes())
    if put is None:
        weights = minilm_files.weights
    else:
        put(weights, Path(shutil.copy(minilm_files.weights, tmp_path / "blob")))
    files = replace(minilm_files, graph=graph, weights=weights, checksums={})
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    rows = OpenvinoEmbedder(files, precision="f32").embed(["Paris"])
    assert rows.tobytes() == exact.embed(["Paris"]).tobytes()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_the_processor_lacks(monkeypatch, minilm_files):
    monkeypatch.setattr(room, "processor", lambda: Processor("an old one", bf16=False, int8=False))
    assert supported_precision("auto") == "f32"
    with pytest.raises(UsageError, match=r"an old one\) has no instructions for bf16; it supports f32\. Use"):
        _ = OpenvinoEmbedder(minilm_files, precision="bf16").fingerprint
    with pytest.raises(UsageError, match="no instructions for int8"):
        OpenvinoEmbedder(minilm_files, precision="int8").embed(["text"])


def test_eight_bits_are_for_weights_in_eight_bits(tmp_path, minilm_files):
    needs_int8()
    with pytest.raises(
        UsageError, match=r"requires 8-bit weights; the weights of floats are not.*precision f32"
    ):
        OpenvinoNetwork(float_model(tmp_path, minilm_files), precision="int8")


def test_a_model_with_float_weights(tmp_path, minilm_files):
    network = OpenvinoNetwork(float_model(tmp_path, minilm_files), precision="f32")
    assert network.token_vectors(np.array([[1, 2, 3]])).shape == (1, 3, 8)


def float_model(folder, files):
    """A table of rows and one product, float32 throughout."""
    onnx = pytest.importorskip("onnx", reason="makes a graph no package ships")
    helper, kind = onnx.helper, onnx.TensorProto
    table = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)
    square = np.random.default_rng(2).standard_normal((8, 8)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("MatMul", ["rows", "square"], ["out"]),
    ]
    onnx_graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("input_ids", kind.INT64, ["n", "length"])],
        [helper.make_tensor_value_info("out", kind.FLOAT, ["n", "length", 8])],
        [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(square, "square")],
    )
    path = folder / "model.onnx"
    opset = [helper.make_opsetid("", 17)]
    path.write_bytes(helper.make_model(onnx_graph, opset_imports=opset, ir_version=8).SerializeToString())
    return replace(files, name="floats", graph=path, weights=None, checksums={})


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x08" * 1000])
def test_a_file_that_is_no_model(folder, content):
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "onnx" / "model.onnx").write_bytes(content)
    with pytest.raises(ModelCorruptError, match="cannot be loaded as a model"):
        OpenvinoEmbedder(embedder_files(find_model(folder)), precision="f32").embed(["text"])


def test_a_spoilt_graph_is_never_loaded(minilm_files, copied):
    spoilt = copied(minilm_files.graph)
    spoilt.write_bytes(spoilt.read_bytes()[:-1] + b"\x00")
    published = minilm_files.checksums[minilm_files.graph]
    embedder = OpenvinoEmbedder(replace(minilm_files, graph=spoilt, checksums={spoilt: published}))
    with pytest.raises(ModelCorruptError, match="sha256"):
        embedder.embed(["text"])
    assert not embedder._networks


def test_a_missing_file(minilm_files, tmp_path):
    embedder = OpenvinoEmbedder(replace(minilm_files, weights=tmp_path / "gone.onnx"))
    with pytest.raises(ModelMissingError, match=r"gone\.onnx"):
        embedder.embed(["text"])


def test_a_model_that_fails_while_running_fails_again_and_then_works(folder, exact):
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 2000}')  # it knows 512 places
    embedder = OpenvinoEmbedder(embedder_files(find_model(folder)), precision="f32", threads=1)
    for _ in range(2):
        with pytest.raises(EmbedderError, match="The model a-model failed"):
            embedder.embed(["word " * 1500])
    similarities = cosines(embedder.embed(TEXTS[-4:]), exact.embed(TEXTS[-4:]))
    assert similarities.min() > 0.99999


def test_a_lone_surrogate_and_no_texts(exact):
    with pytest.raises(EmbedderError, match="lone surrogate at character 0"):
        exact.embed(["fine", "\udc80"])
    rows, truncated, _ = exact.encode([])
    assert (rows.shape, truncated.shape) == ((0, 384), (0,))


def test_the_extra_is_missing(monkeypatch, minilm_files):
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.setattr(room, "_open_core", room._open_core.__wrapped__)  # as in a process that has none yet
    room.processor.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openvino\]"):
        OpenvinoEmbedder(minilm_files).embed(["text"])


INTERRUPTED = """
import gc, signal
from sgi.models.embedder.load import load_embedder
from sgi.testing import check_embedder
embedder = load_embedder("minilm", backend="openvino", precision="f32")
check_embedder(embedder)
del embedder
gc.collect()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
def test_an_interrupt_after_its_use_is_an_interrupt():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


TELLING = """
import socket, sys
def refuse(*_):
    raise SystemExit("a connection was wanted")
socket.socket.connect = socket.getaddrinfo = refuse
from sgi.models.embedder.load import load_embedder
load_embedder("minilm", backend="openvino", precision="f32").embed(["a"])
print(*sorted(name for name in sys.modules if "openvino_telemetry" in name))
"""


def test_nobody_is_told_of_its_use(tmp_path):
    surroundings = {**os.environ, "HOME": str(tmp_path), "CI": ""}
    command = [sys.executable, "-c", TELLING]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
