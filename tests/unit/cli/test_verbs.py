from __future__ import annotations

import io
import json
import re
import sys
from types import SimpleNamespace

import pytest
from typer.main import get_command

from sgi.cli.commands import ALSO, EVERYDAY, FIRST_OPTIONS, GROUPS, MEMBERS, command_points
from sgi.cli.main import app
from sgi.kernel.registry import metric_names

TRIPLE = ("--q", "Who wrote Emma?", "--c", "Emma is a novel by Jane Austen.", "--r", "Jane Austen wrote it.")


def test_compute_prints_the_published_line(sgi):
    result = sgi("compute", *TRIPLE)
    assert re.fullmatch(r"SGI=\d+\.\d{6}  theta_rq=\d+\.\d{6}  theta_rc=\d+\.\d{6}\n", result.out)


def test_compute_json_has_the_three_published_keys_in_order(sgi):
    result = sgi("compute", *TRIPLE, "--json")
    assert list(result.json) == ["theta_rq", "theta_rc", "sgi"]
    assert result.out.startswith('{\n  "theta_rq": ')
    assert result.json["sgi"] == pytest.approx(result.json["theta_rq"] / result.json["theta_rc"], rel=1e-6)


def test_compute_takes_long_names(sgi):
    long = [{"--q": "--question", "--c": "--context", "--r": "--response"}.get(word, word) for word in TRIPLE]
    assert sgi("compute", *long).out == sgi("compute", *TRIPLE).out


def test_compute_of_several_contexts_is_that_of_the_nearest(sgi):
    result = sgi("compute", *TRIPLE, "--c", "Bananas are yellow.")
    assert result.out == sgi("compute", *TRIPLE).out
    assert result.err == "Context 1 of 2 is nearest to the response.\n"
    other_order = sgi("compute", "--c", "Bananas are yellow.", *TRIPLE, "--json").json
    assert list(other_order) == ["theta_rq", "theta_rc", "sgi", "context"]
    assert other_order["context"] == 1


def test_compute_names_the_context_that_is_blank_or_cut(sgi):
    blank = sgi("compute", *TRIPLE, "--c", " ")
    assert (blank.code, "The context 2 is blank" in blank.err) == (2, True)
    truncate = ("--long-texts", "truncate")
    long = sgi("compute", *TRIPLE, "--c", "Bananas are yellow. " * 100, "--json", *truncate)
    assert list(long.json["truncated"]) == ["context 2"]


def test_compute_with_a_deployment_but_no_variables_names_them(sgi):
    result = sgi("compute", *TRIPLE, "--deployment", "text-embedding-3-small")
    assert result.code == 2
    assert "AZURE_OPENAI_" in result.err


EXAMPLE_OF = {"runs.list": "runs", "runs.show": "show"}


def pipe(monkeypatch, text: bytes):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text), isatty=lambda: False))


def test_score_is_a_filter(sgi, monkeypatch):
    pipe(
        monkeypatch,
        b'{"response": "Paris", "reference": "paris"}\n{"response": "Rome", "reference": "Paris"}\n',
    )
    result = sgi("score", "-m", "squad_em", "--batch-size", "1")
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert [row["scores"]["squad_em"]["value"] for row in rows] == [1.0, 0.0]
    assert [row["id"] for row in rows] == ["1", "2"]
    assert result.err == "Columns: response, reference.\n"


def test_score_says_again_which_columns_it_used_if_later_rows_had_others(sgi, monkeypatch):
    text = b'{"output": "Paris", "reference": "paris"}\n{"answer": "Rome", "reference": "Paris"}\n'
    pipe(monkeypatch, text)
    assert sgi("score", "-m", "squad_em").err.splitlines() == [
        "Columns: response ← output, reference.",
        "Columns: response ← output, answer; reference.",
    ]
    pipe(monkeypatch, text)
    assert sgi("score", "-m", "squad_em", "--quiet").err == ""


def test_score_reads_another_encoding_from_standard_input(sgi, monkeypatch):
    pipe(monkeypatch, '{"response": "Café", "reference": "café"}\n'.encode("cp1252"))
    result = sgi("score", "-m", "squad_em", "--encoding", "cp1252")
    assert json.loads(result.out)["scores"]["squad_em"]["value"] == 1.0


