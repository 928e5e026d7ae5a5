from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from importlib.resources import as_file, files

import pytest

from support import command
from support.answers import FAILING_TARGET, TERMINAL_ATTACK, rows, write_jsonl
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


def test_a_run_against_itself_has_not_changed(sgi, two_runs):
    result = sgi("compare", "before", "before")
    assert result.code == 0
    assert result.out.count("no difference found") == 3
    assert "changed most" not in result.out
    assert result.out.count("sgi:1|") == 1


def test_what_got_worse_is_found_and_named(sgi, two_runs):
    result = sgi("compare", "before", "after", "--changed", "3")
    assert result.code == 0
    assert "base before, new after: 40 pairs of rows" in result.out
    assert "rows only in after, left out: 1" in result.out
    assert "only in before: bleu" in result.out
    assert "-30.00 pp" in result.out
    assert result.out.count("worse") == 2
    assert "McNemar" in result.out
    assert result.out.count("100.00 %   0.00 %") >= 3
    assert ("q11" in result.out, "q12" in result.out) == (False, False)  # three rows, by id: q0, q1, q10
    assert result.out.count("sgi:1|") == 2  # n differs, and so do the signatures


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


def test_one_metric_alone_keeps_its_p(sgi, two_runs):
    whole = sgi("compare", "before", "after", "--json").json["metrics"]
    (alone,) = sgi("compare", "before", "after", "-m", "rouge_l", "--json").json["metrics"]
    assert alone == whole[1]
    page = sgi("compare", "before", "after", "-m", "rouge_l", "--changed", "0").out
    assert ("squad_em" in page, "McNemar" in page, "changed most" in page) == (False, False, False)
    for name in ("bleu", "nope"):
        result = sgi("compare", "before", "after", "-m", name)
        assert (result.code, name in result.err) == (2, True)


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


def test_an_unfinished_run_is_compared_as_far_as_it_came(sgi, tmp_path):
    (tmp_path / "flaky_for_compare.py").write_text(FAILING_TARGET)
    write_jsonl(tmp_path / "many.jsonl", rows(300))
    sgi("run", "many.jsonl", "-m", "squad_em", "--name", "whole", "-q")
    sgi("run", "many.jsonl", "-m", "squad_em", "--target", "flaky_for_compare:answer", "--name", "part", "-q")
    result = sgi("compare", "whole", "part")
    assert "part is unfinished: only 256 of 300 rows are compared" in result.err
    assert "256 pairs" in result.out
    assert "rows only in whole, left out: 44" in result.out


def test_nothing_in_common_is_an_error(sgi, tmp_path):
    write_jsonl(tmp_path / "a.jsonl", rows(3))
    write_jsonl(tmp_path / "b.jsonl", [row | {"id": f"other {row['id']}"} for row in rows(3)])
    for name in ("a", "b"):
        sgi("run", f"{name}.jsonl", "-m", "squad_em", "--name", name, "-q")
    result = sgi("compare", "a", "b")
    assert (result.code, result.out) == (2, "")
    assert "no sample id in common" in result.err


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


def test_missing_values_of_one_run_are_refused(sgi, tmp_path):
    data = rows(40)
    write_jsonl(tmp_path / "a.jsonl", data)
    cut = [{key: value for key, value in row.items() if key != "response"} for row in data[:4]]
    write_jsonl(tmp_path / "b.jsonl", [*cut, *data[4:]])
    for name in ("a", "b"):
        sgi("run", f"{name}.jsonl", "-m", "squad_em", "--name", name, "-q")
    result = sgi("compare", "a", "b")
    assert (result.code, result.out) == (2, "")
    assert "rows without a value of squad_em: 0 of 40 (0.0%) → 4 of 40 (10.0%)" in result.err
    assert sgi("compare", "a", "b", "--allow-different").code == 0


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


def test_the_systems_of_one_run_are_ranked_with_letters(sgi, models, tmp_path):
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    result = sgi("compare", "models", "--by", "model", "--within", "kind", "--pairs")
    assert result.code == 0
    assert "3 systems, 20 questions" in result.out
    lines = [line.split() for line in result.out.splitlines()]
    assert ["good", "100.00", "%", "a", "100.00", "%", "a"] in lines
    assert ["half", "0.00", "%", "b", "66.67", "%", "b"] in lines
    assert ["bad", "0.00", "%", "b", "0.00", "%", "c"] in lines
    assert "squad_token_f1 by kind" in result.out
    assert "▲ 100.00 %" in result.out
    assert "bad − half" in result.out


def test_json_of_a_leaderboard_has_all_pairs_and_groups(sgi, models, tmp_path):
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    facts = sgi("compare", "models", "--by", "model", "--within", "kind", "-m", "squad_em", "--json").json
    (metric,) = facts["metrics"]
    assert [score["letters"] for score in metric["systems"]] == ["a", "b", "b"]
    assert len(metric["differences"]) == 3
    assert [group["group"] for group in facts["groups"]["metrics"]["squad_em"]] == ["easy", "hard"]


def test_the_front_of_two_metrics_is_a_table_and_json(sgi, models, tmp_path):
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    words = ["compare", "models", "--by", "model", "--pareto", "squad_token_f1,squad_em"]
    lines = [line.split() for line in sgi(*words).out.splitlines()]
    assert ["good", "surely", "on", "the", "front"] in [line[:5] for line in lines]
    assert "dominated by good" in sgi(*words).out
    facts = sgi(*words, "-m", "squad_em", "--json").json
    assert [metric["metric"] for metric in facts["metrics"]] == ["squad_em", "squad_token_f1"]
    assert facts["pareto"]["systems"][0]["verdict"] == "surely on the front"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["models", "--by", "model", "--pareto", "squad_em"], "--pareto takes two metrics, not 'squad_em'"),
        (["models", "--by", "model", "--pareto", "squad_em,speed"], "speed"),
        (["models"], "Give several runs, or one run and --by COLUMN"),
        (["models", "--by", "modle"], "modle"),
        (["models", "--by", "model", "--within", "knid"], "knid"),
        (["models", "models", "--by", "model"], "2 runs are given"),
    ],
)
def test_a_leaderboard_without_systems_is_refused(sgi, models, tmp_path, arguments, text):
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    result = sgi("compare", *arguments)
    assert result.code == 2
    assert text in result.err
