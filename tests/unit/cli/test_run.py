from __future__ import annotations

import json

import pytest

ROWS = [
    {
        "id": "a",
        "question": "Who wrote Emma?",
        "contexts": ["Jane Austen wrote Emma."],
        "response": "Jane Austen.",
    },
    {"id": "b", "question": "Where is Rome?", "contexts": ["Rome is in Italy."], "response": "In Italy."},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(lines(ROWS))
    return path


def test_scores_every_row_and_says_where(sgi, answers, tmp_path):
    result = sgi("run", answers, "-m", "sgi,theta_rc", "-o", "out.jsonl")
    assert result.code == 0
    assert "2 / 2" in result.out
    assert "sgi:1|emb:minilm@" in result.out
    assert "out.jsonl" in result.err
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a", "b"]
    assert rows[0]["scores"]["sgi"]["status"] == "ok"
    assert set(rows[0]["scores"]["sgi"]["details"]) >= {"theta_rq", "theta_rc", "passages"}


def test_json_on_stdout_is_the_whole_summary(sgi, answers):
    result = sgi("run", answers, "-m", "sgi", "--json", "--quiet")
    assert result.json["metrics"][0]["metric"] == "sgi"
    assert result.json["metrics"][0]["coverage"] == 1.0
    assert result.err == ""


def test_dry_run_says_what_would_be_done_and_does_nothing(sgi, answers, tmp_path):
    result = sgi("run", answers, "-m", "sgi", "--dry-run", "-o", "out.jsonl", "--json", "-q")
    assert result.json["rows"] == 2
    assert result.json["metrics"] == ["sgi"]
    assert result.json["distinct_texts"] == 6
    assert not (tmp_path / "out.jsonl").exists()


BOTH = {
    "input": "Who wrote Emma?",
    "context": ["ideal"],
    "retrieval_context": ["Jane Austen wrote Emma."],
    "actual_output": "Jane Austen.",
    "expected_output": "Jane Austen",
}
USED = (
    "Columns: question ← input, contexts ← retrieval_context, response ← actual_output, "
    "reference ← expected_output. Not used: context (contexts ← retrieval_context)."
)


@pytest.mark.parametrize(
    "words", [(), ("--no-store",), ("--json",), ("-o", "out.jsonl"), ("--on-error", "skip")]
)
def test_every_run_says_which_columns_it_used(sgi, tmp_path, words):
    (tmp_path / "a.jsonl").write_text(lines([BOTH]))
    result = sgi("run", "a.jsonl", "-m", "squad_em", *words)
    assert result.code == 0
    assert result.err.splitlines()[0] == USED
    if "--json" in words:
        assert result.json["columns"]["fields"]["contexts"] == ["retrieval_context"]
        assert result.json["columns"]["not_used"] == {"context": "contexts ← retrieval_context"}


def test_a_run_in_a_spec_file_maps_paths_joins_and_encodes(sgi, tmp_path):
    text = 'frage;antwort;a;b;label\nWo?;"{""text"": ""Im Café""}";eins;zwei;topic\n'
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "spec.toml").write_text(
        'data = "a.csv"\nmetrics = "theta_rc"\nencoding = "cp1252"\ninputs = true\nout = "out.jsonl"\n'
        '[columns]\nquestion = "frage"\nresponse = "antwort.text"\ncontexts = "a,b"\nlabel = ""\n'
    )
    assert sgi("run", "spec.toml").code == 0
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert (row["response"], row["contexts"]) == ("Im Café", ["eins", "zwei"])
    assert (row.get("label"), row["metadata"]) == (None, {"label": "topic"})
    assert sgi("run", "--resume", "last", "--encoding", "cp1252").code == 0


def test_without_metrics_grounding_leads_and_rows_without_its_value_are_no_failure(sgi, tmp_path):
    japanese = {
        "id": "ja",
        "question": "誰がエマを書きましたか。",
        "contexts": ["ジェーン・オースティンは1815年にイギリスで小説エマを書いた。"],
        "response": "エマはジェーン・オースティンが1815年に書いた小説です。",
    }
    blank = {"id": "blank", "question": "Who?", "contexts": ["A passage."], "response": " "}
    (tmp_path / "a.jsonl").write_text(lines([*ROWS, japanese, blank, {"id": "none", "response": "r"}]))
    result = sgi("run", "a.jsonl", "--json", "-o", "out.jsonl")
    assert result.code == 0, result.err
    assert [metric["metric"] for metric in result.json["metrics"]] == ["grounding"]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["scores"]["grounding"]["status"] for row in rows] == [
        "ok",
        "ok",
        "undefined",
        "undefined",
        "missing",
    ]