def test_score_names_the_bad_line_and_can_skip_it(sgi, monkeypatch):
    text = b'{"response": "Paris", "reference": "paris"}\nno json\n'
    pipe(monkeypatch, text)
    assert "<stdin>:2" in sgi("score", "-m", "squad_em").err
    pipe(monkeypatch, text)
    result = sgi("score", "-m", "squad_em", "--on-error", "skip")
    assert (result.code, len(result.out.splitlines())) == (3, 1)
    assert "<stdin>:2" in result.err


def test_metrics_lists_every_metric_and_knows_each_page(sgi):
    listed = sgi("metrics", "--all").out
    assert all(re.search(rf"^{name} ", listed, re.MULTILINE) for name in metric_names())
    page = sgi("metrics", "sgi").out
    assert "question" in page
    assert "arXiv:2512.13771" in page
    assert {entry["name"] for entry in sgi("metrics", "--json").json} == set(metric_names())
    assert sgi("metrics", "sgi", "--json").json["range"] == [0.0, None]
    assert "Did you mean" in sgi("metrics", "rouge").err


def test_models_are_listed_and_the_embedded_one_verifies(sgi):
    assert "minilm" in sgi("study", "models").out
    assert {entry["name"] for entry in sgi("study", "models", "list", "--json").json} >= {
        "minilm",
        "all-mpnet-base-v2",
    }
    assert sgi("study", "models", "verify", "minilm").code == 0


def test_cache_says_what_it_holds_and_forgets_it(sgi):
    sgi("compute", *TRIPLE)
    rows = '{"question": "q", "response": "r"}\n'
    with open("a.jsonl", "w") as file:  # noqa: PTH123 - the working folder is the test's own
        file.write(rows)
    sgi("run", "a.jsonl", "-m", "theta_rq", "--cache", "v.db", "-q")
    assert sgi("runs", "cache", "stats", "--cache", "v.db", "--json").json["entries"] == 2
    assert sgi("runs", "cache", "clear", "--cache", "v.db").code == 0
    assert sgi("runs", "cache", "stats", "--cache", "v.db", "--json").json["entries"] == 0


def test_doctor_finds_all_well(sgi):
    result = sgi("doctor", "--json")
    assert result.code == 0
    assert {check["name"] for check in result.json} >= {"python", "embedded model", "vector cache"}
    assert all(check["ok"] for check in result.json if check["required"])


def test_demo_scores_the_sample_and_says_what_to_think_of_it(sgi, tmp_path):
    result = sgi("demo")
    assert result.code == 0
    assert len(result.out.splitlines()) <= 25
    assert max(map(len, result.out.splitlines())) <= 80
    rows = [json.loads(line) for line in (tmp_path / "sgi-demo.jsonl").read_text().splitlines()]
    assert len(rows) == 60
    values = {row["id"]: row["scores"]["grounding"]["value"] for row in rows}
    lower = sum(values[f"q{n}-invented"] < values[f"q{n}-right"] for n in range(1, 31))
    words = " ".join(result.out.split())
    assert f"grounding is lower for the invented answer than for the right one in {lower} of 30" in words
    assert "Length alone does at least as well: the invented answer is the longer one in 30 of 30." in words
    example = next(row for row in rows if f"\n{row['id']}: grounding " in result.out)
    assert "number 17-year: in no passage" in result.out
    assert "17-year" in example["response"]
    assert "17-year" not in example["contexts"][0]
    assert "<title>HaluEval QA, the bundled sample" in (tmp_path / "sgi-demo.html").read_text("utf-8")
    assert sgi("runs", "--db", "sgi-demo.db", "--json").json[0]["state"] == "finished"


@pytest.mark.parametrize("name", ["answers.csv", "answers.jsonl"])
def test_the_answers_of_the_demo_are_written_and_read_without_options(sgi, name):
    assert "60 answers with labels" in sgi("demo", "--data", name).err
    plan = sgi("run", name, "--dry-run", "--json").json
    assert (plan["rows"], plan["metrics"]) == (60, ["grounding", "semantic_similarity"])
    assert plan["columns"]["fields"].keys() >= {"question", "contexts", "response", "reference", "label"}


