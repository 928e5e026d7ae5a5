from __future__ import annotations

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.kernel.sample import Sample
from sgi.kernel.sample_parts import NO_COSTS, NO_RANKING
from sgi.store import schema
from sgi.store.bulk_rows import encode_json, encode_text, insert_rows
from sgi.store.database import open_database
from support.runs import HOSTILE, add_run

LARGEST = 1.7976931348623157e308
SAMPLES = (
    Sample(id="a", question="Q", reference="R", response="own"),
    Sample(id="b", response="own too"),
    Sample(id="c"),
)


def evals(database, columns="*", rest="ORDER BY id"):
    with database.reading() as connection:
        found = connection.exec_driver_sql(f"SELECT {columns} FROM evals {rest}")
        return [dict(row) for row in found.mappings()]


def put(database, table, *rows):
    with database.writing() as connection:
        insert_rows(connection, table, rows)


def metric_id(database, name):
    with database.reading() as connection:
        query = sa.select(schema.run_metrics.c.id).where(schema.run_metrics.c.metric == name)
        return connection.execute(query).scalar_one()


@pytest.mark.parametrize(
    ("value", "status", "reason"),
    [
        (None, "ok", None),
        (0.5, "failed", "why"),
        (None, "failed", None),
        (None, "odd", "why"),
        (float("inf"), "ok", None),
    ],
)
def test_scores_that_cannot_be(database, value, status, reason):
    add_run(database)
    with pytest.raises(StoreError, match=r"(?i)value_or_reason|not null"):
        put(database, schema.scores, (metric_id(database, "sgi"), 7, value, status, reason))


def test_scores_that_can_be(database):
    add_run(database)
    number = metric_id(database, "sgi")
    values = [0.0, -0.1, 5e-324, LARGEST, -LARGEST]
    put(database, schema.scores, *((number, k, value, "ok", None) for k, value in enumerate(values, 1)))
    failed = [
        (number, 9 + k, None, status, "") for k, status in enumerate(("failed", "undefined", "missing"))
    ]
    put(database, schema.scores, *failed)
    with database.reading() as connection:
        place = schema.scores.c.position
        query = sa.select(schema.scores.c.value).where(place.between(1, 5)).order_by(place)
        assert connection.execute(query).scalars().all() == values


def test_an_answer_is_a_response_or_a_reason(database):
    add_run(database)
    put(
        database,
        schema.answers,
        ("r1", 0, "", None, None, 0.1, *NO_COSTS, *NO_RANKING),
        ("r1", 1, None, None, "timeout", 9.0, *NO_COSTS, *NO_RANKING),
    )
    for response, reason in ((None, None), ("x", "why")):
        with pytest.raises(StoreError, match="answer_or_reason"):
            put(database, schema.answers, ("r1", 2, response, None, reason, 0.1, *NO_COSTS, *NO_RANKING))


def test_ids_are_unique_within_their_data(database):
    with pytest.raises(StoreError, match=r"(?i)unique"):
        add_run(database, samples=(Sample(id="a"), Sample(id="a")))
    add_run(database, "r1", samples=(Sample(id="a"),))
    add_run(database, "r2", samples=(Sample(id="a"),))


def test_run_names_are_unique_and_may_be_absent(database):
    add_run(database, "r1")
    add_run(database, "r2")
    add_run(database, "r3", name="mine")
    with pytest.raises(StoreError, match=r"(?i)unique"):
        add_run(database, "r4", name="mine")


def test_the_view_has_a_row_for_each_sample_of_each_run(database):
    scores = {"sgi": (1.5, None, 2.0), "bleu": (0.25, 0.5, None), "rouge_l(beta=2.0)": (0.9, 0.9, 0.9)}
    add_run(database, samples=SAMPLES, scores=scores)
    add_run(database, "r2", name="second", samples=SAMPLES[:1], scores={"semantic_similarity": (0.75,)})
    put(database, schema.answers, ("r2", 0, "the target's", None, None, 0.1, *NO_COSTS, *NO_RANKING))
    first, *others = evals(database)
    assert {name: value for name, value in first.items() if value is not None} == {
        "id": "r1:0",
        "test_run_id": "r1",
        "qa_pair_id": "a",
        "question": "Q",
        "reference": "R",
        "answer": "own",
        "bleu": 0.25,
        "sgi": 1.5,
    }
    assert [(row["id"], row["answer"], row["sgi"], row["bleu"]) for row in others] == [
        ("r1:1", "own too", None, 0.5),
        ("r1:2", None, 2.0, None),
        ("r2:0", "the target's", None, None),
    ]
    assert (others[-1]["test_run_id"], others[-1]["semantic_similarity"]) == ("second", 0.75)


