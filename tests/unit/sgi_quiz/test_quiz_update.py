"""A quiz that is made again from changed documents keeps what a person decided."""

import json

import pytest

from sgi_quiz.build import build_quiz
from sgi_quiz.review_file import Review, dropped_path, read_quiz

pytest.importorskip("spacy")


@pytest.fixture
def make(sgi, tmp_path, corpus):
    """Return a function that makes the quiz of a copy of the corpus."""
    for name in ("ferries.md", "people.jsonl"):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / name).write_bytes((corpus / name).read_bytes())

    def make(*words, code=0):
        made = sgi("quiz", "docs", "-n", "40", "-o", "quiz.jsonl", *words)
        assert made.code == code, made.err
        return made

    return make


def rows(path):
    return {one["id"]: one for one in map(json.loads, path.read_text("utf-8").splitlines())}


def decide(path):
    """Keep a row of ferries.md, edit one of people.jsonl, and drop one; return them."""
    review = Review(path)
    of = [row for row in review.read().rows if row.kind == "fact"]
    kept = next(row for row in of if row.sources[0].startswith("ferries.md"))
    edited = next(row for row in of if row.sources[0].startswith("people.jsonl"))
    dropped = next(row for row in of if row not in (kept, edited))
    review.keep(kept.id, kept.question, kept.reference)
    review.keep(edited.id, f"Say: {edited.question}", edited.reference)
    review.drop(dropped.id)
    return kept, edited, dropped


def test_decisions_survive_and_dropped_questions_do_not_come_back(make, tmp_path):
    path = tmp_path / "quiz.jsonl"
    make()
    plain = path.read_bytes()
    make("--update")
    assert path.read_bytes() == plain
    kept, edited, dropped = decide(path)
    make(code=2)  # without --update the decisions would be lost
    assert [read_quiz(path).counts()[name] for name in ("kept", "edited", "dropped")] == [1, 1, 1]
    made = make("--update")
    assert "Your decisions are as they were: 1 kept, 1 edited, 1 dropped." in made.out
    first, again = path.read_bytes(), rows(path)
    assert again[edited.id]["question"] == f"Say: {edited.question}"
    assert not {dropped.id, edited.question, dropped.question} & {
        text for one in again.values() for text in (one["id"], one["question"], one.get("same_as"))
    }
    assert again[kept.id]["review"] == "kept"
    make("--update")
    assert path.read_bytes() == first
    assert not any(row.stale for row in read_quiz(path).rows)
    assert set(rows(dropped_path(path))) == {dropped.id}


def test_a_row_whose_passage_is_gone_is_stale_and_comes_first(make, tmp_path):
    path, document = tmp_path / "quiz.jsonl", tmp_path / "docs" / "ferries.md"
    make()
    kept, _, _ = decide(path)
    text = document.read_text()
    document.write_text(text.replace(kept.gold_passages[0], f"{kept.gold_passages[0]} It is blue."))
    made = make("--update")
    assert f"stale {kept.id}: its passage is no longer in ferries.md: {kept.question}" in made.out
    (stale,) = [one for one in rows(path).values() if one.get("stale")]
    assert (stale["id"], stale["reference"], stale["review"]) == (kept.id, kept.reference, "kept")
    review = Review(path)
    assert review.read().pending[0].id == kept.id
    review.keep(kept.id, kept.question, f"{kept.reference}!")
    assert json.loads(make("--update", "--json").out)["stale"] == []  # a person has seen it
    document.write_text(text)
    make("--update")
    assert rows(path)[kept.id]["stale"] is None


def test_a_skipped_file_makes_no_row_stale(make, tmp_path):
    path = tmp_path / "quiz.jsonl"
    make()
    decide(path)
    (tmp_path / "docs" / "ferries.md").write_bytes(b"caf\xe9")
    made = make("--update", code=3)
    assert "stale" not in made.out
    assert not any(row.stale for row in read_quiz(path).rows)
    absent = [one for one in rows(path).values() if one["kind"] == "unanswerable"]
    assert absent
    assert all(one["why"].endswith("Not searched: ferries.md.") for one in absent)
    (tmp_path / "docs" / "ferries.md").unlink()
    assert "its passage is no longer in ferries.md" in make("--update").out


def test_a_decision_during_an_update_is_kept(make, tmp_path, monkeypatch):
    path = tmp_path / "quiz.jsonl"
    make()
    first, second, *_ = read_quiz(path).rows

    def meanwhile(*arguments):
        Review(path).drop(first.id)
        Review(path).keep(second.id, second.question, second.reference or "")
        return build_quiz(*arguments)

    monkeypatch.setattr("sgi_quiz.build.build_quiz", meanwhile)
    make("--update")
    assert first.id not in rows(path)
    assert rows(path)[second.id]["review"] == "kept"
