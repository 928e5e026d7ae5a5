"""The command `sgi guard fit`."""

from __future__ import annotations

import json

import pytest

import sgi as package
from support.answers import write_jsonl
from support.guards import good_rows


def rows(count, **changes):
    return [row | changes for row in good_rows(count)]


def test_a_guard_is_fitted_and_used(sgi, tmp_path):
    write_jsonl(tmp_path / "good.jsonl", rows(60))
    result = sgi("guard", "fit", "good.jsonl", "-q")
    assert (result.code, result.err) == (0, "")
    first, promise, catches = result.out.splitlines()
    assert first.startswith("guard.json: blocks answers with a score below ")
    assert promise == (
        "promise     at most 5.0 % of good answers like these are blocked (95 % confidence; 60 questions)"
    )
    assert catches == "catches     unknown (give labelled bad answers with --bad)"
    verdict = package.Guard("guard.json").check("", ["It is 330 m tall."], "It was sold to 40 Spaniards.")
    assert verdict.blocked


def test_few_answers_promise_another_rate(sgi, tmp_path):
    write_jsonl(tmp_path / "good.jsonl", rows(30))
    result = sgi("guard", "fit", "good.jsonl", "-o", "g.json")
    assert result.code == 0
    assert "at most 9.5 % of good answers" in result.out
    assert "30 good answers promise 9.5 %, not 5 %; 59 are needed for 5 %." in result.err


def test_strict_writes_no_file_with_another_rate(sgi, tmp_path):
    write_jsonl(tmp_path / "good.jsonl", rows(30))
    result = sgi("guard", "fit", "good.jsonl", "--strict")
    assert result.code == 2
    assert "59 are needed for 5 %." in result.err
    assert not (tmp_path / "guard.json").exists()
    assert sgi("guard", "fit", "good.jsonl", "--strict", "--max-false-alarms", "0.1").code == 0


def test_the_answers_are_not_overwritten(sgi, tmp_path):
    for name in ("good.jsonl", "bad.jsonl"):
        write_jsonl(tmp_path / name, rows(20))
    before = (tmp_path / "good.jsonl").read_bytes()
    (tmp_path / "link.json").symlink_to("good.jsonl")
    for out in ("good.jsonl", "bad.jsonl", "link.json"):
        result = sgi("guard", "fit", "good.jsonl", "--bad", "bad.jsonl", "-o", out)
        assert result.code == 2
        assert "would overwrite" in result.err
    assert (tmp_path / "good.jsonl").read_bytes() == (tmp_path / "bad.jsonl").read_bytes() == before


def test_bad_answers_of_both_places(sgi, tmp_path):
    bad = rows(5, response="It was sold to 40 Spaniards.", label=0)
    write_jsonl(tmp_path / "good.jsonl", [*rows(20), *({**row, "id": f"b{row['id']}"} for row in bad)])
    write_jsonl(tmp_path / "bad.jsonl", [{**row, "question": f"{row['question']}!"} for row in bad])
    result = sgi("guard", "fit", "good.jsonl", "--bad", "bad.jsonl", "-q")
    assert (
        "catches     100.0 % of bad answers like these (95 % interval 69.2 to 100.0 %; 10 questions)"
        in result.out
    )


def test_json(sgi, tmp_path):
    write_jsonl(tmp_path / "good.jsonl", [*rows(20), rows(1, id="x", question="?", contexts=[])[0]])
    result = sgi("guard", "fit", "good.jsonl", "--json", "-q")
    assert result.json["left_out_answers"] == [{"id": "x", "reason": "there are no passages"}]
    assert result.json["shortfall"].startswith("20 good answers promise 14 %")
    written = json.loads((tmp_path / "guard.json").read_text())
    assert {name: result.json[name] for name in written} == written


def test_columns_are_mapped_and_csv_is_read(sgi, tmp_path):
    lines = [f'{n},"Tower {n} is {n + 100} m tall.","Tower {n} is {n + 100} m tall."' for n in range(20)]
    (tmp_path / "good.csv").write_text("\n".join(["question,passage_x,said_x", *lines]))
    result = sgi("guard", "fit", "good.csv", "--map", "contexts=passage_x", "--map", "response=said_x", "-q")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "good.jsonl:21"), ('{"id": "x", "question": "?", "response": 3.5}', "id 'x': field 'response'")],
)
def test_a_row_that_cannot_be_read_is_named(sgi, tmp_path, line, message):
    write_jsonl(tmp_path / "good.jsonl", rows(20))
    with (tmp_path / "good.jsonl").open("a") as file:
        file.write(line + "\n")
    result = sgi("guard", "fit", "good.jsonl")
    assert result.code == 2
    assert message in result.err
