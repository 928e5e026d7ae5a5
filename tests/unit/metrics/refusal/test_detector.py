import json
from pathlib import Path

import pytest

import sgi
from sgi.kernel.metric import Status
from sgi.kernel.registry import metric
from sgi.metrics.judged.answerability import Answerable
from sgi.metrics.refusal.by_answerability import (
    AnsweredUnanswerableJudged,
    CorrectRefusalJudged,
    NeedlessRefusalJudged,
)
from sgi.text.refusal_clauses import analyse_response, find_denials
from support.judged_metrics import RuleJudge
from support.scripted import ROW, ask_metric, outcome

CASES = [
    ("I cannot answer this question based on the provided context.", 1, "no_answer", "en"),
    ("The passages do not mention when the bridge was opened.", 1, "not_in_passages", "en"),
    ("As an AI language model, I cannot give medical advice.", 1, "policy", "en"),
    ("Ich kann diese Frage anhand des Kontexts nicht beantworten.", 1, "no_answer", "de"),
    ("Les passages ne mentionnent pas la date.", 1, "not_in_passages", "fr"),
    ("Lo siento, no puedo ayudarte con eso.", 1, "policy", "es"),
    ("Non lo so.", 1, "no_answer", "it"),
    ("Não há informações sobre o preço nos documentos.", 1, "not_in_passages", "pt"),
    ("Het spijt me, dat weet ik niet.", 1, "no_answer", "nl"),
    ("Volgens de tekst is de toren niet rood.", 0, "answer", None),
    ("The passage does not give the date, but it was built in Rome.", 0, "partial", "en"),
    ("I'm not sure, but I think it was Paris.", 0, "partial", "en"),
    ("The unknown soldier is buried under the arch.", 0, "answer", None),
    ('She answered: "I don\'t know."', 0, "answer", None),
    ("If you do not know your number, ask at the counter.", 0, "answer", None),
    ("Paris.", 0, "answer", None),
    ("Class attendance does not appear to be affected by recordings of lectures.", 0, "answer", None),
    ("Autopistas de Cuota", 0, "answer", None),
    ("The community reports do not say who founded it.", 1, "not_in_passages", "en"),
    ("None of the reports mention the owner.", 1, "not_in_passages", "en"),
    ("Los informes no mencionan el precio.", 1, "not_in_passages", "es"),
    ("Preliminary reports were that the men were not seen together, sources said.", 0, "answer", None),
]


@pytest.fixture(scope="module")
def scores():
    return sgi.evaluate([{"response": text} for text, *_ in CASES], "refusal")["refusal"]


@pytest.mark.parametrize("row", range(len(CASES)), ids=[text for text, *_ in CASES])
def test_a_response_gets_its_value_kind_and_language(scores, row):
    text, value, kind, language = CASES[row]
    details = scores.details[row]
    assert (scores.values[row], details["kind"], details.get("language")) == (value, kind, language)
    assert (details["probability"] >= 0.5) == bool(value)
    if language:
        assert text[details["start"] : details["end"]] == details["phrase"]


FACTS_AND_REDIRECTS = [
    ("I could not find a cheaper plan than Basic, which costs 5 euros.", 0),
    ("We could not find a faster train than the 9:05 one.", 0),
    ("I don't know a better way than to restart the router.", 0),
    ("I don't know about you, but the answer is 42.", 0),
    ("No information is sent to third parties.", 0),
    ("I refuse to believe it, wrote Darwin in 1857.", 0),
    ("I'm sorry to hear that your flight was cancelled. You can rebook it free of charge.", 0),
    ("Returns are free for 30 days. Please contact support for further information.", 0),
    ("I'd need more information to answer that.", 1),
    ("Please contact support for this question.", 1),
    ("I'm just a customer service bot and can only talk about our products.", 1),
    ("Could you please clarify which plan you mean?", 1),
    ("I don't know, I can't find it in the documents.", 1),
    ("Jag vet inte vem som byggde bron.", None),
    ("Nie wiem.", None),
    ("抱歉，我无法回答这个问题。", None),
    ("申し訳ありませんが、その情報は文書にありません。", None),
    ("Gábor Ferenc Király", 0),
]


