from __future__ import annotations

import shutil
from importlib.resources import as_file, files

import pytest

from support import command
from support.answers import rows, write_jsonl
from support.embedding_server import EmbeddingServer


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    write_jsonl(folder / "a.jsonl", rows())
    write_jsonl(
        folder / "b.jsonl", [*rows(spoilt=12), {"id": "only here", "response": "x", "reference": "x"}]
    )
    command.sgi(folder, "run", "a.jsonl", "-m", "squad_em,rouge_l,bleu", "--name", "before", "-q")
    command.sgi(folder, "run", "b.jsonl", "-m", "squad_em,rouge_l", "--name", "after", "-q")
    return folder


@pytest.fixture
def two_runs(kept, tmp_path):
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)


def test_json_holds_every_number(sgi, two_runs):
    facts = sgi("compare", "before", "after", "--json").json
    assert (facts["pairs"], facts["only_base"], facts["only_new"]) == (40, 0, 1)
    first = facts["metrics"][0]
    assert (first["metric"], first["verdict"]) == ("squad_em", "worse")
    assert first["difference"]["difference"] == pytest.approx(-0.3)
    interval = first["difference"]["interval"]
    assert interval["low"] < -0.3 < interval["high"] < 0
    assert (first["mcnemar"]["lost"], first["mcnemar"]["gained"]) == (12, 0)
    assert first["adjusted_p"] >= first["difference"]["p"]
    assert len(first["changed"]) == 5


def test_a_worse_embedder_is_found(sgi, no_remote_settings):
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as sample:
        sgi("run", sample, "-m", "semantic_similarity", "--name", "minilm", "-q")
        with EmbeddingServer() as server:  # its vectors are those of the texts' hashes: they mean nothing
            embedder = f"openai:hashes@{server.url}/v1"
            result = sgi("run", sample, "-m", "semantic_similarity", "-e", embedder, "--name", "hashes", "-q")
    assert result.code == 0
    refused = sgi("compare", "minilm", "hashes")
    assert (refused.code, refused.out) == (2, "")
    assert "embedder of semantic_similarity: minilm@" in refused.err
    assert "→ openai:hashes@" in refused.err
    assert "--allow-different" in refused.err
    (found,) = sgi("compare", "minilm", "hashes", "--allow-different", "--json").json["metrics"]
    assert found["verdict"] == "worse"
    assert found["difference"]["interval"]["high"] < 0
    page = sgi("compare", "minilm", "hashes", "--allow-different").out
    assert ("base  sgi:1|emb:minilm@" in page, "new   sgi:1|emb:" in page) == (True, True)
    (same,) = sgi("compare", "minilm", "minilm", "--json").json["metrics"]
    assert (same["verdict"], same["difference"]["difference"]) == ("no difference found", 0.0)