def test_where_the_target_failed_the_view_has_no_answer(database):
    add_run(database, samples=SAMPLES)
    put(
        database,
        schema.answers,
        ("r1", 0, None, None, "timeout", 9.0, *NO_COSTS, *NO_RANKING),
        ("r1", 1, "told", None, None, 0.1, *NO_COSTS, *NO_RANKING),
    )
    assert [row["answer"] for row in evals(database)] == [None, "told", None]


def test_the_view_has_the_columns_that_applications_know(database):
    lexical = "bleu rouge_l rouge_l_precision rouge_l_recall squad_em squad_token_f1 content_f1"
    judged = "answer_relevance context_relevance groundedness llm_judged_overall"
    metrics = [*lexical.split(), "lexical_aggregate", *judged.split(), "semantic_similarity", "sgi"]
    reasons = ["answer_relevance_reasoning", "context_relevance_reasoning", "groundedness_reasoning"]
    add_run(database, scores={name: (number / 16,) for number, name in enumerate(metrics)})
    for metric, reason in zip(
        ("answer_relevance", "context_relevance", "groundedness"), reasons, strict=True
    ):
        body = encode_json({"reasoning": f"{reason} {HOSTILE}", "more": [1]})
        put(database, schema.evidence, (metric_id(database, metric), 0, body))
    (row,) = evals(database)
    heads = ["id", "test_run_id", "qa_pair_id", "question", "reference", "answer"]
    assert list(row) == heads + metrics + reasons
    assert [row[name] for name in metrics] == [number / 16 for number in range(len(metrics))]
    assert [row[name] for name in reasons] == [encode_text(f"{name} {HOSTILE}") for name in reasons]


def test_the_rated_relevance_stands_in_the_view_where_a_run_has_it(database):
    scores = {"answer_relevance": (0.25, 0.5, 0.75), "answer_relevance_rated": (1.0, None, 0.0)}
    add_run(database, samples=SAMPLES, scores=scores)
    add_run(database, "r2", samples=SAMPLES[:1], scores={"answer_relevance": (0.25,)})
    add_run(database, "r3", samples=SAMPLES[:1], scores={"answer_relevance_rated": (1 / 3,)})
    add_run(database, "r4", samples=SAMPLES[:1], scores={"bleu": (1.0,)})
    said = encode_json({"reasoning": "to the point", "rating": 3})
    other = encode_json({"questions": ["Who?"]})
    with database.reading() as connection:
        metrics = connection.exec_driver_sql("SELECT run, metric, id FROM run_metrics").all()
    numbers = {(run, name): number for run, name, number in metrics}
    put(database, schema.evidence, (numbers["r1", "answer_relevance_rated"], 0, said))
    put(database, schema.evidence, (numbers["r1", "answer_relevance"], 1, other))
    put(database, schema.evidence, (numbers["r2", "answer_relevance"], 0, other))
    found = evals(database, "id, answer_relevance, answer_relevance_reasoning")
    assert [tuple(row.values()) for row in found] == [
        ("r1:0", 1.0, "to the point"),
        ("r1:1", None, None),
        ("r1:2", 0.0, None),
        ("r2:0", 0.25, None),
        ("r3:0", 1 / 3, None),
        ("r4:0", None, None),
    ]


def test_rows_that_are_not_done_are_not_in_the_view(database):
    add_run(database, samples=SAMPLES)
    with database.writing() as connection:
        connection.execute(sa.update(schema.batches).values(start=1, rows=1))
    assert [row["qa_pair_id"] for row in evals(database)] == ["b"]


def test_the_view_finds_everything_by_keys(tmp_path):
    with open_database(tmp_path / "sgi.db") as database, database.reading() as connection:
        plan = connection.exec_driver_sql(
            "EXPLAIN QUERY PLAN SELECT * FROM evals WHERE test_run_id = 'r1'"
        ).fetchall()
    steps = [row[3] for row in plan]
    scanned = {step.split()[1] for step in steps if step.startswith("SCAN")} - {"CONSTANT"}
    assert scanned <= {"r", "b"}, "runs and batches are few; all else is found by key"
    assert sum("run_metric" in step for step in steps) == 19, "two columns look for the rated metric first"
