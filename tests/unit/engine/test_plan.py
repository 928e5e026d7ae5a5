from __future__ import annotations

import pytest

from sgi.engine.plan import batches, plan, plan_run
from sgi.engine.progress import Advanced, ColumnsRead, Finished, Started
from sgi.engine.run_options import RunOptions
from sgi.io.column_use import ColumnUse
from sgi.io.dataset import open_dataset
from sgi.io.repeated_rows import RepeatedDataset
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi.kernel.registry import resolve
from sgi.kernel.sample import Field
from sgi.target import TargetSpec

ROWS = [
    {"id": "a", "question": "q", "contexts": ["c"], "response": "r"},
    {"id": "b", "question": "q", "contexts": ["c"], "response": "s"},
]


def test_without_names_the_fields_choose_the_metrics():
    chosen = plan(open_dataset(ROWS)).metrics
    assert [metric.canonical for metric in chosen] == ["grounding"]
    complete = [row | {"reference": "r", "gold_passages": ["c"]} for row in ROWS]
    chosen = plan(open_dataset(complete)).metrics
    assert [metric.canonical for metric in chosen] == ["grounding", "semantic_similarity", "recall"]
    retrieved = [{"id": "a", "context_ids": ["p1", "p2"], "relevance": {"p2": 1}}]
    assert [metric.canonical for metric in plan(open_dataset(retrieved)).metrics] == ["recall"]
    with pytest.raises(UsageError, match=r"No default metric fits the fields .*: response \(1\)"):
        plan(open_dataset([{"id": "a", "response": "r"}]))


def test_counts_rows_and_fields():
    made = plan(open_dataset([*ROWS, {"id": "c", "response": "t", "label": True}]), ["sgi"])
    assert made.rows == 3
    assert made.present[Field.CONTEXTS] == 2
    assert made.present[Field.LABEL] == 1


def test_counts_distinct_texts_only_when_asked():
    assert plan(open_dataset(ROWS), ["sgi"]).texts is None
    made = plan(open_dataset(ROWS), ["sgi"], count_texts=True)
    assert (made.texts, made.characters) == (4, 4)


def test_a_field_that_no_row_has_is_one_error_naming_all():
    with pytest.raises(UsageError) as caught:
        plan(open_dataset(ROWS), ["bleu", "sgi", "rouge_l"])
    words = str(caught.value)
    assert "what is needed: bleu, rouge_l need reference. Its fields:" in words
    assert "question (2), contexts (2), response (2)" in words
    assert "Usable here: sgi," in words


def test_metrics_without_their_fields_are_grouped_by_field():
    metrics = ["bleu", *(f"rouge_l(beta={n})" for n in range(2, 9)), "recall@5", "refusal"]
    with pytest.raises(UsageError) as caught:
        plan(open_dataset(ROWS), metrics)
    words = str(caught.value).partition(" Its fields")[0]
    shown = "bleu, rouge_l(beta=2.0), rouge_l(beta=3.0), rouge_l(beta=4.0), rouge_l(beta=5.0) and 3 more"
    assert f"what is needed: {shown} need reference; recall@5 needs " in words


def test_no_usable_metric_for_the_fields_there_are():
    with pytest.raises(UsageError):
        plan(open_dataset([{"question": "q"}]))


def test_no_rows():
    with pytest.raises(DataError, match="nothing to score"):
        plan(open_dataset([]))


def test_only_bad_rows_says_why():
    with pytest.raises(DataError):
        plan(open_dataset([{"response": 3.5}]), on_reject=lambda _: None)


def test_a_bad_row_is_raised_or_handed_over():
    rows = [*ROWS, {"id": "bad", "question": ["no"], "response": "r"}]
    with pytest.raises(DataError, match="bad"):
        plan(open_dataset(rows), ["sgi"])
    rejected = []
    assert plan(open_dataset(rows), ["sgi"], on_reject=rejected.append).rejected == 1
    assert rejected[0].error.sample_id == "bad"


def test_resolve_refuses_none_twice_and_unknown():
    with pytest.raises(UsageError, match="No metric"):
        resolve([])
    with pytest.raises(UsageError, match="twice"):
        resolve(["sgi", "sgi(passages='max')"])
    with pytest.raises(UnknownNameError, match="rouge_l"):
        resolve(["rouge_k"])


def test_the_listener_hears_of_every_row():
    heard = []
    plan(open_dataset(ROWS), ["sgi"], listener=heard.append)
    columns = {name: (name,) for name in ("id", "question", "contexts", "response")}
    assert heard == [
        Started("reading", None),
        Advanced(2),
        Finished("reading"),
        ColumnsRead(ColumnUse(columns)),
    ]


def test_the_judgements_of_an_answer_are_in_one_batch():
    rows = RepeatedDataset(open_dataset([{"response": "a"}] * 5), judgements=3)
    assert [len(batch) for batch in batches(rows.samples(), 4)] == [6, 6, 3]
    assert [len(batch) for batch in batches(rows.samples(), 3)] == [3] * 5
    assert [len(batch) for batch in batches(rows.dataset.samples(), 2)] == [2, 2, 1]


def test_a_target_supplies_the_passages_that_retrieval_metrics_read(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": "1", "question": "Who?", "gold_passages": ["Ada wrote it."]}\n')
    spec = RunOptions(data=str(path), metrics=("recall@3",), target=TargetSpec(where="rag:answer"))
    assert len(plan_run(spec).metrics) == 1
