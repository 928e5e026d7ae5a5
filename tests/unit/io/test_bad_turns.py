"""Bad conversations: each error names file, line, id and field, and long conversations take linear work."""

from __future__ import annotations

import csv
import json
import re

import pytest

from sgi.io.dataset import open_dataset
from sgi.io.repeated_rows import PerTurn
from sgi.kernel.errors import DataError
from sgi.kernel.sample import RESPONSE, Field
from sgi.text import conversation

USER = {"role": "user", "text": "Who?"}
ANSWER = {"role": "assistant", "text": "Me."}
BAD = {
    "a missing role": ([{"text": "Who?"}, ANSWER], "turn 1: the role must be user, .* found null"),
    "a null role": ([USER, ANSWER | {"role": None}], "turn 2: the role must be user, .* found null"),
    "a blank role": ([USER | {"role": ""}], "turn 1: the role must be user, .* found text ''"),
    "an unknown role": ([USER, ANSWER | {"role": "robot"}], "turn 2: the role must be .* found text 'robot'"),
    "a number as role": ([USER | {"role": 3}], "turn 1: role: expected text, found number 3"),
    "a list as role": ([USER | {"role": ["user"]}], "turn 1: role: expected text, found a list"),
    "no text": ([{"role": "user"}], "turn 1: it needs the key text or content"),
    "a null text": ([USER | {"text": None}], "turn 1: it needs the key text or content"),
    "two texts": ([USER | {"content": "Why?"}], "turn 1: it has both keys, text and content"),
    "parts without text": (
        [{"role": "user", "content": [{"type": "image_url"}]}],
        "turn 1: content: none of",
    ),
    "a number as contexts": ([USER, ANSWER | {"contexts": 3}], "turn 2: contexts: expected text or a list"),
    "an object as contexts": ([USER | {"contexts": {"a": 1}}], "turn 1: contexts: expected text or a list"),
    "a number in contexts": ([USER | {"contexts": ["a", 3]}], "turn 1: contexts: passage 2: expected text"),
    "nested contexts": ([USER | {"contexts": [["a"]]}], "turn 1: contexts: passage 1: expected text"),
    "an unknown key": ([USER | {"mood": "x"}], "turn 1: unknown key 'mood'; the keys are role, text"),
    "a null turn": ([USER, None], "turn 2: expected an object, found null"),
    "a list of lists": ([[USER, ANSWER]], "turn 1: expected an object, found a list"),
    "one object": (USER, "expected a list of turns, found an object"),
}


def write(path, turns):
    """A good row, then a row with these turns; a cell of a CSV file is JSON."""
    if path.suffix == ".jsonl":
        rows = [{"id": "ok", "turns": [USER, ANSWER]}, {"id": "c9", "turns": turns}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            cell = turns if isinstance(turns, str) else json.dumps(turns)
            csv.writer(file).writerows([("id", "turns"), ("ok", json.dumps([USER, ANSWER])), ("c9", cell)])
    return path


def error_of(path, *, per_turn):
    data = open_dataset(path)
    with pytest.raises(DataError) as caught:
        list((PerTurn(data) if per_turn else data).samples())
    return caught.value


@pytest.mark.parametrize("per_turn", [False, True])
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("name", BAD)
def test_an_error_names_file_line_id_and_field(tmp_path, name, kind, per_turn):
    turns, problem = BAD[name]
    error = error_of(write(tmp_path / f"talks.{kind}", turns), per_turn=per_turn)
    assert (error.sample_id, error.field) == ("c9", "turns")
    line = 2 if kind == "jsonl" else 3
    assert str(error).startswith(f"{tmp_path}/talks.{kind}:{line}: id 'c9': field 'turns': ")
    assert re.match(problem, error.message)


@pytest.mark.parametrize(
    ("kind", "turns"),
    [
        ("jsonl", json.dumps([USER, ANSWER])),
        ("jsonl", '[{"role": "user", "text": '),
        ("jsonl", "user: Who?"),
        ("csv", '[{"role": "user", "text": '),
        ("csv", "user: Who?"),
    ],
)
def test_a_text_is_no_list_of_turns(tmp_path, kind, turns):
    """JSON as text is read from the cells of a table alone, which cannot hold lists."""
    error = error_of(write(tmp_path / f"talks.{kind}", turns), per_turn=False)
    assert (error.sample_id, error.field) == ("c9", "turns")
    assert "expected a list of turns, found text" in error.message


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("turns", [[], [USER], [USER, ANSWER, USER]])
def test_without_a_last_answer_the_response_is_missing(tmp_path, kind, turns):
    """A row may have its answer in a column, so such turns are not wrong."""
    *_, row = open_dataset(write(tmp_path / f"talks.{kind}", turns)).samples()
    assert not row.has(Field.RESPONSE)
    assert row.missing_reason(RESPONSE) == "the sample has no response"


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_ten_thousand_turns(tmp_path, kind):
    turns = [{"role": role, "text": f"{role} {n}"} for n in range(5_000) for role in ("user", "assistant")]
    path = write(tmp_path / f"talks.{kind}", turns)
    *_, whole = open_dataset(path).samples()
    assert (len(whole.turns), whole.question, whole.response) == (10_000, "user 4999", "assistant 4999")
    ids = [row.id for row in PerTurn(open_dataset(path)).samples()]
    assert ids == ["ok-1", *(f"c9-{number}" for number in range(1, 5_001))]


def test_each_exchange_is_read_a_fixed_number_of_times(tmp_path, monkeypatch):
    """The rows of a conversation of n exchanges do not read it n times."""
    calls = []
    read = conversation._exchange
    monkeypatch.setattr(conversation, "_exchange", lambda *given: calls.append(given[1:]) or read(*given))
    path = write(tmp_path / "talks.jsonl", [USER, ANSWER] * 500)
    rows = list(PerTurn(open_dataset(path)).samples())
    assert len(rows) == 501
    assert len(calls) <= 3 * 501
