"""The embedded model beside the genuine weights and tokenizer; answers/README.md says how they were made."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sgi.models.embedder.load_embedder import load_embedder
from sgi.models.known_models import MODELS
from sgi.models.model_files import embedded_files
from sgi.models.tokenizer import open_tokenizer
from support.embedder_texts import embedded_texts, tokenizer_texts
from support.reference_tokenizer import bert_tokenizer

HERE = Path(__file__).parent
FILES = embedded_files(MODELS["minilm"])


def test_token_ids_are_the_genuine_ones():
    digests = json.loads((HERE / "answers" / "embedder_tokens.json").read_text())
    texts = tokenizer_texts()
    assert len(texts) == len(digests) > 3000
    tokenizer, reference = open_tokenizer(FILES.tokenizer), bert_tokenizer(FILES.tokenizer)
    rows = tokenizer.token_ids(texts)
    found = [hashlib.sha256(json.dumps(ids.tolist()).encode()).hexdigest()[:8] for ids in rows]
    others = [text for text, ours, genuine in zip(texts, found, digests, strict=True) if ours != genuine]

    def is_newer(sign):
        word = f"a{sign}b"
        return tokenizer.token_ids([word])[0].tolist() != reference.encode(word).ids

    # Random texts can have characters that are newer than the tables of the package tokenizers.
    assert len(others) < len(texts) / 200
    assert [text for text in others if not any(map(is_newer, {*text}))] == []


def test_rows_lie_by_the_genuine_ones():
    genuine = np.load(HERE / "answers" / "embedder_rows.npy").astype(np.float64)
    genuine /= np.linalg.norm(genuine, axis=1, keepdims=True)
    ours = load_embedder("minilm").embed(embedded_texts()).astype(np.float64)
    cosines = np.einsum("ij,ij->i", ours, genuine)
    assert len(cosines) >= 50
    assert cosines.min() >= 0.99
    assert cosines.mean() >= 0.998


def test_the_graph_is_what_its_recipe_makes(tmp_path):
    pytest.importorskip("onnx", reason="the recipe of the graph needs it")
    made = tmp_path / "graph.onnx"
    subprocess.run(
        [sys.executable, HERE.parents[1] / "scripts" / "make_minilm_graph.py", made],
        check=True,
        capture_output=True,
    )
    assert made.read_bytes() == FILES.graph.read_bytes()
