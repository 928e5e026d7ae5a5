from __future__ import annotations

import sqlite3

import pytest

from sgi.store.schema import SCHEMA_VERSION
from support.answers import TERMINAL_ATTACK, rows, write_jsonl


@pytest.fixture
def kept(sgi, tmp_path):
    write_jsonl(tmp_path / "a.jsonl", rows(12))
    assert sgi("run", "a.jsonl", "-m", "squad_em", "--name", "monday", "-q").code == 0


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE evals (id TEXT, test_run_id TEXT, qa_pair_id TEXT, bleu REAL, model TEXT)"
        )
        values = [
            ("1", "monday", "q1", 0.5, "m"),
            ("2", "monday", "q2", None, "m"),
            ("3", "x", "q1", 1.0, "n"),
        ]
        connection.executemany("INSERT INTO evals VALUES (?, ?, ?, ?, ?)", values)
    connection.close()
    return path


def test_status_says_place_schema_and_rows(sgi, kept):
    result = sgi("runs", "db", "status")
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[:2] == [["database", "sgi.db"], ["kind", "sqlite"]]
    assert lines[2][:2] == ["schema", SCHEMA_VERSION]
    assert ["scores", "12", "rows"] in lines
    facts = sgi("runs", "db", "status", "--json").json
    assert (facts["schema"], facts["needed"], facts["rows"]["runs"]) == (SCHEMA_VERSION, SCHEMA_VERSION, 1)


def test_a_newer_database_is_reported_and_not_changed(sgi, kept, tmp_path):
    with sqlite3.connect(tmp_path / "sgi.db") as connection:
        connection.execute("UPDATE sgi_version SET version_num = '9999'")
    connection.close()
    line = next(line for line in sgi("runs", "db", "status").out.splitlines() if line.startswith("schema"))
    assert "9999" in line
    assert SCHEMA_VERSION in line
    for words in (
        ["runs"],
        ["show", "last"],
        ["runs", "db", "export", "x.jsonl"],
        ["run", "a.jsonl"],
        ["serve"],
    ):
        result = sgi(*words)
        assert (result.code, result.out) == (2, "")
        assert all(word in result.err for word in ("sgi.db", "9999", SCHEMA_VERSION, "SGI_DATABASE_URL"))


def test_import_evals_brings_old_results_once(sgi, kept, old):
    result = sgi("runs", "db", "import-evals", "old.db")
    assert result.code == 0
    assert result.out.splitlines()[0] == "Imported runs: 2, rows: 3. Already in the database: 0."
    assert "Columns stored as metadata: id, model." in result.out
    facts = sgi("runs", "db", "import-evals", old, "--json").json
    assert (facts["runs"], facts["rows"], facts["skipped"]) == ([], 0, 2)
    (imported,) = sgi("runs", "--search", "x", "--json").json
    assert (imported["name"], imported["state"], imported["rows"]) == ("x", "finished", 1)
    page = sgi("show", "x")
    assert "computed now" in page.out
    assert "--resume" not in page.out
    groups = sgi("show", "x", "--by", "model", "--json").json["groups"]
    assert [(group["name"], group["metrics"][0]["mean"]) for group in groups] == [("n", 1.0)]


def test_hostile_old_names_stay_text(sgi, old):
    with sqlite3.connect(old) as connection:
        connection.execute("UPDATE evals SET test_run_id = ?", (TERMINAL_ATTACK,))
    connection.close()
    for words in (["runs", "db", "import-evals", "old.db"], ["runs"], ["show", "last"]):
        result = sgi(*words)
        assert result.code == 0
        assert not set(result.out + result.err) & set("\x1b\x9b\u202e")


def test_every_verb_works_on_postgresql(sgi, postgres_url, old, tmp_path, monkeypatch):
    monkeypatch.setenv("SGI_DATABASE_URL", postgres_url)
    for name, spoilt in (("a", 0), ("b", 15)):
        write_jsonl(tmp_path / f"{name}.jsonl", rows(spoilt=spoilt))
        assert sgi("run", f"{name}.jsonl", "-m", "squad_em", "--name", name, "-q").code == 0
    assert [run["name"] for run in sgi("runs", "--json").json] == ["b", "a"]
    assert sgi("show", "b", "--json").json["summary"]["metrics"][0]["mean"] == 0.625
    assert len(sgi("show", "b", "--by", "depth", "--json").json["groups"]) == 3
    assert [group["name"] for group in sgi("show", "b", "--by", "label", "--json").json["groups"]] == [
        "0",
        "1",
    ]
    assert sgi("compare", "a", "b", "--json").json["metrics"][0]["verdict"] == "worse"
    assert [sgi("gate", name, "squad_em>=0.9").code for name in ("a", "b")] == [0, 4]
    assert len(sgi("runs", "export", "a").out.splitlines()) == 40
    assert sgi("runs", "db", "import-evals", old, "--json").json["rows"] == 3
    status = sgi("runs", "db", "status", "--json").json
    assert (status["dialect"], status["rows"]["runs"]) == ("postgresql", 4)
    assert sgi("runs", "db", "export", "all.jsonl").code == 0
    assert sgi("runs", "db", "import", "all.jsonl", "--db", "copy.db", "--json").json["runs"] == 4
    assert sgi("show", "b", "--db", "copy.db", "--json").json == sgi("show", "b", "--json").json
    assert not (tmp_path / "sgi.db").exists()


@pytest.mark.parametrize("words", [("import", "no.jsonl"), ("import", "."), ("import-evals", "no.db")])
def test_what_cannot_be_imported_leaves_no_database(sgi, tmp_path, words):
    refused = sgi("runs", "db", *words, "--db", "new.db")
    assert refused.code == 2
    assert not (tmp_path / "new.db").exists()
