"""`sgi.diagnose` with the bundled model: one cause for each row, with the evidence."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import sgi
from sgi.analysis.diagnosis.causes import CAUSES
from sgi.analysis.diagnosis.derived import DerivedMetric
from sgi.analysis.diagnosis.diagnosis_signals import METRICS
from sgi.analysis.diagnosis.over_runs import compare_diagnoses
from sgi.kernel.errors import UnknownNameError, UsageError

TOWER = {
    "question": "How tall is the tower?",
    "contexts": ["The tower is 330 m tall.", "The bridge of the town is red."],
    "reference": "330 m",
    "response": "The tower is 330 m tall.",
}
GOLD = {"context_ids": ["t", "b"], "relevance": {"t": 1}}
NEAR = {
    "context_ids": ["b", "x", "y", "t"],
    "contexts": ["The bridge is red.", "It is old.", "It rained.", "The tower is 330 m tall."],
}
ROWS = {
    "correct": TOWER,
    "contradicted_fact": TOWER | {"response": "The tower is 312 m tall."},
    "retrieval_miss": TOWER | {"contexts": ["The bridge of the town is red."]},
    "needless_refusal": TOWER | {"response": "I don't know."},
    "answered_unanswerable": TOWER | {"answerable": False},
    "wrong_citation": TOWER | {"response": "The tower is 330 m tall [2]."},
    "unsupported_claim": TOWER
    | {"response": "The tower is 330 m tall. Its wealthy architect later married a famous opera singer."},
    "incomplete_answer": TOWER
    | {"contexts": ["The tower is 330 m tall. It is of iron."], "reference": "330 m tall. It is of iron."},
    "ignored_context": TOWER | {"response": "The bridge of the town is red."},
    "off_topic": TOWER | {"response": "Whisk three eggs with butter, and bake the pancake slowly."},
    "passage_ranked_low": TOWER | NEAR | {"relevance": {"t": 1}, "response": "I don't know."},
}


@pytest.fixture(scope="module")
def result():
    return sgi.evaluate([{"id": name, **row} for name, row in ROWS.items()], ["refusal", "grounding"])


@pytest.fixture(scope="module")
def diagnosis(result):
    return sgi.diagnose(result)


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_is_found(diagnosis, cause):
    assert diagnosis[cause].cause == cause, diagnosis[cause].because


def test_metrics_of_the_run_are_not_computed_again(diagnosis):
    assert not {"refusal", "grounding"} & set(diagnosis.computed)
    assert "citation_precision" in diagnosis.computed


def test_a_contradicted_fact_names_the_span_and_the_passage(diagnosis):
    span = diagnosis["contradicted_fact"].spans[0]
    response = ROWS["contradicted_fact"]["response"]
    assert (response[span.start : span.end], span.passage, span.found) == ("312 m", 1, "330 m")


def test_an_incomplete_answer_names_the_missing_statement_without_its_words(diagnosis):
    row = diagnosis["incomplete_answer"]
    assert [*map(str, row.spans)] == ["missing statement “It is of iron.”"]
    assert row.because == (
        "The response states 50 % of the statements of the reference, and 66.7 % of its content words. "
        "Words of the question do not count."
    )


def test_a_share_of_words_says_what_it_leaves_out_and_only_then():
    question, passages = "Who wrote Dracula, Shelley or Stoker?", ["Stoker wrote Dracula in Ireland."]
    row = {"question": question, "contexts": passages, "response": "Shelley wrote Dracula."}
    references = ["Stoker of Ireland wrote Dracula.", "Stoker"]
    rows = [row | {"id": str(n), "reference": text} for n, text in enumerate(references)]
    some, all_words = (found.because for found in sgi.diagnose(sgi.evaluate(rows, "refusal")).rows)
    assert some.endswith(
        "states 0 % of the content words of the reference. Words of the question do not count."
    )
    assert all_words.endswith("states 0 % of the content words of the reference.")


def test_yes_is_shown_beside_the_reference_instead_of_missing_words():
    row = TOWER | {"question": "Is it tall?", "contexts": ["The tower is tall."]}
    row |= {"response": "Yes", "reference": "The tower is tall."}
    shown = sgi.diagnose(sgi.evaluate([row], "refusal")).rows[0].spans
    assert [*map(str, shown)] == ["yes or no “Yes”; the reference: “The tower is tall.”"]


def test_the_order_of_rows_does_not_matter(result, diagnosis):
    rows = [{"id": name, **row} for name, row in ROWS.items()]
    random.Random(0).shuffle(rows)
    again = sgi.diagnose(sgi.evaluate(rows, "refusal"))
    assert {row.id: row.to_dict() for row in again.rows} == {row.id: row.to_dict() for row in diagnosis.rows}


def test_shares_count_each_diagnosed_row_once(diagnosis):
    assert sum(share.rows for share in diagnosis.causes) == diagnosis.diagnosed == len(ROWS)
    assert sum(share.share for share in diagnosis.causes) == pytest.approx(1)


def test_every_subset_of_fields_gives_one_cause_or_a_reason():
    fields = ("question", "contexts", "reference", "response")
    rows = [
        {"id": str(mask)} | {name: TOWER[name] for bit, name in enumerate(fields) if mask >> bit & 1}
        for mask in range(1, 16)
    ]
    found = sgi.diagnose(sgi.evaluate(rows, "refusal"))
    assert [row.id for row in found.rows] == [row["id"] for row in rows]
    assert all((row.cause in CAUSES) != (row.cause is None) and row.because for row in found.rows)
    assert "the sample has no response" in found["3"].because  # a question with passages
    assert found.coverage < 1


def test_groups_and_unknown_columns():
    rows = [{"id": str(n), **TOWER, "kind": "ab"[n % 2]} for n in range(4)]
    scored = sgi.evaluate(rows, "refusal")
    groups = sgi.diagnose(scored, by="kind").groups
    assert [(group.name, group.rows, group.diagnosed) for group in groups] == [("a", 2, 2), ("b", 2, 2)]
    with pytest.raises(UnknownNameError, match="kinds"):
        sgi.diagnose(scored, by="kinds")


def test_two_runs_are_compared_row_by_row():
    rows = [TOWER | {"id": str(n), "question": f"How tall is the tower {n}?"} for n in range(12)]
    worse = [row | {"response": "I don't know."} for row in rows]
    first, second = (sgi.evaluate(data, "refusal") for data in (rows, worse))
    with pytest.raises(UsageError):
        sgi.api.compare_causes(first)
    compared = sgi.api.compare_causes(first, second)
    refusals = next(one for one in compared.causes if one.cause == "needless_refusal")
    assert [share.share for share in refusals.shares] == [0, 1]
    difference = refusals.differences[0]
    assert (difference.difference.pairs, difference.difference.difference) == (12, 1)
    assert difference.difference.p <= difference.adjusted_p < 0.05
    assert compared.sentences[0].startswith("result 2: needless_refusal rose most, +100.0 pp [")
    assert not [note for note in compared.notes if "recorded" in note or "models" in note]
    back = sgi.api.compare_causes(second, first)
    assert back.sentences == ("result 2: no rise of a cause found",)


def test_a_note_names_different_models():
    scored = sgi.evaluate([TOWER], "refusal")
    diagnosis = sgi.diagnose(scored)
    assert len(diagnosis.models) == 1
    other = replace(diagnosis, run="other", models=("minilm@2",))
    runs = [scored.named("result"), scored.named("other")]
    assert any(note.endswith("→ minilm@2.") for note in compare_diagnoses(runs, [diagnosis, other]).notes)


@pytest.mark.parametrize("columns", [{}, {"contexts": []}])
def test_a_row_without_texts_is_not_diagnosed(columns):
    row = sgi.diagnose(sgi.evaluate([{"response": " ", **columns}], "refusal")).rows[0]
    assert row.cause is None
    assert "the response is blank" in row.because


def test_rows_without_reference_data_have_no_cause_but_an_order_in_which_to_read_them():
    names = ["correct", "needless_refusal", "off_topic", "contradicted_fact", "wrong_citation"]
    rows = [{"id": name, **ROWS[name]} for name in names]
    rows = [{key: value for key, value in row.items() if key != "reference"} for row in rows]
    found = sgi.diagnose(sgi.evaluate(rows, "refusal"))
    assert (found.coverage, len(found.reasons)) == (0, 1)
    ordered = [row.id for row in found.to_read]
    assert ordered[0] == "contradicted_fact"
    assert set(ordered[1:3]) == {"off_topic", "wrong_citation"}
    assert ordered[-1] == "correct"
    assert found["contradicted_fact"].spans[0].found == "330 m"
    assert all(row.finding in str(found) for row in found.to_read)


def test_an_answer_without_a_reference_is_diagnosed_with_gold_passages():
    row = {key: value for key, value in TOWER.items() if key != "reference"} | GOLD
    (found,) = sgi.diagnose(sgi.evaluate([row], "refusal")).rows
    assert (found.cause, found.finding) == ("correct", "")
    assert "without a reference" in found.because


@pytest.mark.parametrize(
    ("response", "reference", "cause"),
    [
        ("312", "330 m", "contradicted_fact"),
        ("312 m", "330 m", "contradicted_fact"),
        ("No, it is 312 m.", "Yes, it is 330 m", "contradicted_fact"),
        ("It has two doors.", "330 m", "ignored_context"),
        ("Yes, 0.33 km", "Yes, 330 m", "correct"),
        ("Very high.", "330 m", "ignored_context"),
    ],
)
def test_a_wrong_value_contradicts_the_reference(response, reference, cause):
    (found,) = sgi.diagnose(
        sgi.evaluate([TOWER | {"response": response, "reference": reference}], "refusal")
    ).rows
    assert found.cause == cause, found.because


def test_refusals_without_gold_references_and_passages_are_not_correct():
    rows = [
        {"id": str(n), "question": f"How tall is tower {n}?", "response": "I don't know."} for n in range(3)
    ]
    found = sgi.diagnose(sgi.evaluate(rows, "refusal"))
    assert {row.cause for row in found.rows} == {None}
    assert found.coverage == 0
    assert all(share.share is None and share.no_interval for share in found.causes)
    assert sum(found.reasons.values()) >= 3


def test_refusals_without_gold_are_needless_if_a_passage_has_the_reference():
    rows = [{"id": str(n), **TOWER, "response": "I don't know."} for n in range(2)]
    assert {row.cause for row in sgi.diagnose(sgi.evaluate(rows, "refusal")).rows} == {"needless_refusal"}


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, "the sample has no contexts"),
        ({"context_ids": ["t"], "relevance": {"t": 1}}, "the sample has no contexts"),
        ({"contexts": []}, "there are no passages"),
        ({"contexts": [" "]}, "all passages are blank"),
    ],
)
def test_a_response_that_states_the_reference_is_not_correct_without_passages(columns, reason):
    row = {name: value for name, value in TOWER.items() if name != "contexts"} | columns
    found = sgi.diagnose(sgi.evaluate([row], "refusal"))
    assert found.rows[0].cause is None
    assert reason in found.rows[0].because
    assert found.coverage == 0


@pytest.mark.parametrize(
    ("columns", "finding"),
    [
        ({}, ""),
        ({"contexts": []}, ""),
        ({"contexts": [" "]}, ""),
        ({"context_ids": ["t"]}, "the response refuses; the passages may have the answer"),
        ({"contexts": ["The bridge is red."]}, "the response refuses; the passages may have the answer"),
    ],
)
def test_passages_may_have_the_answer_only_if_there_are_some(columns, finding):
    row = {"question": TOWER["question"], "response": "I don't know.", **columns}
    found = sgi.diagnose(sgi.evaluate([row], "refusal"))
    assert (found.rows[0].cause, found.rows[0].finding, len(found.to_read)) == (None, finding, bool(finding))


def test_a_refusal_without_passages_says_so_if_there_is_a_reference():
    row = {"question": TOWER["question"], "reference": TOWER["reference"], "response": "I don't know."}
    rows = [row, row | {"contexts": [" "]}, {**row, "reference": None}]
    both, blank, alone = sgi.diagnose(sgi.evaluate(rows, "refusal")).rows
    assert both.because == blank.because == "the response refuses, and the row has no passages to look in"
    assert "refuses" not in alone.because


def test_a_language_is_that_of_the_text_that_is_named():
    row = TOWER | {"reference": "长城全长21196公里。", "response": "The wall is long."}
    signals = {
        name: DerivedMetric(METRICS[metric], change)
        for name, metric, change in (
            ("grounding", "grounding", "reference_as_response"),
            ("similarity", "similarity", "question_as_reference"),
        )
    }
    scored = sgi.evaluate([row, row | {"question": row["reference"]}], [*signals.values()])
    reference, question = (scored[signals[name].canonical].reasons for name in signals)
    assert reference[0].startswith("the reference is in Chinese; grounding covers English")
    assert question[1].endswith("of the question; use a model for its language")


@pytest.mark.parametrize("foreign", ["response", "contexts"])
def test_a_row_in_another_language_is_not_correct(foreign):
    german = "Der Turm in der Stadt ist 330 m hoch, und er ist sehr alt."
    row = TOWER | {foreign: [german] if foreign == "contexts" else german}
    (found,) = sgi.diagnose(sgi.evaluate([row], "refusal")).rows
    assert found.cause is None
    languages = ("English", "German") if foreign == "contexts" else ("German", "English")
    assert "the response is in {}, the passages in {}".format(*languages) in found.because


def test_an_answer_without_the_reference_ignores_only_passages_that_exist():
    row = {"question": TOWER["question"], "reference": "330 m", "response": "The bridge is of red stone."}
    rows = [row, row | {"context_ids": ["t"], "relevance": {"t": 1}}, row | {"contexts": TOWER["contexts"]}]
    alone, with_ids, with_texts = sgi.diagnose(sgi.evaluate(rows, "refusal")).rows
    assert alone.cause is None
    assert "the sample has no contexts" in alone.because
    assert (with_ids.cause, with_texts.cause) == ("ignored_context", "ignored_context")


@pytest.mark.parametrize(("response", "cause"), [("Yes.", "correct"), ("No.", "contradicted_fact")])
def test_a_response_that_claims_nothing_has_no_unsupported_parts(response, cause):
    row = TOWER | {"question": "Is the tower tall?", "reference": "Yes", "response": response}
    (found,) = sgi.diagnose(sgi.evaluate([row], "refusal")).rows
    assert found.cause == cause
