import pytest

from sgi.engine.evaluate import evaluate
from sgi.engine.run_options import RunOptions
from sgi.io.dataset import open_dataset
from sgi.io.repeated_rows import PerTurn
from sgi.kernel.sample import Field
from sgi.testing import HashEmbedder
from sgi.text.conversation import history, turn_rows, with_earlier_passages

FIRST = {"role": "user", "text": "When was the Anke launched?"}
IN_1950 = {"role": "assistant", "text": "In 1950.", "contexts": ["The Anke was launched in 1950."]}
SECOND = {"role": "user", "text": "How long is she?"}
LONG = {"role": "assistant", "text": "42 m.", "contexts": ["The Anke is 42 m long."]}
SYSTEM = {"role": "system", "text": "Be brief."}


def read(**row):
    (sample,) = open_dataset([row]).samples()
    return sample


def texts(turns):
    return [turn.text for turn in turns]


def test_a_row_reads_question_answer_and_passages_of_the_last_exchange():
    sample = read(turns=[SYSTEM, FIRST, IN_1950, SECOND, LONG])
    assert (sample.question, sample.response, sample.contexts) == (
        "How long is she?",
        "42 m.",
        ("The Anke is 42 m long.",),
    )
    assert texts(history(sample)) == ["Be brief.", FIRST["text"], "In 1950."]


@pytest.mark.parametrize(
    ("turns", "columns", "question", "before"),
    [
        ([FIRST, IN_1950, SECOND], {"response": "42 m."}, SECOND["text"], [FIRST["text"], "In 1950."]),
        (
            [FIRST, IN_1950],
            {"question": "How long?", "response": "42 m."},
            "How long?",
            [FIRST["text"], "In 1950."],
        ),
        (
            [FIRST, IN_1950, SECOND, LONG],
            {"question": "Her length?"},
            "Her length?",
            [FIRST["text"], "In 1950."],
        ),
    ],
    ids=["answer in a column", "earlier messages only", "another question"],
)
def test_columns_of_the_row_are_not_replaced(turns, columns, question, before):
    sample = read(turns=turns, **columns)
    assert (sample.question, sample.response, texts(history(sample))) == (question, "42 m.", before)


def test_several_messages_in_a_row_are_one_question():
    sample = read(turns=[FIRST, SECOND, LONG])
    assert sample.question == f"{FIRST['text']}\n\n{SECOND['text']}"
    assert history(sample) == ()


def test_each_answer_becomes_a_row_with_session_and_turn():
    rows = list(turn_rows(read(id="c", turns=[FIRST, IN_1950, SECOND, LONG], reference="42 m", team="a")))
    assert [(row.id, row.question, row.response, row.reference) for row in rows] == [
        ("c-1", FIRST["text"], "In 1950.", None),
        ("c-2", SECOND["text"], "42 m.", "42 m"),
    ]
    assert rows[0].metadata == {"session_id": "c", "turn": 1, "team": "a"}
    assert rows[0].contexts == ("The Anke was launched in 1950.",)
    assert [texts(history(row)) for row in rows] == [[], [FIRST["text"], "In 1950."]]


def test_rows_without_turns_stay_and_sessions_keep_their_name():
    data = PerTurn(
        open_dataset(
            [{"id": "1", "response": "a"}, {"id": "2", "turns": [FIRST, IN_1950], "session_id": "s"}]
        )
    )
    assert [(row.id, row.metadata.get("session_id")) for row in data.samples()] == [("1", None), ("2-1", "s")]


def test_a_run_per_turn_clusters_by_conversation():
    spec = RunOptions.of({"data": "rows.jsonl", "per_turn": True})
    assert (spec.cluster, spec.to_dict()["per_turn"]) == ("session_id", True)
    assert RunOptions.of({"data": "rows.jsonl", "per_turn": True, "cluster": "row"}).cluster == "row"


def test_passages_of_earlier_messages_follow_those_of_the_row():
    sample = read(turns=[FIRST, IN_1950, SECOND, LONG])
    assert with_earlier_passages(sample).contexts == (*LONG["contexts"], *IN_1950["contexts"])


def test_a_turn_without_retrieval_has_no_passages():
    without = {"role": "assistant", "text": "42 m."}
    sample = read(turns=[FIRST, IN_1950, SECOND, without])
    assert (sample.contexts, sample.has(Field.CONTEXTS)) == ((), True)
    assert not read(turns=[FIRST, without]).has(Field.CONTEXTS)


def test_evaluate_scores_each_turn_and_clusters_by_conversation():
    result = evaluate(
        [{"id": "1", "turns": [FIRST, IN_1950, FIRST, IN_1950]}],
        "theta_rq",
        embedder=HashEmbedder(),
        per_turn=True,
    )
    assert [sample.id for sample in result.samples] == ["1-1", "1-2"]
    assert result.summary().clustering.by == "session_id"
