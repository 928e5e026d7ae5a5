"""Count the tokenized and embedded texts of a run; benchmarks only measure its time."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

import sgi
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import start_run
from sgi.models.embedder import onnx_embedder

SAMPLE = Path(sgi.__file__).parent / "data" / "halueval_qa_sample.jsonl"
ROWS = 8
METRICS = ("sgi", "semantic_similarity", "lexical_aggregate")


@dataclass
class Counts:
    tokenized: list[str] = field(default_factory=list)
    tokens: int = 0
    computed: int = 0


@pytest.fixture
def counts(monkeypatch):
    """Count the inputs of the tokenizer and of the model."""
    counts = Counts()
    tokenize, hidden = onnx_embedder.tokenize, onnx_embedder.OnnxNetwork.token_vectors

    def counted_tokenize(tokenizer, texts, limit=None):
        counts.tokenized += texts
        tokens = tokenize(tokenizer, texts, limit)
        counts.tokens += sum(len(ids) for ids in tokens.ids)
        return tokens

    def counted_hidden(self, ids, /):
        counts.computed += ids.size
        return hidden(self, ids)

    monkeypatch.setattr(onnx_embedder, "tokenize", counted_tokenize)
    monkeypatch.setattr(onnx_embedder.OnnxNetwork, "token_vectors", counted_hidden)
    return counts


def score(folder, name, **more):
    data = folder / "rows.jsonl"
    if not data.exists():
        data.write_bytes(b"".join(SAMPLE.read_bytes().splitlines(keepends=True)[:ROWS]))
    values = {"data": data, "metrics": METRICS, "out": folder / f"{name}.jsonl", **more}
    call = {"db": folder / f"{name}.db", "cache": folder / "vectors.db"}
    anyio.run(start_run, RunOptions.of(values, **call))
    return (folder / f"{name}.jsonl").read_bytes()


def test_each_distinct_text_is_tokenized_once_and_nothing_is_padded(tmp_path, counts):
    score(tmp_path, "first")
    assert len(counts.tokenized) == len(set(counts.tokenized)) > ROWS
    assert counts.computed == counts.tokens > 0


def test_a_second_run_tokenizes_and_computes_nothing_and_writes_the_same(tmp_path, counts):
    first = score(tmp_path, "first")
    before = (len(counts.tokenized), counts.computed)
    assert score(tmp_path, "second") == first
    assert (len(counts.tokenized), counts.computed) == before
