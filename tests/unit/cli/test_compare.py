from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from importlib.resources import as_file, files

import pytest

from support import command
from support.answers import TERMINAL_ATTACK, rows, write_jsonl
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


def test_pairs_without_a_value_are_counted_by_status(sgi, tmp_path):
    data = rows(10)
    write_jsonl(tmp_path / "a.jsonl", data)
    write_jsonl(
        tmp_path / "b.jsonl",
        [{k: v for k, v in row.items() if k != "response"} for row in data[:2]] + data[2:],
    )
    for name in ("a", "b"):
        sgi("run", f"{name}.jsonl", "-m", "squad_em", "--name", name, "-q")
    page = sgi("compare", "a", "b", "--allow-different").out
    line = next(line for line in page.splitlines() if line.endswith("2"))
    assert line.split() == ["squad_em", "ok", "missing", "2"]


@pytest.mark.parametrize("columns", ["30", "250"])
def test_hostile_ids_and_a_narrow_window(sgi, tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for name, spoilt in (("a", 0), ("b", 6)):
        data = [row | {"id": f"{TERMINAL_ATTACK}{row['id']}"} for row in rows(12, spoilt=spoilt)]
        write_jsonl(tmp_path / f"{name}.jsonl", data)
        sgi("run", f"{name}.jsonl", "-m", "squad_em", "--name", name, "-q")
    with closing(sqlite3.connect("sgi.db", isolation_level=None)) as connection:
        connection.execute("UPDATE runs SET name = ? || name", [TERMINAL_ATTACK])
    result = sgi("compare", "last~1", "last")
    assert not set(result.out + result.err) & set("\x1b\x9b\u202e…")
    line = next(line for line in result.out.splitlines() if "worse" in line)
    assert {"100.00", "50.00", "-50.00", "12"} <= set(line.split())
    assert sgi("compare", "last~1", "last", "--json").json["base"] == f"{TERMINAL_ATTACK}a"


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


def test_another_version_is_refused_and_one_that_is_not_recorded_is_noted(sgi, two_runs, tmp_path):
    with sqlite3.connect(tmp_path / "sgi.db") as connection:
        newest = "(SELECT id FROM runs WHERE name = 'after')"
        update = f"UPDATE run_metrics SET version = ? WHERE metric = ? AND run = {newest}"  # noqa: S608
        connection.execute(update, (9, "squad_em"))
        connection.execute(update, (0, "rouge_l"))
    connection.close()
    result = sgi("compare", "before", "after")
    assert (result.code, result.out) == (2, "")
    assert "version of squad_em: 1 → 9" in result.err
    alike = sgi("compare", "before", "after", "-m", "rouge_l")
    assert (alike.code, "version of rouge_l is not recorded" in alike.err) == (0, True)
    anyway = sgi("compare", "before", "after", "--allow-different")
    assert (anyway.code, "Differs in more than the responses: version of squad_em: 1 → 9." in anyway.err) == (
        0,
        True,
    )
    gated = sgi("gate", "after", "--against", "before", "--max-drop", "0.9")
    assert (gated.code, "version of squad_em: 1 → 9" in gated.out) == (4, True)
    assert "version of rouge_l is not recorded" in gated.err


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A run with the answers of three models to 20 questions of two kinds."""
    folder = tmp_path_factory.mktemp("models")
    answers = {"good": "right answer", "half": "right", "bad": "wrong"}
    write_jsonl(
        folder / "models.jsonl",
        (
            {
                "question": f"question {number}?",
                "reference": "right answer",
                "response": answer,
                "model": model,
                "kind": "easy" if number < 8 else "hard",
            }
            for number in range(20)
            for model, answer in answers.items()
        ),
    )
    command.sgi(folder, "run", "models.jsonl", "-m", "squad_em,squad_token_f1", "--name", "models", "-q")
    return folder


def test_json_of_a_leaderboard_has_all_pairs_and_groups(sgi, models, tmp_path):
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    facts = sgi("compare", "models", "--by", "model", "--within", "kind", "-m", "squad_em", "--json").json
    (metric,) = facts["metrics"]
    assert [score["letters"] for score in metric["systems"]] == ["a", "b", "b"]
    assert len(metric["differences"]) == 3
    assert [group["group"] for group in facts["groups"]["metrics"]["squad_em"]] == ["easy", "hard"]
