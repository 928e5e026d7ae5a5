from __future__ import annotations

import shutil
import tomllib

import pytest

from sgi.cli.show_command import toml_lines
from sgi.kernel.sample import Sample
from sgi.service.service import RAGEvalService
from sgi.store.database import open_database
from support import command
from support.answers import TERMINAL_ATTACK, rows, write_jsonl
from support.runs import add_run


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scored")
    write_jsonl(folder / "a.jsonl", rows(spoilt=10))
    metrics = "squad_em,semantic_similarity"
    result = command.sgi(folder, "run", "a.jsonl", "-m", metrics, "--name", "monday", "-q")
    assert result.code == 0
    return folder, result.out


@pytest.fixture
def kept(scored, tmp_path):
    folder, printed = scored
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return printed


def test_json_holds_the_summary_the_spec_and_the_versions(sgi, kept):
    result = sgi("show", "mon", "--json")
    assert result.code == 2  # names are given whole; ids may be cut short
    result = sgi("show", "monday", "--json").json
    assert result["run"]["spec"]["metrics"] == ["squad_em", "semantic_similarity"]
    assert result["run"]["versions"]["sgi"]
    assert result["summary"]["metrics"][0]["mean"] == 0.75
    assert result == sgi("show", result["run"]["id"][:-2], "--json").json


def test_the_worst_rows_of_a_metric_with_the_beginnings_of_their_texts(sgi, kept):
    result = sgi("show", "last", "--worst", "3", "-m", "semantic_similarity")
    lines = result.out.splitlines()[::3]
    facts = sgi("show", "last", "--worst", "3", "-m", "semantic_similarity", "--json").json
    assert (facts["metric"], facts["higher_is_better"], len(facts["worst"])) == (
        "semantic_similarity",
        True,
        3,
    )
    assert [line.split()[0] for line in lines[:3]] == [row["id"] for row in facts["worst"]]
    values = [row["value"] for row in facts["worst"]]
    assert values == sorted(values)
    assert f"{values[0] * 100:.2f} %" in lines[0]
    (first,) = sgi("show", "last", "--worst", "1", "--json").json["worst"]  # of the main metric
    assert first["value"] == values[0]


def test_by_label_and_by_what_is_no_text(sgi, kept):
    labels = sgi("show", "last", "--by", "label", "--json").json["groups"]
    assert [(group["name"], group["metrics"][0]["mean"]) for group in labels] == [("0", 0.5), ("1", 1.0)]
    tags = sgi("show", "last", "--by", "tags", "--json").json["groups"]
    assert [group["name"] for group in tags] == ['["a", 0]', '["a", 1]']


def test_a_metadata_column_named_label_has_priority(sgi, tmp_path):
    data = [row | {"metadata": {"label": "good"}} for row in rows(6)]
    write_jsonl(tmp_path / "a.jsonl", data)
    sgi("run", "a.jsonl", "-m", "squad_em", "-q")
    (group,) = sgi("show", "last", "--by", "label", "--json").json["groups"]
    assert (group["name"], group["rows"]) == ("good", 6)


def test_an_option_of_another_view_is_refused_with_advice_that_works(sgi, kept):
    refused = sgi("show", "last", "--sample", "q0", "-m", "squad_em")
    assert refused.code == 2
    assert "-m cannot be combined with --sample. Leave out -m, or use --worst in place of" in refused.err
    assert "Add --worst" in sgi("show", "last", "-m", "squad_em").err


def test_a_run_without_a_scored_row(sgi, tmp_path):
    (tmp_path / "hopeless_rag.py").write_text("def answer(question):\n    raise RuntimeError('no')\n")
    write_jsonl(tmp_path / "a.jsonl", rows(3))
    assert sgi("run", "a.jsonl", "-m", "squad_em", "--target", "hopeless_rag:answer", "-q").code == 2
    result = sgi("show", "last")
    assert (result.code, "rows      0 of 3" in result.out) == (0, True)
    assert sgi("show", "last", "--json").json["summary"]["metrics"] == []
    none = sgi("show", "last", "--worst", "3")
    assert (none.code, "has no metric to sort by" in none.err) == (2, True)
    assert sgi("show", "last", "--by", "method").code == 0


def test_five_reasons_are_listed_and_the_others_are_counted(sgi, tmp_path):
    absent = [{"id": f"q{n}", "query": "Who?", "method": "a", "error": f"no {n}"} for n in range(8)]
    answered = {"id": "q8", "query": "Who?", "method": "a", "response": "Ann", "reference": "Ann"}
    write_jsonl(tmp_path / "a.jsonl", [answered, *absent])
    assert sgi("run", "graphrag:a.jsonl", "-m", "squad_em", "-q").code == 0
    shown = sgi("show", "last").out
    reasons = sgi("show", "last", "--json").json["reasons"]
    assert (shown.count("no answer, but an error"), len(reasons)) == (5, 8)
    assert (
        f"3 without a value for 3 other reasons: sgi show {sgi('runs', '--json').json[0]['id']} --json"
        in shown
    )


def test_a_run_that_an_application_grows(sgi, tmp_path):
    service = RAGEvalService(database=tmp_path / "sgi.db")
    for number in range(3):
        service.save_evaluation_to_db("live", f"pair {number}", answer="a", squad_em=1.0)
    result = sgi("show", "live")
    assert "computed now" in result.out
    assert "3 / 3" in result.out
    assert "--resume" not in result.out  # nobody but the application can go on with it
    assert sgi("runs", "--json").json[0]["state"] == "unfinished"


def test_the_spec_runs_again(sgi, kept, tmp_path):
    spec = sgi("show", "monday", "--spec").out
    (tmp_path / "again.toml").write_text(spec)
    assert sgi("run", "again.toml", "--name", "tuesday", "-q").code == 0
    again = sgi("show", "tuesday", "--spec", "--json").json
    assert again == sgi("show", "monday", "--spec", "--json").json | {"name": "tuesday"}
    assert tomllib.loads(spec) | {"name": "monday"} == sgi("show", "monday", "--spec", "--json").json
    assert sgi("show", "monday", "--spec", "--by", "method").code == 2


@pytest.mark.parametrize("text", [TERMINAL_ATTACK, 'a"b\\c', "\x7f\x00\u2028", "é 東京 𝄞", ""])
def test_any_text_is_toml_and_steers_nothing(text):
    spec = {"data": text, "columns": {text: [text, 1, 0.5, True]}, "n-1": 2**70}
    lines = list(toml_lines(spec))
    assert tomllib.loads("\n".join(lines)) == spec
    assert not set("".join(lines)) & set("\x1b\x9b\u202e\n\x00")


def test_what_no_json_library_likes_is_still_json(sgi, tmp_path):
    value = "\ud800\0"  # no text that JSON's fast writer takes, nor PostgreSQL
    sample = Sample.model_construct(id="1", metadata={"k": value}, _fields_set={"id", "metadata"})
    with open_database(tmp_path / "sgi.db") as database:
        add_run(database, samples=[sample])
    (group,) = sgi("show", "last", "--by", "k", "--json").json["groups"]
    assert group["name"] == value
    assert sgi("show", "last", "--by", "k").code == 0
