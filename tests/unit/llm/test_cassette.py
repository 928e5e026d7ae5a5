"""Cassettes: what is written is what is answered, and a broken one is refused with its line."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from errno import ENOSPC

import pytest

from sgi.kernel.errors import (
    BudgetExceededError,
    DataError,
    JudgeError,
    JudgeMalformedError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeUnavailableError,
    StoreError,
    UsageError,
)
from sgi.kernel.protocols import Usage
from sgi.llm import cassette
from sgi.llm.calls import Completion, Finish, UsageCounter
from sgi.llm.cassette import CassettePlayer, CassetteRecorder, cassette_judge, incomplete_end
from support.judge_server import ScriptedChat, call

ANSWER = Completion('{"a": "é\u2028\n"}', Finish.LENGTH, "no", 3, 4)
KNOWN = replace(ANSWER, cached=True)


def record(path, *calls, chat=None):
    with closing(CassetteRecorder(chat or ScriptedChat(ANSWER), path, {"model": "openai:m"})) as recorder:
        return [asyncio.run(recorder.complete(one)) for one in calls]


def replay(path, one):
    return asyncio.run(CassettePlayer(path, UsageCounter()).complete(one))


def test_what_was_recorded_is_replayed(tmp_path):
    file, counter = tmp_path / "c.jsonl", UsageCounter()
    assert record(file, call("a"), call("b"), call("a", take=2)) == [ANSWER] * 3
    replayed = CassettePlayer(file, counter)
    assert replayed.fingerprint == "scripted"
    assert asyncio.run(replayed.complete(call("b"))) == KNOWN
    assert counter.usage == Usage(cached=1)
    with pytest.raises(JudgeError, match="does not contain this call"):
        asyncio.run(replayed.complete(call("c")))


def test_a_line_a_call_with_a_header_and_no_text_of_the_call(tmp_path):
    file = tmp_path / "c.jsonl"
    record(file, call("the question"), call("the question"))
    header, *lines = map(json.loads, file.read_bytes().splitlines())
    judge = {"model": "openai:m"}
    assert header == {
        "format": "sgi judge cassette",
        "version": 1,
        "fingerprint": "scripted",
        "judge": judge,
    }
    assert cassette_judge(file) == judge
    assert len(lines) == 1
    assert "the question" not in file.read_text(encoding="utf-8")
    assert lines[0]["schema"] == "Reply"


def test_a_cassette_is_gone_on_with(tmp_path):
    file = tmp_path / "c.jsonl"
    record(file, call("a"))
    before = file.read_bytes()
    record(file, call("a"), call("b"))
    assert file.read_bytes().startswith(before)
    assert len(file.read_bytes().splitlines()) == 3
    assert replay(file, call("a")) == replay(file, call("b")) == KNOWN


def test_a_cassette_of_another_model_is_left_alone(tmp_path):
    file = tmp_path / "c.jsonl"
    record(file, call("a"))
    before = file.read_bytes()
    other = ScriptedChat()
    other.fingerprint = "other"
    with pytest.raises(UsageError, match="recorded from scripted, but the judge is other"):
        record(file, call("a"), chat=other)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"nonsense", b"\xff", b'{"call": "zz", "reply": {}}'),
        b'{"call": "00", "reply": {"text": 3}}',
        b'{"call": "00", "reply": {"text": "a", "finish": "never"}}',
        b'{"call": "00", "error": {"kind": "JudgeError", "message": 3, "hint": ""}}',
        b'{"call": "00", "error": {"kind": "SystemExit", "message": "no", "hint": ""}}',
    ],
)
def test_a_line_that_cannot_be_read_is_told_with_file_and_number(tmp_path, line):
    file = tmp_path / "c.jsonl"
    record(file, call("a"), call("b"))
    lines = file.read_bytes().splitlines()
    lines[1] = line
    file.write_bytes(b"\n".join(lines) + b"\n")
    for work in (lambda: replay(file, call("a")), lambda: record(file, call("a"))):
        with pytest.raises(DataError, match=r"c\.jsonl:2: ") as caught:
            work()
        assert caught.value.line == 2


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"", "cannot be read"),
        (b"{}", "not a cassette"),
        (b'{"format": "sgi judge cassette", "version": 1}', "not a cassette"),
        (b'{"format": "sgi judge cassette", "version": 2, "fingerprint": "x"}', "version 2"),
    ],
)
def test_what_is_no_cassette_is_refused_at_its_first_line(tmp_path, header, problem):
    file = tmp_path / "c.jsonl"
    file.write_bytes(header + b"\n")
    with pytest.raises(DataError, match=f"c.jsonl:1: .*{problem}"):
        replay(file, call("a"))


def test_places_that_cannot_be_used(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        replay(tmp_path / "absent.jsonl", call("a"))
    with pytest.raises(UsageError, match="cannot be written"):
        record(tmp_path / "absent" / "c.jsonl", call("a"))


@pytest.mark.parametrize("tail", [b'{"call": "', b"\0\0\0\n", b'\0"}}\n{"call": "00"}\n'])
def test_an_end_that_was_cut_is_not_used_and_is_recorded_again(tmp_path, tail):
    file = tmp_path / "c.jsonl"
    record(file, call("a"), call("b"))
    content = file.read_bytes()
    assert incomplete_end(file) == ""
    file.write_bytes(b"".join(content.splitlines(keepends=True)[:2]) + tail)
    assert "c.jsonl:3: the file is incomplete from here on" in incomplete_end(file)
    assert replay(file, call("a")) == KNOWN
    with pytest.raises(JudgeError, match="does not contain this call"):
        replay(file, call("b"))
    record(file, call("a"), call("b"))
    assert file.read_bytes() == content


def test_a_cassette_cut_in_its_first_line_begins_again_and_another_file_does_not(tmp_path):
    file = tmp_path / "c.jsonl"
    record(file, call("a"))
    content = file.read_bytes()
    file.write_bytes(content[:50])
    record(file, call("a"))
    assert file.read_bytes() == content
    file.write_bytes(b"one line of somebody else")
    with pytest.raises(DataError, match=r"c\.jsonl:1: "):
        record(file, call("a"))
    assert file.read_bytes() == b"one line of somebody else"


def test_a_full_disk_is_an_error_and_leaves_whole_lines(tmp_path, monkeypatch):
    file = tmp_path / "c.jsonl"
    record(file, call("a"))
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(cassette, "sync_file", full)
    with pytest.raises(StoreError, match=r"c\.jsonl cannot be written: No space left"):
        record(file, call("b"))
    assert file.read_bytes() == before


def test_an_empty_file_is_a_new_cassette(tmp_path):
    file = tmp_path / "c.jsonl"
    file.touch()
    record(file, call("a"))
    assert replay(file, call("a")) == KNOWN


@pytest.mark.parametrize(
    "error",
    [
        JudgeError("It is too long.", hint="Lower the budget."),
        JudgeUnavailableError("It is busy (after 5 tries).", retry_after=3, throttled=True, hint="Wait."),
        JudgeRejectedError("It refused the key."),
        JudgeRefusedError("A filter declined. é\u2028"),
        JudgeMalformedError("It sent something else.", hint="Check the URL."),
    ],
)
def test_what_ended_in_an_error_does_so_again(tmp_path, error):
    file = tmp_path / "c.jsonl"
    for _ in range(2):
        with pytest.raises(type(error)):
            record(file, call("a"), chat=ScriptedChat(lambda *_: error))
    counter = UsageCounter()
    with pytest.raises(JudgeError) as caught:
        asyncio.run(CassettePlayer(file, counter).complete(call("a")))
    assert type(caught.value) is type(error)
    assert str(caught.value) == str(error)
    assert counter.usage == Usage()
    assert len(file.read_bytes().splitlines()) == 2


def test_the_later_end_of_a_call_holds(tmp_path):
    file = tmp_path / "c.jsonl"
    with pytest.raises(JudgeUnavailableError):
        record(file, call("a"), chat=ScriptedChat(lambda *_: JudgeUnavailableError("gone")))
    record(file, call("a"))
    assert replay(file, call("a")) == KNOWN


@pytest.mark.parametrize("error", [BudgetExceededError("enough"), ZeroDivisionError("a bug")])
def test_what_says_nothing_about_the_call_is_not_recorded(tmp_path, error):
    file = tmp_path / "c.jsonl"
    with pytest.raises(type(error)):
        record(file, call("a"), chat=ScriptedChat(lambda *_: error))
    with pytest.raises(JudgeError, match="does not contain this call"):
        replay(file, call("a"))


def test_what_is_no_cassette_tells_no_judge(tmp_path):
    for name, text in {"gone": None, "empty": "", "other": "{}\n", "text": "no JSON"}.items():
        file = tmp_path / name
        if text is not None:
            file.write_text(text)
        with pytest.raises(DataError, match=name):
            cassette_judge(file)
