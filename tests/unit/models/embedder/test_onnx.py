from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest

from sgi.kernel.errors import EmbedderError, ModelCorruptError, ModelMissingError
from sgi.models.embedder.load_embedder import embedder_files
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.models.model_location import find_model
from support.reference_tokenizer import bert_tokenizer

TEXTS = [
    "",
    " ",
    "Paris",
    "Paris is the capital of France.",
    "The capital of France is Paris.",
    "東京は日本の首都です。",
    "👩‍👩‍👧 🎉",
    "ירושלים היא עיר",
    "مرحبا بالعالم",
    "a\x00b",
    "word " * 100,
    "word " * 1000,
    "東京は日本の首都です。" * 60,
    f"{'The court ruled that the contract is void. ' * 40}The fox jumps.",
    "?!",
    *(f"Sentence number {number} has {'very ' * (number % 7)}few words." for number in range(40)),
]


@pytest.fixture(scope="module")
def together(minilm):
    return minilm.embed(TEXTS)


def test_unit_rows_float32(together):
    assert together.shape == (len(TEXTS), 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together.astype(np.float64), axis=1), 1, atol=1e-6)


def test_meaning(minilm):
    cat, kitten, law = minilm.embed(["A cat sleeps.", "A kitten naps.", "The law of contracts."])
    assert cat @ kitten > 0.5 > cat @ law


def test_the_same_bits_alone(minilm, together):
    alone = np.vstack([minilm.embed([text]) for text in TEXTS])
    assert alone.tobytes() == together.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_bits_with_any_number_of_threads(minilm_files, together, threads):
    assert OnnxEmbedder(minilm_files, threads=threads).embed(TEXTS).tobytes() == together.tobytes()


@pytest.mark.slow
def test_several_threads_open_and_use_one_embedder(minilm_files, together):
    embedder, start = OnnxEmbedder(minilm_files), Barrier(4)

    def use(_):
        start.wait()
        return embedder.embed(TEXTS)

    with ThreadPoolExecutor(4) as pool:
        assert all(rows.tobytes() == together.tobytes() for rows in pool.map(use, range(4)))


def test_a_batch_on_all_threads_has_the_same_bits(minilm_files):
    embedder = OnnxEmbedder(minilm_files, threads=2)
    shared, own = embedder.network(alone=True), embedder.network()
    chance = np.random.default_rng(11)
    for shape in ((1, 3), (1, 17), (1, 90), (5, 33), (3, 256)):
        ids = chance.integers(1000, 20000, shape)
        assert shared.token_vectors(ids).tobytes() == own.token_vectors(ids).tobytes()


def test_the_model_is_opened_for_all_threads_once_that_pays(minilm_files):
    embedder = OnnxEmbedder(minilm_files, threads=2)
    rows = [embedder.embed(["Paris"]).tobytes() for _ in range(16)]
    assert list(embedder._networks) == [False]
    rows.append(embedder.embed(["Paris"]).tobytes())
    assert list(embedder._networks) == [False, True]
    assert len(set(rows)) == 1
    embedder.embed(["Paris", "London is a town."])
    assert len(embedder._networks) == 2


@pytest.fixture(scope="module")
def truncating(minilm_files):
    return OnnxEmbedder(minilm_files, long_texts="truncate")


def test_which_texts_were_cut(truncating):
    rows, truncated, *_ = truncating.encode(["a " * 254, "a " * 255, "short"])
    assert truncated.tolist() == [False, True, False]
    assert rows[0].tobytes() == rows[1].tobytes()


def test_the_fingerprint_names_weights_graph_pooling_limit_and_precision(minilm, minilm_files):
    assert minilm.fingerprint.startswith("minilm@8199be6f-")
    assert minilm.fingerprint.endswith(",mean,256tok-windows,fp32")
    others = [
        OnnxEmbedder(replace(minilm_files, **change)).fingerprint
        for change in ({"pooling": "cls"}, {"limit": 128}, {"prefix": "query: "}, {"prefix": "query"})
    ]
    assert len({minilm.fingerprint, *others}) == 5


def test_nothing_is_read_before_first_use(minilm_files, tmp_path):
    embedder = OnnxEmbedder(replace(minilm_files, weights=tmp_path / "gone.onnx"))
    with pytest.raises(ModelMissingError, match=r"gone\.onnx"):
        embedder.embed(["text"])


def test_spoilt_weights_are_never_loaded(minilm_files, copied):
    spoilt = copied(minilm_files.weights)
    spoilt.write_bytes(spoilt.read_bytes()[:-1] + b"\x00")
    published = minilm_files.checksums[minilm_files.weights]
    embedder = OnnxEmbedder(replace(minilm_files, weights=spoilt, checksums={spoilt: published}))
    with pytest.raises(ModelCorruptError, match="sha256"):
        embedder.embed(["text"])
    assert not embedder._networks


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x08" * 1000])
def test_a_file_that_is_no_model(folder, content):
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "onnx" / "model.onnx").write_bytes(content)
    with pytest.raises(ModelCorruptError, match=r"model\.onnx"):
        OnnxEmbedder(embedder_files(find_model(folder))).embed(["text"])


def test_the_published_graph_with_three_inputs_gives_the_same_rows(folder, together):
    embedder = OnnxEmbedder(embedder_files(find_model(folder)))
    cosines = np.einsum("ij,ij->i", embedder.embed(TEXTS), together)
    assert cosines.min() > 0.99999
    assert embedder.fingerprint.startswith("a-model@8199be6f-")


def test_first_token_pooling_and_prefix(minilm_files, minilm):
    cls = OnnxEmbedder(replace(minilm_files, pooling="cls"))
    assert not np.allclose(cls.embed(["Paris"]), minilm.embed(["Paris"]), atol=0.01)
    prefixed = OnnxEmbedder(replace(minilm_files, prefix="query: "))
    assert prefixed.embed(["Paris"]).tobytes() == minilm.embed(["query: Paris"]).tobytes()


def test_a_graph_that_wants_something_else(tmp_path, minilm_files):
    onnx = pytest.importorskip("onnx", reason="makes a graph no package ships")
    value = onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, ["n", 3])
    out = onnx.helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, ["n", 3])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["pixels"], ["out"])], "g", [value], [out])
    opset = [onnx.helper.make_opsetid("", 17)]
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())
    bert_tokenizer(minilm_files.tokenizer).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelCorruptError, match=r"model\.onnx.*pixels"):
        OnnxEmbedder(embedder_files(find_model(tmp_path))).embed(["text"])


def test_a_model_that_fails_while_running(folder):
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 2000}')  # it knows 512 places
    with pytest.raises(EmbedderError, match="a-model"):
        OnnxEmbedder(embedder_files(find_model(folder))).embed(["word " * 1500])