def test_skipping_keeps_rejected_rows_with_reasons_and_exits_3(sgi, answers, tmp_path):
    answers.write_text(lines(ROWS) + "{broken\n" + lines([{"id": "a", "response": "again"}]))
    stopped = sgi("run", answers, "-m", "theta_rq", "-o", "out.jsonl")
    assert stopped.code == 2
    assert "answers.jsonl:3" in stopped.err
    assert not (tmp_path / "out.jsonl").exists()
    result = sgi("run", answers, "-m", "theta_rq", "-o", "out.jsonl", "--on-error", "skip")
    assert result.code == 3
    assert "2 rows could not be read" in result.err
    rejected = [json.loads(line) for line in (tmp_path / "out.rejected.jsonl").read_text().splitlines()]
    assert [row["line"] for row in rejected] == [3, 4]
    assert rejected[0]["row"] == "{broken"
    assert rejected[1]["row"]["response"] == "again"
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


def test_no_file_of_rejects_without_rejects(sgi, answers, tmp_path):
    assert sgi("run", answers, "-m", "theta_rq", "--on-error", "skip", "-q").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl", "sgi.db"]


def test_an_existing_output_survives_a_run_that_stops(sgi, answers, tmp_path):
    (tmp_path / "out.jsonl").write_text("precious")
    answers.write_text(lines(ROWS) + "{broken\n")
    assert sgi("run", answers, "-m", "theta_rq", "-o", "out.jsonl").code == 2
    assert (tmp_path / "out.jsonl").read_text() == "precious"


def test_a_second_run_embeds_nothing(sgi, answers):
    for _ in range(2):
        assert sgi("run", answers, "-m", "sgi", "--cache", "vectors.db", "-q").code == 0
    before = sgi("runs", "cache", "stats", "--cache", "vectors.db", "--json").json
    assert before["entries"] == 6


def test_a_run_of_lexical_metrics_opens_no_cache(sgi, answers, tmp_path):
    answers.write_text(lines(row | {"reference": "Jane"} for row in ROWS))
    (tmp_path / "taken").mkdir()
    assert sgi("run", answers, "-m", "rouge_l", "--cache", "taken").code == 0
    assert sgi("run", answers, "-m", "sgi", "--cache", "taken").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("-o", "answers.jsonl"),
        ("-o", "./x/../answers.jsonl"),
        ("-o", "out.jsonl", "--on-error", "skip", "--rejects", "answers.jsonl"),
        ("-o", "out.jsonl", "--on-error", "skip", "--rejects", "out.jsonl"),
        ("-o", "answers.rejected.jsonl", "--on-error", "skip", "--rejects", "answers.rejected.jsonl"),
    ],
)
def test_no_file_is_both_read_and_written_or_written_twice(sgi, answers, tmp_path, words):
    (tmp_path / "x").mkdir()
    before = answers.read_bytes()
    result = sgi("run", answers, "-m", "theta_rq", *words)
    assert result.code == 2
    assert "is given both as" in result.err
    assert answers.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl", "x"]


def test_a_file_of_rejects_is_no_rejects_of_itself(sgi, answers, tmp_path):
    kept = answers.rename(tmp_path / "a.rejected.jsonl")
    kept.write_text(lines(ROWS) + "{broken\n")
    before = kept.read_bytes()
    assert sgi("run", kept, "-m", "theta_rq", "--on-error", "skip", "-q").code == 3
    assert kept.read_bytes() == before
    assert (tmp_path / "a.rejected.rejected.jsonl").exists()


@pytest.mark.slow
def test_an_embedder_that_is_down_gives_a_note_and_exit_code_3(sgi, answers, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    answers.write_text(lines(row | {"reference": "Jane"} for row in ROWS))
    down = "openai:m@http://127.0.0.1:9/v1"
    result = sgi("run", answers, "-m", "semantic_similarity", "-e", "minilm", "-e", down)
    assert result.code == 3
    assert "2 rows were scored without openai:m, which returned no vectors" in result.err