def test_negated_facts_answer_redirects_refuse_and_other_languages_have_no_value():
    found = sgi.evaluate([{"response": text} for text, _ in FACTS_AND_REDIRECTS], "refusal")["refusal"]
    rows = [found.row(number) for number in range(len(FACTS_AND_REDIRECTS))]
    assert [row.value for row in rows] == [value for _, value in FACTS_AND_REDIRECTS]
    assert all(row.status is Status.UNDEFINED and row.reason for row in rows if row.value is None)


@pytest.mark.parametrize(
    ("sentence", "denied", "whole"),
    [
        ("The passages do not say who; it is 9 m tall.", "The passages do not say who", False),
        ("While the text does not name it, it mentions Rome.", "While the text does not name it", False),
        ("The documents mention that samples can be used for up to 21 years.", None, False),
        ("Based on the given passages, watching stories does not raise the score.", None, False),
        ("Passage 1 states that you do not have to report it.", None, False),
        ("He pleaded not guilty to charges of providing material support.", None, False),
        ("Unknown.", "Unknown.", True),
        ("Sorry, none of the passages names the owner.", "Sorry, none of the passages names the owner", True),
    ],
)  # fmt: skip
def test_the_clauses_of_a_sentence_that_deny(sentence, denied, whole):
    found = find_denials(sentence)
    spans = [sentence[start:end] for start, end in found.spans]
    assert (spans, found.whole) == ([denied] if denied else [], whole)


@pytest.mark.parametrize(
    ("sentence", "denied", "whole"),
    [
        ("Dat wordt in de tekst niet vermeld.", "Dat wordt in de tekst niet vermeld", True),
        ("De tekst noemt het jaar niet, maar hij is rood.", "De tekst noemt het jaar niet", False),
        ("Ik zou alleen maar kunnen gokken.", "Ik zou alleen maar kunnen gokken", True),
        ("De prijs noemen de bronnen echter niet.", "De prijs noemen de bronnen echter niet", True),
        ("Volgens de tekst staat de toren niet in Rome.", None, False),
        ("Passage 1 zegt dat u het niet hoeft te melden.", None, False),
        ("We kunnen de bestelling niet eerder leveren.", None, False),
    ],
)
def test_the_clauses_of_a_dutch_sentence_that_deny(sentence, denied, whole):
    found = find_denials(sentence, "nl")
    spans = [sentence[start:end] for start, end in found.spans]
    assert (spans, found.whole) == ([denied] if denied else [], whole)


def test_a_blank_response_is_undefined():
    score = sgi.evaluate([{"response": " \n"}], "refusal")["refusal"].row(0)
    assert (score.status, score.reason) == (Status.UNDEFINED, "the response is blank")


def test_offsets_are_those_of_the_first_clause_that_does_not_answer():
    text = "Sorry, I’m afraid — the passages don’t say.  Please ask again."
    denial = analyse_response(text).denials[0]
    assert text[denial.start : denial.end] == "the passages don’t say"


def test_a_response_in_quotation_marks_is_not_a_quotation():
    assert analyse_response("“I don't know.”").denials


@pytest.mark.parametrize(
    "text",
    [
        *("i don't know " * 20_000, "not " * 50_000, '"' * 100_000, "." * 200_000, ", but " * 5_000),
        *("i not " * 5_000, "nicht sag " * 5_000, "." * 200_000 + "x", "not" + " " * 200_000 + "x"),
        *(", " * 100_000 + "x", "\n" * 200_000 + "x", "no se puede " * 5_000, "; " * 5_000),
        *("ik kan niet mogelijk " * 5_000, "volgens de tekst over " * 5_000),
    ],
    ids=range(15),
)
def test_long_texts_are_analysed(text):
    assert analyse_response(text) == analyse_response(text)


