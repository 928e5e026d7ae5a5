import json

import pytest

from sgi_quiz import parsing

pytest.importorskip("spacy")

APP = """def answer(question):
    return {"answer": "In 1964.", "contexts": ["The ferry Berta was launched in 1964."]}
"""


def rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_quiz_is_run_and_diagnosed_without_options(sgi, corpus, tmp_path):
    (tmp_path / "app.py").write_text(APP)
    made = sgi("quiz", str(corpus), "-n", "40", "-o", "quiz.jsonl")
    assert made.code == 0, made.err
    assert f"{len(rows(tmp_path / 'quiz.jsonl'))} questions from" in made.out
    assert "no more questions" in made.out
    run = sgi("run", "quiz.jsonl", "--target", "app:answer", "-m", "recall@5,answered_unanswerable")
    assert run.code == 0, run.err
    columns = next(line for line in run.err.splitlines() if line.startswith("Columns:")).split(".")[0]
    assert {"gold_passages", "answerable", "reference"} <= {*columns.replace(",", "").split()}
    assert "answered_unanswerable" in sgi("diagnose", "last").out


def test_equal_names_in_two_folders_are_two_files(sgi, tmp_path):
    for name, text in [
        ("one", "The ferry Berta was launched in 1964."),
        ("two", "Nils Berg lived in Norway."),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(text)
    made = sgi("quiz", "one", "two", "-o", "quiz.jsonl")
    assert "2 passages of 2 files" in made.out
    sources = {source for row in rows(tmp_path / "quiz.jsonl") for source in row["sources"]}
    assert "one/a.txt" in sources


def test_the_same_seed_gives_the_same_bytes(sgi, corpus, tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        assert sgi("quiz", str(corpus), "-n", "20", "--seed", "3", "-o", name).code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_skipped_file_is_named_and_the_exit_code_is_3(sgi, corpus, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    made = sgi("quiz", str(corpus), "latin.txt", "-o", "quiz.jsonl")
    assert made.code == 3
    assert "skipped latin.txt: byte 4 (0xe9) is not UTF-8" in made.err
    assert "incomplete" in made.out
    assert rows(tmp_path / "quiz.jsonl")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "no documents"), ("No question can be made of this", "no question")],
)
def test_without_a_question_no_file_is_written(sgi, tmp_path, content, reason):
    (tmp_path / "docs").mkdir()
    if content:
        (tmp_path / "docs" / "a.txt").write_text(content)
    made = sgi("quiz", "docs", "-o", "quiz.jsonl")
    assert (made.code, reason in made.err) == (2, True)
    assert not (tmp_path / "quiz.jsonl").exists()


@pytest.mark.parametrize(("name", "reason"), [("missing", "does not exist"), ("a.png", "not a format")])
def test_a_path_that_cannot_be_read_is_an_error(sgi, tmp_path, name, reason):
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    made = sgi("quiz", name, "-o", "quiz.jsonl")
    assert (made.code, reason in made.err) == (2, True)


def test_without_the_parser_the_extra_is_named(sgi, corpus, monkeypatch):
    monkeypatch.setattr(parsing, "MODELS", ("no_such_parser",))
    parsing.parser.cache_clear()
    try:
        assert "extra 'quiz'" in sgi("quiz", str(corpus), "-o", "quiz.jsonl").err
    finally:
        parsing.parser.cache_clear()
