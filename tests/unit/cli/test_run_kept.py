"""`sgi run` with a store, a target and a spec file."""

from __future__ import annotations

import json

import pytest

ROWS = [{"id": str(n), "question": f"q{n}", "response": f"it is {n}", "reference": str(n)} for n in range(20)]
APP = """
from pathlib import Path

def answer(question):
    if question == "q3" and not Path("mended").exists():
        raise RuntimeError("no answer to q3")
    return "it is " + question
"""


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def kept(sgi, *words):
    return sgi("runs", "--json", *words).json


def test_a_run_is_stored_under_its_name(sgi, answers):
    result = sgi("run", answers, "-m", "rouge_l", "--name", "monday")
    assert result.code == 0
    assert "The run is stored. Show it: sgi show 2" in result.err
    (run,) = kept(sgi)
    assert (run["name"], run["rows"]) == ("monday", 20)
    assert sgi("run", answers, "-m", "rouge_l", "--json", "-q").json["run"] == kept(sgi)[0]["id"]


def test_where_a_run_is_stored(sgi, answers, tmp_path, monkeypatch):
    assert sgi("run", answers, "-m", "rouge_l", "-q", "--db", "other.db").code == 0
    monkeypatch.setenv("SGI_DATABASE_URL", f"sqlite:///{tmp_path / 'environment.db'}")
    assert sgi("run", answers, "-m", "rouge_l", "-q").code == 0
    assert sgi("run", answers, "-m", "rouge_l", "-q", "--no-store").code == 0
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["environment.db", "other.db"]


def test_a_finished_run_is_printed_again_without_its_data(sgi, answers):
    first = sgi("run", answers, "-m", "rouge_l", "-q")
    answers.unlink()
    assert sgi("run", "--resume", "last", "-q").out == first.out


def test_failed_rows_of_a_target_are_retried_on_request(sgi, answers, tmp_path, monkeypatch):
    (tmp_path / "cli_app.py").write_text(APP)
    monkeypatch.syspath_prepend(tmp_path)
    words = ("--target", "cli_app:answer", "--target-set", "retries=0", "--max-failures", "10%", "-q")
    result = sgi("run", answers, "-m", "rouge_l", *words, "-o", "first.jsonl")
    assert result.code == 3
    rows = [json.loads(line) for line in (tmp_path / "first.jsonl").read_text().splitlines()]
    assert rows[3]["scores"]["rouge_l"]["status"] == "failed"
    assert "no answer to q3" in rows[3]["scores"]["rouge_l"]["reason"]
    (tmp_path / "mended").write_text("yes")
    assert sgi("run", "--resume", "last", "-q").code == 3
    words = ("--target", "cli_app:answer", "--target-set", "retries=0")
    assert sgi("run", "--resume", "last", "--retry-failed", *words, "-q").code == 0
    assert sgi("show", "last", "--json").json["summary"]["metrics"][0]["ok"] == 20


def test_what_a_target_prints_is_no_data_and_the_hints_name_the_database(sgi, answers, tmp_path, monkeypatch):
    (tmp_path / "loud_app.py").write_text("def answer(question):\n    print('NOISE')\n    return question\n")
    monkeypatch.syspath_prepend(tmp_path)
    words = ("--target", "loud_app:answer", "--db", "my runs.db")
    result = sgi("run", answers, "-m", "rouge_l", *words, "--json")
    assert result.json["rows"] == 20
    assert "NOISE" in result.err
    assert result.err.rstrip().endswith("--db 'my runs.db'")


def test_a_resumed_run_writes_its_file(sgi, answers, tmp_path, monkeypatch):
    (tmp_path / "weak_app.py").write_text(APP.replace("q3", "q5"))
    monkeypatch.syspath_prepend(tmp_path)
    words = ("--target", "weak_app:answer", "--target-set", "retries=0", "-q", "-o", "out.jsonl")
    result = sgi("run", answers, "-m", "rouge_l", *words, "--max-failures", "1%", "--name", "weak")
    assert (result.code, (tmp_path / "out.jsonl").exists()) == (2, False)
    (tmp_path / "mended").write_text("yes")
    assert sgi("run", "--resume", "weak", "--target", "weak_app:answer", "-q").code == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 20


def test_a_dry_run_counts_calls_and_keeps_nothing(sgi, answers, tmp_path):
    result = sgi("run", answers, "-m", "rouge_l", "--target", "app:answer", "--dry-run", "--json")
    assert result.json["target_calls"] == 20
    assert not (tmp_path / "sgi.db").exists()


def test_a_spec_file_is_a_run_and_options_go_over_it(sgi, answers, tmp_path):
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "run.toml").write_text(
        'data = "../answers.jsonl"\nmetrics = "rouge_l"\nname = "one"\nout = "scores.csv"\ninputs = true\n'
    )
    assert sgi("run", "specs/run.toml", "-q").code == 0
    assert "it is 3" in (folder / "scores.csv").read_text()
    assert sgi("run", "specs/run.toml", "-q", "--name", "two", "-m", "squad_em", "-o", "two.jsonl").code == 0
    assert {run["name"]: list(run["metrics"]) for run in kept(sgi)} == {
        "two": ["squad_em"],
        "one": ["rouge_l"],
    }
    result = sgi("show", "one", "--spec")
    (tmp_path / "again.toml").write_text(result.out)
    assert sgi("run", "again.toml", "-q").code == 0


def test_a_run_of_a_spec_file_resumes_with_it(sgi, answers, tmp_path):
    (tmp_path / "run.toml").write_text('data = "answers.jsonl"\nmetrics = "rouge_l"\nname = "one"\n')
    first = sgi("run", "run.toml", "-q")
    assert sgi("run", "run.toml", "--resume", "one", "-q").out == first.out
    (tmp_path / "none.toml").write_text('metrics = "rouge_l"\n')
    assert "none.toml: data: field required." in sgi("run", "none.toml").err
    assert sgi("run", "--resume", "one", "--dry-run", "--json").json["rows"] == 20
    result = sgi("run", "run.toml", "--resume", "one", "-m", "squad_em")
    assert (result.code, "its settings changed" in result.err) == (2, True)
