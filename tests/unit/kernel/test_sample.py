import warnings

import numpy as np
import pytest
from hypothesis import given
from pydantic import ValidationError

from sgi.kernel.sample import CONTEXTS, LABEL, QUESTION, REFERENCE, RESPONSE, Batch, Field, Sample
from sgi.testing.strategies import samples


def test_null_is_absent_and_blank_is_not():
    row = Sample(id="1", question=None, response="", reference=None, label=None, contexts=None)
    assert [field for field in Field if row.has(field)] == [Field.RESPONSE]
    assert (row.question, row.contexts, row.references) == ("", (), ())


def test_one_context_may_be_plain_text():
    assert Sample(id="1", contexts="only").contexts == ("only",)


def test_several_references_are_one_and_its_alternatives():
    row = Sample(id="1", reference=["a", "b"], alternatives=["c"])
    assert (row.reference, row.alternatives, row.references) == ("a", ("b", "c"), ("a", "b", "c"))
    assert not Sample(id="1", reference=[]).has(Field.REFERENCE)
    assert Sample(id="1", reference="a", alternatives=None).references == ("a",)


def test_the_callers_row_is_left_alone():
    row = {"id": "1", "reference": ["a", "b"], "contexts": "c", "label": None}
    Sample.model_validate(row)
    assert row == {"id": "1", "reference": ["a", "b"], "contexts": "c", "label": None}


def test_a_sample_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        Sample(id="1").question = "x"


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"id": 1},
        {"id": "1", "question": 3},
        {"id": "1", "contexts": {"a": 1}},
        {"id": "1", "contexts": [["a"]]},
        {"id": "1", "reference": ["a", None]},
        {"id": "1", "label": 0.5},
        {"id": "1", "metadata": {"a": object()}},
        {"id": "1", "answer": "a"},
        "row",
    ],
)
def test_what_is_no_sample_is_refused(row):
    with pytest.raises(ValidationError):
        Sample.model_validate(row)


@given(samples())
def test_json_leads_back(sample):
    assert Sample.model_validate_json(sample.model_dump_json(exclude_unset=True)) == sample


@given(samples())
def test_present_is_has_of_all(sample):
    batch = Batch.of([sample])
    for fields in (frozenset(), QUESTION, CONTEXTS | RESPONSE, REFERENCE | LABEL):
        assert batch.present(fields).tolist() == [all(sample.has(field) for field in fields)]


def test_columns_stand_row_by_row():
    rows = [
        Sample(id="a", question="q", contexts=("c", "d"), response="r", reference="x", alternatives=("y",)),
        Sample(id="b", metadata={"group": 1}),
    ]
    batch = Batch.of(rows)
    assert (batch.ids, batch.question, batch.response) == (("a", "b"), ("q", ""), ("r", ""))
    assert list(batch.contexts) == [("c", "d"), ()]
    assert list(batch.references) == [("x", "y"), ()]
    assert batch.metadata == ({}, {"group": 1})
    assert batch.question is batch.question  # made once


def test_take_keeps_the_order_asked():
    batch = Batch.of([Sample(id=name) for name in "abc"])
    assert batch.take([2, 0, 2]).ids == ("c", "a", "c")
    assert batch.take(np.array([1])).ids == ("b",)
    assert len(batch.take([])) == 0
    with warnings.catch_warnings(action="error"), pytest.raises((TypeError, DeprecationWarning)):
        batch.take(np.array([True, False, True]))  # older versions of numpy warn


def test_an_empty_batch_has_empty_columns():
    batch = Batch.of([])
    assert (len(batch), batch.ids, len(batch.contexts), batch.present(QUESTION).shape) == (0, (), 0, (0,))


def test_rows_with_the_same_question_share_a_cluster_whatever_their_passages():
    one, two, other = (
        Sample(id=name, question=question, contexts=(name,))
        for name, question in (("1", "Who?"), ("2", "Who?"), ("3", "who?"))
    )
    assert one.cluster(0) == two.cluster(1) != other.cluster(2)


def test_answers_about_one_text_share_a_cluster_where_nothing_is_asked():
    one, two, other = (
        Sample(id=name, question=" ", contexts=contexts)
        for name, contexts in (("1", ("a", "b")), ("2", ("a", "b")), ("3", ("ab",)))
    )
    assert one.cluster(0) == two.cluster(1) != other.cluster(2)


@pytest.mark.parametrize("fields", [{}, {"question": " \n"}, {"contexts": ["", " "]}])
def test_what_shares_nothing_stands_for_itself(fields):
    assert len({Sample(id=str(n), **fields).cluster(n) for n in range(100)}) == 100


@given(samples())
def test_a_cluster_is_a_signed_integer_of_64_bits(sample):
    assert -(2**63) <= sample.cluster(7) < 2**63


def test_clusters_never_change():
    # Stored numbers are compared with new ones: this value is part of the format.
    assert Sample(id="1", question="Who wrote it?").cluster(0) == 8243261597088463811


@pytest.mark.parametrize("by", ["question", "contexts", "kind"])
def test_a_sample_and_its_placeholders_are_in_one_cluster(by):
    sample = Sample(
        id="1", question="Who  wrote it?", contexts=("One.", "T\nwo."), metadata={"kind": {"a": ["b", 1]}}
    )
    again = sample.with_texts(lambda text: " ".join(text.split()))
    assert sample.cluster(0, by) == sample.with_placeholders().cluster(1, by) == again.cluster(2, by)


FURTHER = Sample(
    id="1",
    response="Emma is hers [1].",
    contexts=("Emma",),
    context_ids=("d1",),
    context_scores=(1.0,),
    relevance={"d1": 1},
    citations=[{"passage": "d1", "start": 0, "end": 4}],
    turns=[{"role": "user", "text": "Who?", "contexts": ["Emma"]}],
)


def test_another_response_has_no_citations_and_other_passages_no_ids():
    assert "citations" not in FURTHER.with_response("It is.").model_fields_set
    other = FURTHER.with_response("It is.", ("Persuasion", "Emma"))
    assert other.further_values().keys() == {"relevance", "turns"}


def test_placeholders_replace_ids_and_turns_and_still_match_each_other():
    kept = FURTHER.with_placeholders()
    assert "d1" not in kept.model_dump_json()
    assert "Who?" not in kept.model_dump_json()
    assert kept.context_ids[0] == next(iter(kept.relevance)) == kept.citations[0].passage
    assert kept.turns[0].contexts == kept.contexts
    assert kept.with_placeholders() == kept