def test_no_embedder_is_needed():
    assert metric("refusal").vector_needs is None


ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "refusals.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "pt", "nl"])
def test_most_refusals_of_held_rows_are_found_in_each_language(language):
    rows = [row for row in ROWS if row["part"] == "held_rag" and row["language"] == language]
    values = sgi.evaluate([{"response": row["text"]} for row in rows], "refusal")["refusal"].values
    true = [row["kind"] not in {"answer", "partial"} for row in rows]
    hits = sum(value == 1 and label for value, label in zip(values, true, strict=True))
    assert (sum(true), len(rows)) == (20, 40)
    assert hits >= 13
    assert sum(values) - hits <= 2


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("The passages describe the canal. They do not say who dug it.", "silent"),
        ("I found details about the castle, but nothing that answers the question.", "silent"),
        ("Die Quellen behandeln den Kanal. Sie sagen jedoch nicht, wer ihn gegraben hat.", "silent"),
        ("The canal is old. They do not say who dug it.", "content"),
        ("The officer told the court that he could not say who fired first.", "content"),
        ("According to the context, the car has no spare wheel.", "content"),
    ],
)
def test_a_denial_may_name_the_passages_by_a_pronoun(text, role):
    assert analyse_response(text).clauses[-1].role == role


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The text gives the width, but the height is another matter.", "answer"),
        ("A doctor should look at that.", "answer"),
        ("Nothing in this letter answers the question of the king.", "not_in_passages"),
        ("The passages do not give the price. The ticket office can tell you more.", "partial"),
        ("De minister antwoordde: ‘Dat weet ik niet.’", "partial"),
    ],
)
def test_the_page_names_real_errors(text, kind):
    page = " ".join((Path(__file__).parents[4] / "docs" / "refusals.md").read_text(encoding="utf-8").split())
    assert f'"{text}"' in page
    assert sgi.evaluate([{"response": text}], "refusal")["refusal"].details[0]["kind"] == kind


REFUSES, ANSWERS = "I don't know.", "In Rome."


JUDGED = (NeedlessRefusalJudged(), CorrectRefusalJudged(), AnsweredUnanswerableJudged())


NAMES = ("needless_refusal", "correct_refusal", "answered_unanswerable")


NOT_ANSWERABLE, IS_ANSWERABLE = "the question is not answerable", "the question is answerable"


YES, NO = ({"answerability.verdict": {"reason": "Passage 1.", "answerable": value}} for value in (1, 0))


@pytest.mark.parametrize(
    ("answerable", "response", "expected"),
    [
        (True, REFUSES, (1.0, IS_ANSWERABLE, IS_ANSWERABLE)),
        (True, ANSWERS, (0.0, IS_ANSWERABLE, IS_ANSWERABLE)),
        (False, REFUSES, (NOT_ANSWERABLE, 1.0, 0.0)),
        (False, ANSWERS, (NOT_ANSWERABLE, 0.0, 1.0)),
        (False, " ", (NOT_ANSWERABLE, "the response is blank", "the response is blank")),
    ],
)
def test_each_metric_has_values_for_its_rows_only(answerable, response, expected):
    result = sgi.evaluate([{"response": response, "answerable": answerable}], NAMES)
    scores = [result[name].row(0) for name in NAMES]
    assert tuple(score.reason if score.value is None else score.value for score in scores) == expected


@pytest.mark.parametrize(
    ("lost", "script", "expected", "calls"),
    [
        ({}, YES, (1.0, "ok", ""), 1),
        ({}, NO, (0.0, "ok", ""), 1),
        ({"contexts": (" ",)}, {}, (0.0, "ok", ""), 0),
        ({"question": ""}, {}, (None, "undefined", "the question is blank"), 0),
    ],
)
def test_the_judge_says_whether_the_passages_contain_the_answer(lost, script, expected, calls):
    sample = ROW.model_copy(update=lost)
    assert outcome(Answerable(), sample, script) == expected
    assert len(ask_metric(Answerable(), sample, script)[1]) == calls


def test_metrics_with_a_judge_share_one_call():
    texts = set()
    for judged in (
        Answerable(),
        NeedlessRefusalJudged(),
        CorrectRefusalJudged(),
        AnsweredUnanswerableJudged(),
    ):
        _, (inquiry,) = ask_metric(judged, ROW, YES)
        texts.add(inquiry.text)
    assert len(texts) == 1


def test_metrics_with_a_judge_follow_its_verdict():
    row = {"question": "Where?", "contexts": []}
    names = [f"{name}_judged" for name in NAMES]
    result = sgi.evaluate(
        [row | {"id": text, "response": text} for text in (REFUSES, ANSWERS)],
        names,
        judge=RuleJudge(),
        cache=False,
    )
    assert [result[name].row(0).value for name in names] == [None, 1.0, 0.0]
    assert [result[name].row(1).value for name in names] == [None, 0.0, 1.0]