def test_every_command_has_help_with_an_example(sgi):
    for name in command_points():
        example = f"sgi {EXAMPLE_OF.get(name, name.replace('.', ' '))} "
        assert example in sgi(*name.split("."), "--help").out.partition("Example")[2], name


def test_help_shows_every_text_in_brackets(sgi, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for words, command in commands_below(get_command(app), ()):
        is_long = any(option.name == "help_all" for option in command.params)
        shown = re.sub(r"[\s│]+", "", sgi(*words, "--help-all" if is_long else "--help").out)
        texts = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
        for part in re.findall(r"\[[^\]\n]*\]", "\n".join(texts)):
            assert re.sub(r"\s", "", part) in shown, (words, part)


def commands_below(command, words):
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name in command.commands:
        yield from commands_below(command.commands[name], (*words, name))


def test_version_and_bare_command(sgi):
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", sgi("--version").out)
    assert "sgi demo" in sgi().out


def test_help_shows_the_everyday_commands_and_first_options(sgi):
    top = sgi("--help").out
    listed = re.findall(r"^│ ([a-z][a-z-]*) ", top, re.MULTILINE)
    assert listed == [*EVERYDAY, *GROUPS]
    assert all(name in top.partition("Also:")[2] for name in ALSO)
    assert "--max-cell" not in top
    assert "--max-cell" in sgi("--help-all").out
    short, full = (set(re.findall(r"--[a-z-]+", sgi("run", each).out)) for each in ("--help", "--help-all"))
    assert short < full
    assert (
        len(re.findall(r"^│ [* ]{,5}--", sgi("run", "--help").out, re.MULTILINE)) == 12
    )  # ten and two for help


def test_a_command_of_a_group_is_named_with_its_group(sgi):
    refused = sgi("export", "last")
    assert (refused.code, "Write: sgi runs export" in refused.err) == (2, True)


def test_help_fits_into_80_columns(sgi):
    shown = sgi("run", "--help").out
    assert "gpt-4o-mini \\\n       --max-cost 2" in re.sub(" +\n", "\n", shown)
    assert "names another. Finished batches" in re.sub(r"\s+", " ", shown)  # no line break of the source


def test_every_command_has_its_place_and_every_first_option_exists(sgi):
    members = {f"{group}.{name}" for group, names in MEMBERS.items() for name in names}
    assert {*command_points()} == {*EVERYDAY, *ALSO, *members}
    for path, names in FIRST_OPTIONS.items():
        shown = re.findall(r"^│ [* ]{,5}--", sgi(*path.split("."), "--help").out, re.MULTILINE)
        assert len(shown) == len(names.split()) + 2, path


def test_without_a_command_sgi_names_the_next_one(sgi, tmp_path):
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "odd.csv").write_text("Frage,Text\nWer?,Ich\n")
    assert "sgi run odd.csv --map response=COLUMN" in sgi().out
    (tmp_path / "chat.csv").write_text("question,response\nWho?,Me\n")
    assert "sgi run chat.csv --map contexts=COLUMN" in sgi().out
    (tmp_path / "chat.csv").unlink()
    (tmp_path / "questions.csv").write_text("question,reference\nWho?,Me\n")
    asked = sgi().out
    assert "questions.csv has question, reference." in asked
    assert "sgi run questions.csv --target app:answer" in asked
    assert "package.json" not in asked
    (tmp_path / "my answers.csv").write_text("question,response,reference\nWho?,Me,Me\n")
    assert "sgi run 'my answers.csv'" in sgi().out
    for _ in range(2):
        assert "sgi compare" not in sgi().out
        sgi("run", "my answers.csv", "-m", "squad_em", "-q")
    assert "2 runs in sgi.db" in sgi().out
    assert "sgi compare last~1 last" in sgi().out


def test_each_command_knows_both_names_of_the_help_without_the_command_that_contains_it():
    def commands(command):
        yield command
        for name in getattr(command, "commands", {}):
            yield from commands(command.commands[name])

    names = [
        each.make_context("x", [], resilient_parsing=True).help_option_names
        for each in commands(get_command(app))
    ]
    assert len(names) > 40
    assert all(each == ["-h", "--help"] for each in names)
