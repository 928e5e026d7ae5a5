from collections import Counter

import pytest

from sgi_quiz.build import build_quiz
from sgi_quiz.content_check import WINDOW, Absence, ContentCheck
from sgi_quiz.document_files import Documents
from sgi_quiz.passages import Passage
from sgi_quiz.question import Kind, Question

pytest.importorskip("spacy")

from sgi_quiz.parsing import parse
from sgi_quiz.statement_facts import facts_of


def facts(text):
    passage = Passage("a.txt", 0, text, text)
    return {(fact.kind, fact.question, fact.reference) for one in parse([passage]) for fact in facts_of(one)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ferry Berta was launched in 1964.", ("date", "When was the ferry Berta launched?", "1964")),
        (
            "Nils Berg lived in Norway for forty years.",
            ("place", "Where did Nils Berg live for forty years?", "Norway"),
        ),
        (
            "The Black Death ravaged Europe for three years.",
            ("duration", "How long did the Black Death ravage Europe?", "three years"),
        ),
        (
            "The Panthers defense gave up just 308 points before the Super Bowl.",
            ("number", "How many points did the Panthers defense give up before the Super Bowl?", "308"),
        ),
        (
            "Greta Holm designed the hull of the Berta in 1938.",
            ("person", "Who designed the hull of the Berta in 1938?", "Greta Holm"),
        ),
        (
            "The Halvorsen Medal is a prize for engineers of small ships.",
            ("definition", "What is the Halvorsen Medal?", "a prize for engineers of small ships"),
        ),
        (
            "Greta Holm designed the Anke because the old boat was too slow.",
            ("reason", "Why did Greta Holm design the Anke?", "because the old boat was too slow"),
        ),
        (
            "If the night ferry is full, `tolvik book` puts you on a list.",
            ("condition", "What happens if the night ferry is full?", "tolvik book puts you on a list"),
        ),
        (
            "To score single rows without a database, use `sgi.Scorer`.",
            ("instruction", "How do I score single rows without a database?", "use sgi.Scorer"),
        ),
        (
            "The ferry Berta is based on the plans of an older tanker.",
            ("thing", "What is the ferry Berta based on?", "the plans of an older tanker"),
        ),
    ],
)  # fmt: skip
def test_a_fact_becomes_a_question(text, expected):
    assert expected in facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "It was launched in 1964 by the yard.",
        "The boat was launched in 1964.",
        "This famous bridge was opened in 1964.",
        "The ferry Berta was never launched in 1964.",
        "A fan arrived in Norway in 1964.",
    ],
)
def test_a_sentence_that_needs_its_neighbours_has_no_question(text):
    assert not facts(text)


def test_every_kind_is_made(made):
    kinds = {one.kind for one in made}
    assert kinds >= {*Kind} - {Kind.FOLLOW_UP}


def test_a_follow_up_needs_its_first_turn(tmp_path):
    path = tmp_path / "ships.txt"
    path.write_text(
        "Nils Berg sailed to Norway with a cargo of salt in 1944. He was a captain and had his own boat. "
        "Nils Berg was elected mayor of Rundvik in 1951. Nils Berg died in 1961."
    )
    made = build_quiz(Documents.find([path]), 30).questions
    one = next(one for one in made if one.kind is Kind.FOLLOW_UP)
    assert "Berg" not in one.text
    assert one.text.startswith("And ")
    row = one.row()
    assert [turn["role"] for turn in row["turns"]] == ["user", "assistant", "user"]
    assert row["turns"][-1]["text"] == row["question"]


def test_gold_passages_are_in_the_source_and_have_the_answer(made, corpus):
    source = "".join(path.read_text("utf-8") for path in sorted(corpus.rglob("*")) if path.is_file())
    for one in made:
        row = one.row()
        assert all(passage in source for passage in row["gold_passages"])
        if one.kind in {Kind.FACT, Kind.TWO_HOP, Kind.PARAPHRASE, Kind.COMPARISON}:
            assert one.reference in " ".join(passage.plain.replace("`", "") for passage in one.passages)


def test_only_unanswerable_questions_and_false_premises_have_no_reference(made):
    without = {Kind.UNANSWERABLE, Kind.FALSE_PREMISE}
    for one in made:
        assert one.row()["answerable"] is (one.kind not in without)
        assert bool(one.passages) is (one.kind is not Kind.UNANSWERABLE)
        assert one.why


def test_no_two_questions_are_alike(made):
    assert len({one.text for one in made}) == len({one.id for one in made}) == len(made)


def test_closed_questions_are_at_most_thirty_percent(made):
    closed = Counter(one.kind in {Kind.YES_NO, Kind.COMPARISON} for one in made)
    assert closed[True] <= 0.3 * len(made)


def test_the_same_seed_gives_the_same_rows(made, corpus):
    again = build_quiz(Documents.find([corpus]), 60, seed=1).questions
    assert [one.row() for one in again] == [one.row() for one in made]
    other = build_quiz(Documents.find([corpus]), 60, seed=2).questions
    assert [one.id for one in other] != [one.id for one in made]


def absent(text, *, cues=("born", "birth"), distance=1):
    question = Question(
        Kind.UNANSWERABLE, "birth", "Where was Nils Berg born?", None, (), "", "why", "Nils Berg"
    )
    check = ContentCheck()
    check.watch_absence(Absence(question, is_person=True, cues=cues))
    check.read(Passage("a", 0, "", "Nils Berg built a winch."))
    check.read(Passage("a", distance, "", text))
    return check.is_right(question)


def test_an_attribute_near_the_name_refutes_that_it_is_absent():
    assert absent("The winch was heavy.")
    assert not absent("He was born in Bergen.")
    assert not absent("His birthplace is Bergen.")
    assert not absent("His favourite langauge was Norse.", cues=("languag",))
    assert absent("He was born in Bergen.", distance=WINDOW + 2)


def test_a_second_answer_in_another_passage_refutes_a_question():
    passage = Passage("a", 0, "Berg sold the winch in 1921.", "Berg sold the winch in 1921.")
    question = Question(
        Kind.FACT, "date", "When did Berg sell the winch?", "1921", (passage,), "", "why", "Berg"
    )
    for text, is_right in [
        ("Berg may sell the winch in 1934.", False),
        ("Berg will sell the winch: 1921.", True),
    ]:
        check = ContentCheck()
        check.watch(question)
        check.read(passage)
        check.read(Passage("b", 0, text, text))
        assert check.is_right(question) is is_right
