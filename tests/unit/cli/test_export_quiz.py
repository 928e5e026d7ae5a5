"""Failed rows of a run become rows of a test set."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support import command
from support.answers import rows, write_jsonl

TRACES = Path(__file__).parents[2] / "data" / "exports" / "openinference.otlp.jsonl"
TARGET = "def answer(question):\n    return 'the answer number ' + question.split()[-3]\n"
BAD_TARGET = "def answer(question):\n    return 'nothing of the kind'\n"
ANSWER = "nothing of the kind"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_jsonl(folder / "bad.jsonl", rows(30, spoilt=12))
    write_jsonl(folder / "worse.jsonl", rows(30, spoilt=14))
    for name in ("bad", "worse"):
        assert command.sgi(folder, "run", f"{name}.jsonl", "-m", "squad_em", "--name", name, "-q").code == 0
    return folder


@pytest.fixture
def kept(runs, tmp_path):
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    (tmp_path / "right_for_export.py").write_text(TARGET)
    (tmp_path / "wrong_for_export.py").write_text(BAD_TARGET)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def exported(sgi, tmp_path, data, *words):
    """Export the failures of a new run of these rows."""
    write_jsonl(tmp_path / "data.jsonl", data)
    assert sgi("run", "data.jsonl", "-m", "squad_em", "-q", *words).code == 0
    result = sgi("runs", "export", "last", "--as-quiz")
    assert result.code == 0
    return [json.loads(line) for line in result.out.splitlines()], result.err


def test_failed_rows_are_questions_with_the_reason_and_without_the_answer(sgi, kept, tmp_path):
    result = sgi("runs", "export", "bad", "--as-quiz", "-o", "failures.jsonl", "--json")
    assert (result.json["rows"], result.json["failed"], result.json["passed"]) == (12, 12, 18)
    assert "By squad_em, 12 rows failed, 18 did not fail." in result.err
    first, *others = lines(tmp_path / "failures.jsonl")
    assert first.pop("why") == "squad_em was 0.0000 in the run bad."
    assert (first.pop("id")[:11], first.pop("from_run")) == ("regression-", result.json["run"])
    assert first == {
        "question": "Question 0 of many?",
        "reference": "the answer number 0",
        "kind": "regression",
        "from_row": "q0",
        "method": "bm25",
        "depth": 0,
        "tags": ["a", 0],
    }
    assert len({row["id"] for row in others}) == 11
    assert ANSWER not in json.dumps([{**row, "why": ""} for row in others])


def test_a_second_run_adds_only_new_questions(sgi, kept, tmp_path):
    assert sgi("runs", "export", "bad", "--as-quiz", "-o", "failures.jsonl").code == 0
    before = (tmp_path / "failures.jsonl").read_text()
    result = sgi("runs", "export", "worse", "--as-quiz", "-o", "failures.jsonl")
    assert "Wrote 2 rows to failures.jsonl. 12 are in the file already." in result.err
    after = (tmp_path / "failures.jsonl").read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == 14
    assert len(sgi("runs", "export", "worse", "--as-quiz", "--worst", "3").out.splitlines()) == 3


def test_a_quiz_and_its_failures_are_one_file_with_a_verdict_for_each_kind(sgi, kept, tmp_path):
    fields = {"gold_passages": [], "gold_ids": None, "answerable": True, "kind": "fact", "same_as": "x"}
    quiz = [
        {key: row[key] for key in ("question", "reference")} | {"id": f"fact-{row['id']}"} | fields
        for row in rows(30)
    ]
    write_jsonl(tmp_path / "quiz.jsonl", quiz)
    assert sgi("runs", "export", "bad", "--as-quiz", "-o", "failures.jsonl").code == 0
    text = (tmp_path / "quiz.jsonl").read_text() + (tmp_path / "failures.jsonl").read_text()
    (tmp_path / "all.jsonl").write_text(text)
    rule, easy = "kind=regression: squad_em>=0.8", "kind=regression: squad_em>=0.7"
    for target in ("right_for_export", "wrong_for_export"):
        words = ("--target", f"{target}:answer", "-m", "squad_em", "--name", target, "-q")
        assert sgi("run", "all.jsonl", *words).code == 0
        summary = sgi("show", target, "--json").json["summary"]
        assert (summary["rows"], summary["questions"]) == (42, 30)  # a question in both files is one cluster
    good = sgi("gate", "right_for_export", "squad_em>=0.8", "--by", "kind", "--json")
    checks = {check["where"]: check for check in good.json["checks"]}
    assert checks["kind=fact"]["passed"] is True
    assert "kind=regression has 12 questions; about" in checks["kind=regression"]["reason"]
    assert (good.code, sgi("gate", "right_for_export", rule).code) == (4, 4)
    assert sgi("gate", "right_for_export", easy).code == 0
    for words in ((rule,), (easy,), (easy, "--on", "mean"), ("squad_em>=0.5", "--by", "kind")):
        assert sgi("gate", "wrong_for_export", *words).code == 4


def test_the_failing_rows_of_a_group_are_rows_of_the_group(sgi, tmp_path):
    data = [row | {"kind": "fact"} for row in rows(20)]
    data += [row | {"id": f"r{row['id']}", "kind": "regression"} for row in rows(8)]
    for row in data[::4]:
        row["reference"] = None
    write_jsonl(tmp_path / "data.jsonl", data)
    sgi("run", "data.jsonl", "-m", "squad_em", "-q")
    assert sgi("gate", "last", "kind=regression: squad_em>=0.1", "--code-quality", "q.json").code == 4
    issues = json.loads((tmp_path / "q.json").read_text())
    assert [issue["location"]["lines"]["begin"] for issue in issues] == [21, 25]


def test_each_question_once_and_no_column_that_is_read_as_an_answer(sgi, tmp_path):
    same = {"question": "Who?", "reference": ["Ada", "Ada L."], "answer": "Bob", "repeat": 2, "trace_id": "1"}
    data = [
        {"response": "Bob", "team": "red", **same},
        {"response": "Cleo", **same},
        {"response": "Bob", "question": " ", "reference": "Ada"},
        {"response": "Ada", "question": "And who?", "reference": "Ada"},
        {"response": "Ada", "question": "Unknown?"},
    ]
    (row,), notes = exported(sgi, tmp_path, data)
    assert (row["reference"], row["alternatives"], row["team"]) == ("Ada", ["Ada L."], "red")
    assert row.keys().isdisjoint({"answer", "response", "repeat", "trace_id", "gold_ids", "gold_passages"})
    counts = "1 did not fail, 1 have no value, 1 have no question, 1 repeat a question."
    assert f"3 rows failed, {counts}" in notes


def test_gold_is_what_the_row_has(sgi, tmp_path):
    base = {"response": "Bob", "reference": "Ada", "contexts": ["It was Ada."], "context_ids": ["d9"]}
    data = [
        {**base, "question": "Is there no gold?"},
        {**base, "question": "Are there ids?", "gold_ids": ["d1", "d2"], "answerable": True},
        {
            **base,
            "question": "Are there grades?",
            "relevance": {"d1": 2, "d2": 0},
            "gold_passages": ["It was Ada."],
        },
    ]
    (none, ids, grades), _ = exported(sgi, tmp_path, data)
    assert none.keys().isdisjoint({"gold_ids", "relevance", "gold_passages", "answerable", "contexts"})
    assert (ids["gold_ids"], ids["answerable"]) == (["d1", "d2"], True)
    assert (grades["relevance"], grades["gold_passages"]) == ({"d1": 2, "d2": 0}, ["It was Ada."])
    write_jsonl(tmp_path / "again.jsonl", [none, ids, grades])
    (tmp_path / "right_for_export.py").write_text(TARGET)
    again = sgi("run", "again.jsonl", "--target", "right_for_export:answer", "-m", "squad_em", "-q")
    assert again.code == 0


def test_a_conversation_ends_with_its_question(sgi, tmp_path):
    texts = ("Who built it?", "Ada.", "When?", "In 1900.")
    turns = [{"role": ("user", "assistant")[at % 2], "text": text} for at, text in enumerate(texts)]
    (row,), _ = exported(sgi, tmp_path, [{"turns": turns, "reference": "In 1912."}])
    assert (row["question"], row["turns"]) == ("When?", turns[:3])
    plain = {"question": "When?", "response": "In 1900.", "reference": "In 1912."}
    (other,), _ = exported(sgi, tmp_path, [plain])
    assert row["id"] != other["id"]


def test_traces_have_no_reference_and_their_answers_are_left_out(sgi, tmp_path):
    assert sgi("run", TRACES, "-m", "latency", "-q").code == 0
    result = sgi("runs", "export", "last", "--as-quiz", "-o", "failures.jsonl")
    found = lines(tmp_path / "failures.jsonl")
    answers = [
        json.loads(line)["response"] for line in sgi("runs", "export", "last", "--inputs").out.splitlines()
    ]
    assert (result.code, len(found) > 0) == (0, True)
    for row in found:
        assert (row["reference"], row["kind"]) == (None, "regression")
        assert row.keys().isdisjoint({"gold_ids", "gold_passages", "trace_id", "span_id", "contexts"})
        assert not any(answer in json.dumps(row | {"why": ""}) for answer in answers)


def test_answers_without_a_finding_did_not_fail_by_grounding(sgi, tmp_path):
    passage = "The tower was built in 1950 and is 30 m tall."
    data = [
        {"question": f"When was tower {row}?", "contexts": [passage], "response": f"It was built in {year}."}
        for row, year in enumerate([1950, 1950, 1987])
    ]
    write_jsonl(tmp_path / "data.jsonl", data)
    sgi("run", "data.jsonl", "-m", "grounding", "-q")
    result = sgi("runs", "export", "last", "--as-quiz")
    (row,) = map(json.loads, result.out.splitlines())
    assert row["question"] == "When was tower 2?"
    assert "A guess of sgi diagnose: a passage has another value or name: read it." in row["why"]


def test_a_run_without_texts_or_failures_and_wrong_options(sgi, kept, tmp_path):
    sgi("run", "bad.jsonl", "-m", "squad_em", "--name", "private", "--no-texts", "-q")
    assert "stores none" in sgi("runs", "export", "private", "--as-quiz").err
    write_jsonl(tmp_path / "good.jsonl", rows(4))
    sgi("run", "good.jsonl", "-m", "squad_em", "--name", "good", "-q")
    nothing = sgi("runs", "export", "good", "--as-quiz", "-o", "none.jsonl")
    assert (nothing.code, (tmp_path / "none.jsonl").read_text()) == (0, "")
    write_jsonl(tmp_path / "blank.jsonl", [{"response": "Ada", "question": "Who?", "reference": ""}])
    sgi("run", "blank.jsonl", "-m", "squad_em", "--name", "blank", "-q")
    (tmp_path / "notes.jsonl").write_text("not JSON\n")
    for words, message in (
        (("bad", "--worst", "3"), "need --as-quiz"),
        (("bad", "--as-quiz", "--inputs"), "cannot be combined with --inputs"),
        (("bad", "--as-quiz", "-o", "f.csv"), "needs a .jsonl file"),
        (("good", "--as-quiz", "-o", "good.jsonl"), "data of the run"),
        (("bad", "--as-quiz", "-o", "notes.jsonl"), "is not a quiz"),
        (("bad", "--as-quiz", "-m", "rouge_l"), "Unknown metric"),
        (("blank", "--as-quiz"), "No row of blank has a value."),
        (("blank", "--as-quiz", "-m", "squad_em"), "No row of blank has a value of squad_em."),
    ):
        result = sgi("runs", "export", *words)
        assert (result.code, message in result.err) == (2, True), result.err
    assert (tmp_path / "notes.jsonl").read_text() == "not JSON\n"
