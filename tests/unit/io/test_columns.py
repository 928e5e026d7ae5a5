import pytest

from sgi.io.column_names import NAMES
from sgi.io.columns import checked_mapping, recognise, recognise_header
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi.kernel.sample import Sample


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        (
            ("user_input", "retrieved_contexts", "response", "reference"),
            {"question": "user_input", "contexts": "retrieved_contexts"},
        ),
        (
            ("input", "actual_output", "retrieval_context", "expected_output"),
            {
                "question": "input",
                "contexts": "retrieval_context",
                "response": "actual_output",
                "reference": "expected_output",
            },
        ),
        (
            ("_id", "prompt", "documents", "prediction", "gold", "is_grounded", "meta"),
            {
                "id": "_id",
                "question": "prompt",
                "contexts": "documents",
                "response": "prediction",
                "reference": "gold",
                "label": "is_grounded",
                "metadata": "meta",
            },
        ),
        (("Question", "Best Answer"), {"question": "Question", "reference": "Best Answer"}),
    ],
)
def test_the_columns_of_other_tools_are_recognised(columns, fields):
    plan = recognise(columns)

    assert fields.items() <= plan.fields.items()
    assert plan.spare == ()


def test_every_field_of_a_sample_has_its_canonical_name_first():
    fields = {*Sample.model_fields, "gold_ids"}  # becomes relevance
    assert {field: names[0] for field, names in NAMES.items()} == {name: name for name in fields}


def test_no_name_means_two_fields():
    names = [name for names in NAMES.values() for name in names]

    assert len(names) == len(set(names))


def test_the_canonical_name_wins_and_the_loser_is_spare():
    plan = recognise(("answer", "response", "output"))

    assert plan.fields["response"] == "response"
    assert plan.spare == ("answer", "output")


@pytest.mark.parametrize(
    "retrieved", ["retrieved_contexts", "retrieval_context", "retrieved_documents", "Retrieved Chunks"]
)
@pytest.mark.parametrize("other", ["context", "documents", "knowledge", "passages"])
def test_what_was_retrieved_goes_before_other_passages(retrieved, other):
    plan = recognise((other, retrieved, "response"))

    assert plan.fields["contexts"] == retrieved
    assert plan.unused == {other: "contexts"}
    assert plan.spare == (other,)


def test_a_column_that_holds_nothing_is_taken_only_if_there_is_no_other():
    columns = ("retrieval_context", "context", "response")

    assert recognise(columns, (), frozenset({"retrieval_context"})).fields["contexts"] == "context"
    assert recognise(columns, (), frozenset(columns)).fields["contexts"] == "retrieval_context"


@pytest.mark.parametrize("name", ["Unnamed: 0", "Unnamed: 0.1"])
def test_the_index_of_pandas_goes_nowhere_unless_it_is_mapped(name):
    plan = recognise((name, "response"))
    assert (plan.index, plan.spare) == ((name,), ())
    mapped = recognise((name, "response"), (("id", name),))
    assert (mapped.index, mapped.fields["id"]) == ((), name)


def test_among_aliases_the_first_listed_wins():
    assert recognise(("prediction", "answer")).fields["response"] == "answer"


def test_a_mapped_field_takes_its_column_and_no_other():
    plan = recognise(("question", "ask", "answer"), (("question", "ask"),))

    assert plan.fields == {"question": "ask", "response": "answer"}
    assert plan.spare == ("question",)


def test_a_mapped_column_serves_no_other_field_by_its_name():
    plan = recognise(("question", "answer"), (("reference", "answer"),))

    assert plan.fields == {"question": "question", "reference": "answer"}


def test_a_field_mapped_to_an_absent_column_stays_absent():
    assert "question" not in recognise(("question", "answer"), (("question", "ask"),)).fields


@pytest.mark.parametrize(
    ("column", "inverted"), [("hallucination", True), ("is_grounded", False), ("label", False)]
)
def test_a_column_that_says_the_reverse_is_known(column, inverted):
    assert recognise(("answer", column)).inverted is inverted
    assert recognise(("answer", column), (("label", column),)).inverted is inverted


@pytest.mark.parametrize(
    ("given", "fields", "word"),
    [
        (("knowledge", "question"), {"question": "question", "contexts": "knowledge"}, "answer"),
        (
            ("knowledge", "dialogue_history"),
            {"question": "dialogue_history", "contexts": "knowledge"},
            "response",
        ),
        (("document",), {"contexts": "document"}, "summary"),
    ],
)
def test_halueval_has_two_answers_in_a_row(given, fields, word):
    pair = (f"right_{word}", f"hallucinated_{word}")

    plan = recognise((*given, *pair))

    assert plan.pair == pair
    assert plan.fields == fields


def test_half_a_pair_and_halves_of_two_are_none():
    assert recognise(("question", "right_answer", "hallucinated_response")).pair is None


@pytest.mark.parametrize("columns", [(), ("foo", "bar"), ("id",), ("id", "label", "metadata")])
def test_no_recognised_column_lists_what_was_found_and_what_is_known(columns):
    with pytest.raises(DataError) as caught:
        recognise(columns)

    assert all(repr(column) in str(caught.value) for column in columns)
    assert "retrieved_contexts" in str(caught.value)


def test_an_absent_mapped_column_is_named_when_nothing_is_recognised():
    with pytest.raises(DataError, match="ask"):
        recognise(("foo",), (("question", "ask"),))


def test_a_thousand_columns_are_not_all_listed():
    with pytest.raises(DataError, match="and 980 more") as caught:
        recognise(tuple(f"column{number}" for number in range(1000)))

    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (["question", ""], "column 2 has no name"),
        (["question", "  "], "column 2 has no name"),
        (["question", "answer", "question"], "two columns are called 'question'"),
        (["foo"], "no column is recognised"),
    ],
)
def test_an_unusable_header_is_refused(header, message):
    with pytest.raises(DataError, match=message):
        recognise_header(header, ())


def test_a_mapped_column_must_be_in_the_header():
    with pytest.raises(DataError, match="qestion") as caught:
        recognise_header(["question"], (("question", "qestion"),))

    assert caught.value.hint == "Did you mean 'question'?"


def test_an_unknown_field_in_a_mapping_is_told_with_its_neighbours():
    with pytest.raises(UnknownNameError, match="contexts"):
        checked_mapping({"context": "text"})


def test_a_mapping_to_something_else_than_a_name_is_refused():
    with pytest.raises(UsageError, match="not a column name"):
        checked_mapping({"question": 3})
