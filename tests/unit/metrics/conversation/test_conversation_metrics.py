import json
from pathlib import Path

import pytest

import sgi
from sgi.metrics.conversation.standalone import dependence
from sgi.metrics.judged.conversation_relevance import ConversationRelevance
from support.scripted import ROW, ask_metric, outcome

QUESTIONS = Path("tests/data/standalone_questions.jsonl")


def conversation(*texts, contexts=()):
    roles = ["user", "assistant"] * len(texts)
    turns = [{"role": role, "text": text} for role, text in zip(roles, texts, strict=False)]
    for turn, passages in zip(turns[1::2], contexts, strict=False):
        turn["contexts"] = list(passages)
    return {"turns": turns}


def score(name, row):
    return sgi.evaluate([row], name, cache=False)[name].row(0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The Anke was launched in 1960.", ("1960", "1950", 2, "other date")),
        ("In fact the Anke was launched in 1950 at Tolvik.", None),
    ],
)
def test_facts_of_an_answer_are_compared_with_earlier_answers(answer, expected):
    row = conversation("When?", "The Anke was launched in 1950.", "Sure?", answer)
    result = score("contradicts_itself", row)
    assert result.value == float(expected is not None)
    found = [
        (each["fact"], each["found"], each["message"], each["how"])
        for each in result.details["contradictions"]
    ]
    assert found == ([expected] if expected else [])
    for each in result.details["contradictions"]:
        assert answer[each["start"] : each["end"]] == each["fact"]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (("When?", "In 1950."), "there is no earlier answer"),
        (("When?", "In 1950.", "Sure?", "yes"), "the response has no number, date or name"),
    ],
)
def test_rows_without_facts_to_compare_are_undefined(texts, reason):
    assert score("contradicts_itself", conversation(*texts)).reason == reason


def test_passages_of_earlier_messages_support_an_answer_with_history():
    row = conversation(
        "When was the Anke launched?",
        "The Anke was launched in 1950.",
        "Can you say that again?",
        "The yard at Tolvik launched the Anke in 1950.",
        contexts=[["The yard at Tolvik launched the Anke in 1950."], ["Lake Serrin freezes in winter."]],
    )
    assert score("grounding", row).value < 0.1
    assert score("grounding(history=true)", row).value > 0.9


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("And how long is she?", "opening"),
        ("How many?", "fragment"),
        ("Which one is cheaper?", "reference"),
        ("When was it built?", "pronoun"),
        ("Is it possible to freeze rice?", None),
    ],
)
def test_words_that_refer_to_the_history_are_found(question, needs):
    found = dependence(question)
    assert (found[0] if found else None) == needs


def test_held_questions_are_classified():
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    held = [row for row in rows if row["part"] == "held"]
    right = sum((dependence(row["text"]) is None) == bool(row["standalone"]) for row in held)
    assert (right, len(held)) == (37, 39)


def test_questions_in_other_languages_are_undefined():
    row = {"question": "Und wie lang ist sie, wenn man den Bug nicht mitzählt, und wie breit?", "turns": []}
    assert score("standalone_question", row).reason == "the question is not in English"


def test_the_judge_sees_the_earlier_messages():
    sample = ROW.model_copy(update={"turns": ()})
    script = {"conversation_relevance.rating": {"reason": "It fits.", "rating": 3}}
    assert outcome(ConversationRelevance(), sample, script) == (0.75, "ok", "")
    (row,) = sgi.io.dataset.open_dataset([conversation("Who?", "Ada.", "And when?", "1815.")]).samples()
    stored, (inquiry,) = ask_metric(ConversationRelevance(), row, script)
    assert (stored.left_out, "assistant: Ada." in inquiry.text) == (0, True)
    stored, (inquiry,) = ask_metric(ConversationRelevance(), row, script, budget=4)
    assert (stored.left_out, "user: Who?" in inquiry.text) == (1, False)
