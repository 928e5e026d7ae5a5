"""``sgi run --repeat-judge``: a judge that replies by chance, asked several times about each answer."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from support.answers import write_jsonl
from support.judge_server import JudgeServer, ServerReply

TARGET = """\
import itertools

calls = itertools.count()


def answer(question):
    return {"response": f"answer {next(calls)}", "contexts": ["A passage."]}
"""
RATINGS = ("answer_relevance", "context_relevance", "groundedness")


@pytest.fixture
def questions(tmp_path):
    (tmp_path / "repeat_app.py").write_text(TARGET, encoding="utf-8")
    rows = [{"id": f"q{number}", "question": f"question {number}?"} for number in range(3)]
    write_jsonl(tmp_path / "questions.jsonl", rows)
    answered = [row | {"contexts": ["A passage."], "response": "An answer."} for row in rows]
    write_jsonl(tmp_path / "answers.jsonl", answered)


@pytest.fixture
def server():
    def rate(request):
        rating = {"reasoning": "So.", "rating": request.body["seed"] % 4}
        return ServerReply(json.dumps(dict.fromkeys(RATINGS, rating)))

    with JudgeServer(replies=rate) as running:
        yield running


def run(sgi, server, *words):
    judge = ("--judge", f"openai:m@{server.url}", "-m", "groundedness")
    return sgi("run", *judge, "--cache", "cache.db", "--name", "one", "-o", "scores.jsonl", "-q", *words)


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_judgement_is_a_row_with_its_own_reply(sgi, questions, server, tmp_path):
    assert run(sgi, server, "answers.jsonl", "--repeat-judge", "3").code == 0
    rows = rows_of(tmp_path / "scores.jsonl")
    assert [row["id"] for row in rows] == [f"q{q}~{number}" for q in range(3) for number in (1, 2, 3)]
    assert [row["metadata"]["judge_repeat"] for row in rows[:3]] == [1, 2, 3]
    values = [row["scores"]["groundedness"]["value"] for row in rows[:3]]
    assert values == pytest.approx([0, 1 / 3, 2 / 3])
    assert Counter(request.body["seed"] for request in server.requests) == {0: 3, 1: 3, 2: 3}
    summary = sgi("show", "one", "--json").json["summary"]
    assert (summary["rows"], summary["questions"]) == (9, 3)
    shown = sgi("study", "repeats", "one", "-m", "groundedness").out
    assert "9 judgements of 3 answers to 3 questions" in shown
    assert "between judgements of one answer" in shown
    assert "flaky questions: 3 (3 because of the judge)" in shown


def broken_server(broken, reply):
    """A judge that rates 3, but replies ``reply`` with the seeds ``broken``."""

    def rate(request):
        usable = json.dumps({name: {"reasoning": "So.", "rating": 3} for name in RATINGS})
        return reply if request.body["seed"] in broken else ServerReply(usable)

    return JudgeServer(replies=rate)


UNUSABLE = [
    ServerReply("no JSON"),
    ServerReply(json.dumps({name: {"reasoning": "So.", "rating": 4} for name in RATINGS})),
    ServerReply('{"groundedness": {"reasoning": "So.", "rating": NaN}}'),
    ServerReply("{}"),
    ServerReply("refused", status=400),
]


@pytest.mark.parametrize("reply", UNUSABLE)
def test_a_judgement_that_fails_stays_without_a_value(sgi, questions, tmp_path, reply):
    with broken_server({1}, reply) as server:
        result = run(sgi, server, "answers.jsonl", "--repeat-judge", "3", "--max-failures", "1")
        assert result.code == 3, result.err
    scores = [row["scores"]["groundedness"] for row in rows_of(tmp_path / "scores.jsonl")]
    assert [(score["value"], score["status"]) for score in scores] == [
        (1.0, "ok"), (None, "failed"), (1.0, "ok")
    ] * 3  # fmt: skip
    assert all(score["reason"] for score in scores[1::3])
    (metric,) = sgi("show", "one", "--json").json["summary"]["metrics"]
    assert (metric["counts"]["ok"], metric["counts"]["failed"], metric["mean"]) == (6, 3, 1.0)
    repeats = sgi("study", "repeats", "one", "-m", "groundedness", "--json").json
    assert (repeats["judgements"], repeats["answers"], repeats["questions"]) == (6, 3, 3)
    gate = sgi("gate", "one", "groundedness >= 0.1")
    assert gate.code == 4
    assert "66.7" in gate.out + gate.err


def test_the_target_answers_once_for_all_judgements_of_an_answer(sgi, questions, server, tmp_path):
    words = ("--target", "repeat_app:answer", "--repeat", "2", "--repeat-judge", "3", "--inputs")
    assert run(sgi, server, "questions.jsonl", *words).code == 0
    assert len(server.requests) == 18
    rows = rows_of(tmp_path / "scores.jsonl")
    assert [row["id"] for row in rows[2:4]] == ["q0#1~3", "q0#2~1"]
    responses = [row["response"] for row in rows]
    assert all(len(set(responses[start : start + 3])) == 1 for start in range(0, 18, 3))
    assert set(responses) == {f"answer {number}" for number in range(6)}


def test_the_cache_has_each_judgement(sgi, questions, server):
    assert run(sgi, server, "answers.jsonl", "--repeat-judge", "2").code == 0
    assert run(sgi, server, "answers.jsonl", "--repeat-judge", "3", "--name", "two").code == 0
    assert len(server.requests) == 9


def test_an_estimate_counts_each_judgement(sgi, questions, server):
    result = run(sgi, server, "answers.jsonl", "--repeat-judge", "4", "--dry-run", "--json")
    assert result.json["judge_calls"] == 12
    assert not server.requests
