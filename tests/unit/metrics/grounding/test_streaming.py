"""Answers that arrive in pieces."""

from __future__ import annotations

import random

import pytest

from sgi.metrics.grounding import prepared_row, row_language
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.metrics.grounding.streaming import MAX_SENTENCE, SentenceReader, StreamedAnswer, read_answer

PASSAGES = ["The tower is 330 m tall. It stands in Paris, and Dr. Eiffel built it in 1889."]
TEXTS = {
    "prose": "The tower is 330 m tall. Dr. Eiffel built it (in 1889)! It stands in Paris.",
    "a list": "It has:\n- a lift,\n- stairs.\n\n1. Buy a ticket.\n2. Go up.\n",
    "spaces": "  It is tall.  \n\n  It is red. ",
    "no space": "x" * (3 * MAX_SENTENCE + 7),
    "one long sentence": "word, " * 1000 + "end. Next one",
    "one word": "Paris",
    "blank": " \n ",
    "empty": "",
}


def pieces(text, generator):
    while text:
        size = generator.choice((1, 2, 7, 40, 3000))
        yield text[:size]
        text = text[size:]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_sentences_do_not_depend_on_the_pieces(text):
    whole = [*SentenceReader().feed(text, last=True)]
    assert "".join(whole) == text
    assert all(len(sentence) <= MAX_SENTENCE + 40 for sentence in whole)
    generator = random.Random(4)
    for _ in range(10):
        reader = SentenceReader()
        found = [each for piece in pieces(text, generator) for each in reader.feed(piece)]
        assert [*found, *reader.feed(last=True)] == whole


def test_the_last_piece_is_split_too():
    assert [*SentenceReader().feed("It is red. Yes", last=True)] == ["It is red. ", "Yes"]


def test_the_passages_are_analysed_once(monkeypatch):
    calls = []
    index = PassageIndex.of
    monkeypatch.setattr(PassageIndex, "of", lambda texts: calls.append(1) or index(texts))
    answer = read_answer("", PASSAGES, TEXTS["prose"])
    assert len(answer.sentences) == 3
    assert calls == [1]


def test_the_question_and_the_languages_of_the_passages_are_analysed_once(monkeypatch):
    read = []

    def noted(function):
        return lambda text: read.append(text) or function(text)

    for module, name in [(prepared_row, "normalize_text"), (row_language, "has_other_letters")]:
        monkeypatch.setattr(module, name, noted(getattr(module, name)))
    question, passages = "How tall is it?", ["Ein Turm.", "Rot"]
    read_answer(question, passages, "Der Turm steht seit 1889 am Ufer der Seine und ist rot. " * 3)
    assert [read.count(text) for text in (question, "\n".join(passages))] == [1, 1]


def test_a_sentence_in_another_language_is_read_with_a_bounded_text(monkeypatch):
    sizes = []
    row = StreamedAnswer._row
    monkeypatch.setattr(StreamedAnswer, "_row", lambda *args: sizes.append(len(args[1])) or row(*args))
    german = "Der Turm steht seit dem Jahr 1889 am Ufer der Seine und ist rot. "
    answer = StreamedAnswer("", PASSAGES)
    for sentence in answer.feed("It is tall. " * 300 + german, last=True):
        answer.add(sentence, answer.support(sentence))
    assert answer.problem == ""
    assert len(german) < max(sizes) <= MAX_SENTENCE + len(german)


def test_one_wrong_sentence_among_many_lowers_the_score():
    right = "The tower is 330 m tall. " * 4
    assert read_answer("", PASSAGES, right).score > 0.9
    assert read_answer("", PASSAGES, f"{right}It weighs 7,300 tons.").score < 0.6


def test_citations_and_a_list_of_references_do_not_lower_the_score():
    right = "The tower is 330 m tall [Data: Reports (2)]. [Data: Sources (7, +more)]\n\n"
    listed = "### References\n\n- [1] guide.md\n- [2] History of Tolvik 1888.pdf"
    assert read_answer("", PASSAGES, right + listed).score == read_answer("", PASSAGES, right).score > 0.9
    assert read_answer("", PASSAGES, f"{right}{listed}\n\nIt weighs 7,300 tons.").score < 0.6


def test_a_single_sentence_has_the_score_of_the_answer():
    answer = read_answer("", PASSAGES, "It is 312 m tall.")
    alone = StreamedAnswer("", PASSAGES).support("It is 312 m tall.")
    assert answer.whole().log_odds == alone.log_odds - 2
    assert answer.lowest == answer.whole().log_odds


@pytest.mark.parametrize("response", ["", "I don't know.", "The passages do not say how heavy it is."])
@pytest.mark.parametrize("passages", [PASSAGES, []])
def test_an_answer_without_claims_has_no_score_and_no_problem(response, passages):
    answer = read_answer("How heavy is it?", passages, response)
    assert (answer.score, answer.problem) == (None, "")


@pytest.mark.parametrize(
    ("passages", "problem"), [([], "there are no passages"), ([" "], "all passages are blank")]
)
def test_a_claim_without_passages_is_a_problem(passages, problem):
    answer = read_answer("", passages, "It is 312 m tall.")
    assert (answer.score, answer.problem) == (None, problem)


def test_a_quotation_in_another_language_is_not_a_problem():
    english = "The tower is 330 m tall, and it stands in Paris with the other one. " * 3
    response = f"{english}Der Turm steht seit dem Jahr 1889 am Ufer der Seine."
    assert read_answer("", PASSAGES, response).problem == ""
    german = "Der Turm steht seit dem Jahr 1889 am Ufer der Seine und ist rot."
    assert "in German" in read_answer("", PASSAGES, german).problem


def test_german_answers_share_the_passages(monkeypatch):
    passages = ["Der Turm ist 330 m hoch. Er steht in Paris, und er wurde im Jahr 1889 von Eiffel erbaut."]
    calls = []
    index = PassageIndex.of
    monkeypatch.setattr(PassageIndex, "of", lambda texts: calls.append(1) or index(texts))
    answer = read_answer("", passages, "Der Turm ist 330 m hoch. Er steht in Paris und ist rot.")
    assert answer.problem == ""
    assert calls == [1]
