from __future__ import annotations

from dataclasses import replace

import pytest

import sgi
from sgi.analysis.flag_precision import flag_table
from sgi.engine.review import ReviewCounts
from sgi.reporting.answers_to_check import evidence_sentences, flags_tables, reason_to_check, review_clause
from sgi.stats.auroc_difference import AurocDifference
from sgi.stats.intervals import Interval
from sgi.stats.ranking import Ranking
from support.answers_to_check import PASSAGES, rows_to_check
from support.views import sample, score, summary

COUNTS = ReviewCounts(
    flagged=12,
    low=2,
    limit=0.163,
    kinds={"number absent": 9, "colour absent": 4},
    labelled=10,
    wrong=7,
    version=flag_table().version,
)


def grounding(counts=COUNTS, **parts):
    return summary("grounding", 60, **{"review": counts, "is_share": False, **parts})


def interval(low, high):
    return Interval(low, high, 0.95, "t")


@pytest.mark.parametrize(
    ("flagged", "low", "numbers"),
    [(12, 2, {"14", "60", "12", "2"}), (12, 0, {"12", "60"}), (0, 2, {"2", "60"}), (0, 0, {"60"})],
)
def test_the_clause_has_the_numbers_of_answers(flagged, low, numbers):
    text = review_clause(grounding(replace(COUNTS, flagged=flagged, low=low)))
    words = {word.strip(",.:") for word in text.split()}
    assert {word for word in words if word.isdecimal()} == numbers
    assert ("0.163" in words) == (low > 0 or not flagged)


def test_the_measured_precision_is_that_of_this_version_only():
    sentences = [*evidence_sentences(grounding(ranking=None))]
    assert len(sentences) == 1
    assert f"{sum(flag_table().sets.values()):,}" in sentences[0]
    assert not [*evidence_sentences(grounding(replace(COUNTS, version=3), ranking=None))]
    assert not [*evidence_sentences(grounding(replace(COUNTS, flagged=0, low=0), ranking=None))]


@pytest.mark.parametrize(
    ("area", "difference", "words"),
    [
        (interval(0.6, 0.9), interval(0.01, 0.2), ["better than chance", "better than content"]),
        (
            interval(0.4, 0.9),
            interval(-0.1, 0.2),
            ["is not shown to rank the labels", "is not shown to rank better"],
        ),
        (interval(0.1, 0.4), interval(-0.2, -0.1), ["worse than chance", "worse than content"]),
        (None, None, ["is not shown to rank the labels", "is not shown to rank better"]),
    ],
)
def test_labels_say_whether_the_score_is_better_than_chance_and_than_words(area, difference, words):
    ranked = grounding(
        ranking=Ranking(0.7, area, 40, 20), content_difference=AurocDifference(0.05, difference, 60)
    )
    _, labels, ranks = evidence_sentences(ranked)
    assert all(number in labels.split() for number in ("7", "10", "60"))
    first, _, second = ranks.partition(", and ")
    assert words[0] in first
    assert words[1] in second


def test_the_table_of_flags_has_a_dash_for_a_kind_that_was_not_measured():
    (table,) = flags_tables([grounding(), summary("bleu")])
    cells = {row[0]: row[1:] for row in table.rows}
    assert cells["colour absent"] == ("4", "–", "–", "–", "–")
    assert cells["number absent"][0] == "9"
    assert cells["low score"][0] == "2"


@pytest.fixture(scope="module")
def scored():
    result = sgi.evaluate(rows_to_check(), "grounding")
    details = result["grounding"].details
    return {one.id: (one, body) for one, body in zip(result.samples, details, strict=True)}


def reason(scored, kind, contexts=tuple(PASSAGES), **changes):
    one, body = scored[kind]
    scores = {"grounding": score(0.1, details={**body, **changes})}
    return reason_to_check(sample(0, response=one.response, contexts=contexts, scores=scores), "grounding")


def test_a_contradicted_fact_is_shown_with_what_the_passage_has(scored):
    text = reason(scored, "contradicted")
    assert text.startswith("number 312 m: passage 1 has 330 m")
    assert "The Eiffel Tower is 312 m tall." in text


def test_an_absent_fact_is_in_no_passage_only_if_its_text_is_in_none(scored):
    assert reason(scored, "absent").startswith("number 57: in no passage")
    assert "in no passage" not in reason(scored, "absent", contexts=("Number 57 is here.",))


def test_a_negation_is_shown_with_the_sentence_of_the_passage(scored):
    one, body = scored["contradicted"]
    (sentence,) = body["sentences"]
    check = sentence["checks"][0] | {"kind": "polarity", "fact": one.response, "verdict": "contradicted"}
    text = reason(
        scored, "contradicted", sentences=[sentence | {"checks": [check | {"found": "It is not."}]}]
    )
    assert text == f"negation: passage 1 has “It is not.” – {one.response}"


def test_a_low_score_is_shown_with_the_words_that_no_passage_has(scored):
    assert "chocolate pudding" in reason(scored, "low").partition(" – ")[0]


def test_without_an_evidence_map_the_reason_is_that_of_the_judge_or_the_response():
    judged = score(0.0, evidence={"reasoning": "It is not there."})
    row = sample(0, response="An answer.", scores={"judged": judged})
    assert reason_to_check(row, "judged") == "It is not there. – An answer."
    plain = sample(0, response="An answer.", scores={"bleu": score(0.0)})
    assert reason_to_check(plain, "bleu") == "An answer."
