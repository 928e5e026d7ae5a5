"""Decisions of a person about a quiz: one key each, in the file at once."""

import json
import os
import pty
import select
import subprocess
import sys
import termios
import time
from contextlib import contextmanager

import pytest

from sgi.kernel.errors import UsageError
from sgi_quiz.review_file import Review, dropped_path, read_quiz
from support.answers import TERMINAL_ATTACK


def row(number, **columns):
    sentence = f"The ferry {number} was launched in 19{number}0."
    return {
        "id": f"fact-{number}",
        "question": f"When was the ferry {number} launched?",
        "reference": f"19{number}0",
        "gold_passages": [f"It is blue. The <b>ferry</b> {number}\nwas launched in 19{number}0."],
        "sentence": sentence,
        "sources": ["ferries.md > Ferries"],
        "of_the_user": [number, 0.5],
    } | columns


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "quiz.jsonl"
    follow_up = {"turns": [{"role": "user\nWhy", "text": "Before?"}, {"role": "user", "text": "And 3?"}]}
    made = [row(1), row(2), row(3, question="And 3?", **follow_up), row(4, question=TERMINAL_ATTACK)]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in made))
    return path


def stored(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@contextmanager
def terminal(path, **environment):
    """Yield a function that presses keys in a review and returns what was written until a text comes."""
    master, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sgi", "quiz", "--review", path.name],
        cwd=path.parent,
        env=os.environ | {"TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"} | environment,
        stdin=other,
        stdout=other,
        stderr=other,
    )
    os.close(other)

    def arrived(seconds):
        try:
            return os.read(master, 65536) if select.select([master], [], [], seconds)[0] else b""
        except OSError:  # how Linux reports that the other end is closed
            return b""

    def press(keys, until):
        written, end = b"", time.monotonic() + 60
        while keys and termios.tcgetattr(master)[3] & termios.ICANON:  # keys are discarded until it reads
            assert time.monotonic() < end
            time.sleep(0.01)
        os.write(master, keys.encode())
        while until.encode() not in written:
            assert time.monotonic() < end, written
            written += arrived(0.1)
        while more := arrived(0.1):
            written += more
        return written.decode("utf-8", "replace").replace("\r\n", "\n")

    try:
        yield press, process
    finally:
        process.kill()
        process.wait()
        os.close(master)


def test_each_key_is_stored_at_once_and_a_killed_review_resumes(path):
    editor = path.with_name("edit.py")
    editor.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('And', 'And the'))"
    )
    with terminal(path, EDITOR=f"{sys.executable} {editor}") as (press, process):
        shown = press("", "q quit")
        assert "1 of 4" in shown
        assert "»The <b>ferry</b> 1\n            was launched in 1910.«" in shown
        press("k", "2 of 4")
        assert stored(path)[0]["review"] == "kept"
        press("\x1b[Bxd", "3 of 4")  # an arrow and an unknown key do nothing
        assert [one["id"] for one in stored(path)] == ["fact-1", "fact-3", "fact-4"]
        assert [one["id"] for one in stored(dropped_path(path))] == ["fact-2"]
        attack = press("e", "q quit")  # the editor changes the third
        assert "4 of 4" in attack
        assert not set(map(chr, [7, 8, 27, 0x9B, 0x202E])) & set(attack)
        process.kill()
    edited = stored(path)[1]
    assert (edited["review"], edited["question"]) == ("edited", "And the 3?")
    assert edited["generated_question"] == "And 3?"
    assert edited["turns"][-1]["text"] == "And the 3?"
    assert edited["of_the_user"] == [3, 0.5]
    with terminal(path) as (press, process):
        assert "4 of 4" in press("", "q quit")
        press("k", "No question is left")
        press("u", "4 of 4")
        assert "3 of 4 questions reviewed: 1 kept, 1 edited, 1 dropped" in press("q", "Dropped questions")
        assert process.wait(30) == 0


def test_an_editor_that_changes_nothing_decides_nothing(path):
    before = path.read_bytes()
    for editor, says in [("true", "Nothing was changed"), ("/no/such/editor", "failed")]:
        with terminal(path, EDITOR=editor, VISUAL="") as (press, _):
            press("", "q quit")
            press("e", says)
    assert path.read_bytes() == before


def test_undo_restores_the_files(path):
    before, review = stored(path), Review(path)
    review.drop("fact-2")
    review.drop("fact-3")
    review.keep("fact-1", "When was it launched?", "1910")
    review.keep("fact-4", TERMINAL_ATTACK, "1940", author="another person")
    assert [review.undo() for _ in range(4)] == ["fact-1", "fact-3", "fact-2", None]
    assert review.undo("another person") == "fact-4"
    assert stored(path) == before
    assert dropped_path(path).read_bytes() == b""


def test_a_kill_between_the_two_files_of_a_drop_loses_nothing(path):
    before, review = path.read_bytes(), Review(path)
    review.drop("fact-2")
    path.write_bytes(before)  # the row is in both files
    assert [one.id for one in read_quiz(path).rows] == ["fact-1", "fact-3", "fact-4"]
    review.keep("fact-1", stored(path)[0]["question"], "1910")
    assert [one["id"] for one in stored(path)] == ["fact-1", "fact-3", "fact-4"]


@pytest.mark.parametrize(("question", "reference"), [(" ", "1910"), ("When?", "")])
def test_an_edit_that_spoils_the_row_is_refused(path, question, reference):
    with pytest.raises(UsageError, match=r"cannot be empty|not added or removed"):
        Review(path).keep("fact-1", question, reference)


def test_without_a_terminal_the_counts_are_there(sgi, path):
    Review(path).drop("fact-2")
    refused = sgi("quiz", "--review", "quiz.jsonl")
    assert (refused.code, "sgi serve --quiz" in refused.err) == (2, True)
    counts = json.loads(sgi("quiz", "--review", "quiz.jsonl", "--json").out)
    assert counts == {"questions": 4, "kept": 0, "edited": 0, "dropped": 1, "pending": 3}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"id": "a"}', "quiz.jsonl:1: is not a row of a quiz: question"),
        ('{"id": "a", "question": "b"}\n' * 2, "quiz.jsonl:2: the id a is used twice"),
        ('{"id": ', "quiz.jsonl:1: invalid JSON"),
    ],
)
def test_another_file_is_neither_reviewed_nor_replaced(sgi, path, content, reason):
    path.write_text(content)
    assert reason in sgi("quiz", "--review", "quiz.jsonl", "--json").err
    made = sgi("quiz", ".", "-o", "quiz.jsonl")
    assert (made.code, reason in made.err) == (2, True)
    assert path.read_text() == content
