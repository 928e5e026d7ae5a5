"""A judge over HTTP checks and rephrases questions; no fault of it loses or changes a row silently."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from sgi.engine.open_resources import given_options
from sgi.engine.progress import silent
from sgi.kernel.protocols import Usage
from sgi_quiz.judge_check import CheckedRows, check_rows, refusal
from sgi_quiz.quiz_update import questions_of
from sgi_quiz.review_file import QuizRow, Review
from support.injections import sections_of
from support.judge_server import JudgeServer, ServerReply, error_reply

pytest.importorskip("spacy")

FIXED = {"faq", "typos"}


def reply(question, clear=1, answered=1):
    values = {"reason": "So it is.", "clear": clear, "answered": answered, "question": question}
    return ServerReply(json.dumps(values))


def rephrase(request):
    return reply(f"Tell me please: {sections_of(request.text)['question']}")


@pytest.fixture
def make(sgi, corpus, tmp_path):
    """Make a quiz with the judge of a server; return the outcome and the rows."""

    def make(server, *words):
        judge = ("--judge", f"openai:m@{server.url}", "--judge-set", "retries=0", "--cache", "cache.db")
        result = sgi("quiz", str(corpus), "-n", "30", "-o", "quiz.jsonl", *judge, *words)
        return result, read(tmp_path / "quiz.jsonl")

    return make


@pytest.fixture
def plain(sgi, corpus, tmp_path):
    """The rows that the rules make."""
    assert sgi("quiz", str(corpus), "-n", "30", "-o", "plain.jsonl").code == 0
    return read(tmp_path / "plain.jsonl")


def read(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def test_questions_are_rephrased_once_and_then_from_the_cache(make, plain):
    with JudgeServer(replies=rephrase) as server:
        first, rows = make(server)
        assert first.code == 0, first.err
        sent = len(server.requests)
        again, same = make(server, "--json")
        assert len(server.requests) == sent == len(plain)
    assert same == rows
    facts = again.json["judge"]
    assert (facts["checked"], facts["calls"], facts["unchecked"]) == (len(plain), 0, {})
    with_typos = {row["same_as"] for row in plain if row["kind"] == "typos"}
    assert facts["rephrased"] == sum("generated_question" in row for row in rows) > len(plain) / 2
    for row, old in zip(rows, plain, strict=True):
        assert (row["id"], row["checked_by"]) == (old["id"], f"openai:m@{server.url}")
        assert (row["reference"], row["gold_passages"]) == (old["reference"], old["gold_passages"])
        if row["question"] == old["question"]:
            assert row == old | {"checked_by": row["checked_by"]}
            assert row["kind"] in FIXED or row["id"] in with_typos
        else:
            assert row["question"] == f"Tell me please: {old['question']}"
            assert row["id"] not in with_typos
            assert (row["generated_question"], row["kind"] in FIXED) == (old["question"], False)
            assert row["difficulty"] != "easy"
            assert "turns" not in row or row["turns"] == [
                *old["turns"][:-1],
                {"role": "user", "text": row["question"]},
            ]


def test_the_judge_sees_what_it_needs_as_data(make, plain):
    with JudgeServer(replies=rephrase) as server:
        make(server)
    sections = [sections_of(request.text) for request in server.requests]
    before = [
        [f"{turn['role']}: {turn['text']}" for turn in row["turns"][:-1]] for row in plain if "turns" in row
    ]
    assert sorted(one["turns"] for one in sections if "turns" in one) == sorted(before) != []
    seen = Counter(map(tuple, sections))
    answered, turns = ("question", "reference", "passages"), ("turns",)
    assert seen == Counter(
        (turns if row.get("turns") else ()) + (answered if row["answerable"] else answered[:1])
        for row in plain
    )


def test_unclear_and_unanswered_questions_and_their_repeats_are_left_out(make, plain):
    (typos,) = [row for row in plain if row["kind"] == "typos"][:1]
    unclear = next(row for row in plain if row["id"] == typos["same_as"])
    wrong = next(row for row in plain if row["kind"] == "fact" and row is not unclear)
    refused = next(row for row in plain if row["kind"] == "unanswerable")

    def judge(request):
        asked = sections_of(request.text)["question"]
        return reply(
            asked, asked != unclear["question"], asked not in (wrong["question"], refused["question"])
        )

    def numeric(request):
        values = json.loads(judge(request).content)
        return ServerReply(json.dumps(values | {name: int(values[name]) for name in ("clear", "answered")}))

    with JudgeServer(replies=numeric) as server:
        result, rows = make(server)
    assert result.code == 0, result.err
    left = {row["id"] for row in plain} - {row["id"] for row in rows}
    assert {unclear["id"], wrong["id"], typos["id"]} <= left
    assert refused["id"] not in left
    assert all(row["id"] in left for row in plain if row.get("same_as") in left)
    assert f"{len(left):,} questions were left out: " in result.out


@pytest.mark.parametrize(
    "fault",
    [
        error_reply(400),
        ServerReply("Certainly!"),
        ServerReply(status=503),
        reply("Who?", clear=2),
        ServerReply("", refusal="I cannot."),
    ],
)
def test_a_row_without_a_usable_reply_stays_as_it_is_and_is_counted(make, plain, fault):
    broken = next(row for row in plain if row["kind"] == "fact")

    def judge(request):
        first = request.body["messages"][1]["content"]
        return fault if sections_of(first)["question"] == broken["question"] else rephrase(request)

    with JudgeServer(replies=judge) as server:
        result, rows = make(server, "--json")
    assert result.code == 3, result.err
    assert broken in rows
    assert sum(result.json["judge"]["unchecked"].values()) == 1
    assert len(rows) == len(plain)


def test_without_any_reply_or_question_the_old_file_stays(make, tmp_path):
    (tmp_path / "quiz.jsonl").write_text("")
    with JudgeServer(replies=error_reply(401, "bad key", "invalid_api_key")) as server:
        result, rows = make(server)
        assert (result.code != 0, rows, "bad key" in result.err) == (True, [], True)
    with JudgeServer(replies=reply("Who?", clear=0)) as server:
        result, rows = make(server)
        assert (result.code, rows, "left out all" in result.err) == (2, [], True)


def test_at_the_cost_limit_the_other_questions_stay_as_they_are(make, plain):
    price = ("--judge-set", "input_price=100", "--judge-set", "output_price=100")
    with JudgeServer(replies=rephrase) as server:
        result, rows = make(server, *price, "--max-cost", "0.2", "--json")
        assert result.code == 3, result.err
        assert 0 < result.json["judge"]["checked"] == len(server.requests) < len(plain)
    assert sum("checked_by" not in row for row in rows) == sum(result.json["judge"]["unchecked"].values())
    assert [row["id"] for row in rows] == [row["id"] for row in plain]


ROW = QuizRow(
    id="1",
    question="Which route did Greta Holm use `tolvik book` for in 1950?",
    reference="the winter route",
    gold_passages=["In 1950, Greta Holm used `tolvik book` for the winter route."],
)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("For what route was `tolvik book` used by Greta Holm in 1950?", ""),
        ("in 1950, greta holm's `tolvik book` was for which route?", ""),
        ("For what route was `tolvik book` used by Greta in 1950?", "lost"),
        ("For what route was `tolvik book` used by Greta Holm in 1951?", "lost"),
        ("For what route was it used by Greta Holm in 1950?", "lost"),
        ("For what route was `tolvik book` of Bergen used by Greta Holm in 1950?", "added"),
        ("Did Greta Holm use `tolvik book` for winter in 1950?", "answer"),
        (f"Which route did Greta Holm use `tolvik book` for in 1950{' please' * 40}?", "long"),
    ],
)
def test_a_rephrased_question_keeps_names_numbers_and_code(question, reason):
    found = refusal(ROW, question)
    assert reason in found
    assert bool(reason) == bool(found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Who commanded the Berta for eleven years?", "Who was captain of the Berta for nine years?"),
        ("Who bought the Berta in March 1964?", "Who was the buyer of the Berta in May 1964?"),
        ("Who may not board the Berta?", "Who is allowed on the Berta?"),
        ("How far does the Berta go at 17 kn?", "What is the range of the Berta at 17 km?"),
    ],
)
def test_another_meaning_is_refused(old, new):
    assert refusal(QuizRow(id="1", question=old, reference="Oskar Lind"), new)


def test_two_questions_do_not_get_the_same_words():
    rows = [QuizRow(id=text, question=f"{text} was the Anke launched?") for text in ("When", "In what year")]
    checked = CheckedRows([], "m", Usage())
    taken = {asked for row in rows for asked in questions_of(row)}
    texts = [checked.changed(row, "When did the Anke first sail?", taken).question for row in rows]
    assert texts == ["When did the Anke first sail?", "In what year was the Anke launched?"]
    assert (
        checked.changed(rows[0], "in what year was the  anke launched?", taken).question == rows[0].question
    )
    assert checked.refused == {"another question has the same words": 2}


def test_a_question_and_its_copy_with_typing_errors_differ_in_the_errors_alone():
    facts = {"reference": "1950", "gold_passages": ["The Anke was launched in 1950."], "kind": "fact"}
    rows = [
        QuizRow(id="plain", question="When was the Anke launched?", **facts),
        QuizRow(
            id="typos", question="when was the Anke luanched", **facts | {"kind": "typos"}, same_as="plain"
        ),
        QuizRow(id="other", question="Which year was the Anke launched?", **facts),
    ]
    with JudgeServer(replies=reply("When did the Anke first sail?")) as server:
        options = given_options({"judge": f"openai:m@{server.url}", "cache": False}, source="the test")
        checked = check_rows(rows, options, silent)
    assert [row.question for row in checked.rows] == [
        rows[0].question,
        rows[1].question,
        "When did the Anke first sail?",
    ]


def test_a_question_of_the_judge_is_no_decision_of_a_person(make, tmp_path):
    with JudgeServer(replies=rephrase) as server:
        _, rows = make(server)
        kept, edited = [row for row in rows if row["kind"] == "fact" and "generated_question" in row][:2]
        review = Review(tmp_path / "quiz.jsonl")
        review.keep(kept["id"], kept["question"], kept["reference"])
        review.keep(edited["id"], "When, by hand?", "Never.")
        assert make(server)[0].code == 2
        sent = len(server.requests)
        result, updated = make(server, "--update")
        assert len(server.requests) == sent
    assert result.code == 0, result.err
    by_id = {row["id"]: row for row in updated}
    assert by_id[kept["id"]] == kept | {"review": "kept"}
    assert by_id[edited["id"]]["review"] == "edited"
    assert by_id[edited["id"]]["generated_question"] == edited["generated_question"]
    assert by_id[edited["id"]]["generated_reference"] == edited["reference"]
    assert {row["id"] for row in updated} == {row["id"] for row in rows}


def test_ctrl_c_leaves_the_old_file(corpus, tmp_path):
    path = tmp_path / "quiz.jsonl"
    path.write_text("")
    with JudgeServer(replies=ServerReply("{}", delay=30)) as server:
        words = ("quiz", str(corpus), "-o", path.name, "--judge", f"openai:m@{server.url}", "--no-cache")
        process = subprocess.Popen(
            [sys.executable, "-m", "sgi", *words], cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE
        )
        while not server.requests and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in err) == (130, False)
    assert (path.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (b"", ["quiz.jsonl"])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("docs", "-o", "quiz.jsonl", "--judge-set", "seed=1"), "--judge is required"),
        (("docs", "-o", "quiz.jsonl", "--judge", "nobody"), "not the name of a judge"),
        (("--review", "quiz.jsonl", "--judge", "openai:m"), "no --judge"),
    ],
)
def test_options_that_make_no_sense_are_refused(sgi, words, text):
    result = sgi("quiz", *words)
    assert (result.code, text in result.err) == (2, True)
