"""Scores as OpenTelemetry spans, Phoenix annotations and Langfuse scores."""

import csv
import json
from pathlib import Path

import pytest

import sgi
from sgi.io.dataset import open_dataset
from sgi.io.trace_scores import TraceFormat

ROWS = [
    {"id": "a", "response": "Paris.", "reference": "paris", "trace_id": "1" * 32, "span_id": "2" * 16},
    {"id": "b", "response": " ", "reference": "Rome", "trace_id": "3" * 32, "span_id": "4" * 16},
    {"id": "c", "response": "Zoë 🦊", "reference": None, "trace_id": "5" * 32, "span_id": None},
    {"id": "d", "response": "Lima", "reference": "Lima"},
    {"id": "e", "response": "Oslo", "reference": "Oslo", "trace_id": "legacy", "span_id": "old"},
]
TRACES = Path(__file__).parents[2] / "data" / "exports" / "openinference.otlp.jsonl"
METRICS = ["squad_em", "content_f1"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return stored(ROWS)


def stored(rows, **settings):
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return sgi.run("rows.jsonl", METRICS, **settings)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def plain(attributes):
    return {each["key"]: next(iter(each["value"].values())) for each in attributes}


def spans(path):
    return [
        span
        for request in lines(path)
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def test_otel_spans_have_an_event_for_each_metric(run, tmp_path):
    assert sgi.api.export(run, "scores.jsonl", format="otel") == 3
    first, second, third = spans(tmp_path / "scores.jsonl")
    assert (first["traceId"], first["parentSpanId"]) == ("1" * 32, "2" * 16)
    assert "parentSpanId" not in third
    assert [event["name"] for event in first["events"]] == ["gen_ai.evaluation.result"] * 2
    assert plain(first["events"][0]["attributes"]) == {
        "gen_ai.evaluation.name": "squad_em",
        "gen_ai.evaluation.score.label": "ok",
        "gen_ai.evaluation.score.value": 1.0,
    }
    assert plain(third["events"][0]["attributes"]) == {
        "gen_ai.evaluation.name": "squad_em",
        "gen_ai.evaluation.score.label": "missing",
        "gen_ai.evaluation.explanation": "the sample has no reference",
    }
    status = run["content_f1"].status[1]
    assert plain(second["events"][1]["attributes"])["gen_ai.evaluation.score.label"] == status


def test_otel_spans_have_the_same_scores_as_openinference_attributes(run, tmp_path):
    sgi.api.export(run, "scores.jsonl", format="otel")
    values = plain(spans(tmp_path / "scores.jsonl")[0]["attributes"])
    assert values["openinference.span.kind"] == "EVALUATOR"
    assert {key: value for key, value in values.items() if key.startswith("evaluations.1.")} == {
        "evaluations.1.evaluation.name": "content_f1",
        "evaluations.1.evaluation.score": run["content_f1"].values[0],
        "evaluations.1.evaluation.label": "ok",
        "evaluations.1.evaluation.annotator_kind": "CODE",
    }


def test_trace_ids_of_mlflow_are_those_of_opentelemetry(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sgi.api.export(stored([{**ROWS[0], "trace_id": f"tr-{'A1' * 16}"}]), "scores.jsonl", format="otel")
    assert spans(tmp_path / "scores.jsonl")[0]["traceId"] == "a1" * 16


def test_langfuse_scores_have_no_number_without_a_value(run, tmp_path):
    assert sgi.api.export(run, "scores.jsonl", format="langfuse") == 4
    scores = lines(tmp_path / "scores.jsonl")
    assert len(scores) == 8
    assert [scores[0][key] for key in ("traceId", "observationId", "name", "value", "dataType")] == [
        "1" * 32, "2" * 16, "squad_em", 1.0, "NUMERIC"
    ]  # fmt: skip
    missing = scores[4]
    assert [missing[key] for key in ("traceId", "name", "value", "dataType", "comment")] == [
        "5" * 32, "squad_em.status", "missing", "CATEGORICAL", "the sample has no reference"
    ]  # fmt: skip
    assert "observationId" not in missing


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_phoenix_annotations_belong_to_spans(run, tmp_path, suffix):
    assert sgi.api.export(run, f"scores.{suffix}", format="phoenix") == 3
    path = tmp_path / f"scores.{suffix}"
    if suffix == "jsonl":
        rows = lines(path)
    elif suffix == "csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    assert [row["span_id"] for row in rows] == ["2" * 16] * 2 + ["4" * 16] * 2 + ["old"] * 2
    assert float(rows[0]["score"]) == 1.0
    assert (rows[0]["name"], rows[0]["label"], rows[0]["annotator_kind"]) == ("squad_em", "ok", "CODE")


def test_ids_are_equal_in_every_export_and_distinct_for_every_score(run, tmp_path):
    for name in ("first", "second"):
        sgi.api.export(run, f"{name}.jsonl", format="langfuse")
    assert (tmp_path / "first.jsonl").read_bytes() == (tmp_path / "second.jsonl").read_bytes()
    assert len({score["id"] for score in lines(tmp_path / "first.jsonl")}) == 8
    sgi.api.export(run, "phoenix.jsonl", format="phoenix")
    langfuse = {score["id"] for score in lines(tmp_path / "first.jsonl")}
    assert {row["identifier"] for row in lines(tmp_path / "phoenix.jsonl")} < langfuse


@pytest.mark.parametrize("form", list(TraceFormat))
def test_a_run_without_traces_is_refused_and_leaves_no_file(tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    run = stored([{"response": "r", "reference": "r"}])
    with pytest.raises(sgi.errors.UsageError, match="_id"):
        sgi.api.export(run, "scores.jsonl", format=form)
    assert not (tmp_path / "scores.jsonl").exists()


def test_a_run_without_texts_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = stored(ROWS[:2], no_texts=True)
    with pytest.raises(sgi.errors.UsageError, match="stores none"):
        sgi.api.export(run, "scores.jsonl", format="otel")


def test_wrong_settings(run):
    with pytest.raises(sgi.errors.UsageError, match=r"Name a \.jsonl file"):
        sgi.api.export(run, "scores.csv", format="otel")
    with pytest.raises(sgi.errors.UsageError, match="Omit `inputs`"):
        sgi.api.export(run, "scores.jsonl", format="otel", inputs=True)
    with pytest.raises(sgi.errors.UnknownNameError, match="otel, phoenix, langfuse"):
        sgi.api.export(run, "scores.jsonl", format="zipkin")


def test_the_reader_of_traces_finds_the_exported_scores_beside_the_traces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = sgi.run(TRACES, ["grounding", "sgi(sentences=false)"])
    assert sgi.api.export(run, "scores.jsonl", format="otel") == len(run.samples)
    both = TRACES.read_bytes() + Path("scores.jsonl").read_bytes()
    Path("both.jsonl").write_bytes(both)
    samples = {sample.id: sample for sample in open_dataset("both.jsonl").samples()}
    assert samples.keys() == {sample.id for sample in run.samples}
    for row, before in enumerate(run.samples):
        after = samples[before.id]
        evaluations = after.metadata.pop("evaluations")
        for metric, scores in run.items():
            known = scores.status[row] == "ok"
            assert evaluations[metric].get("score") == (scores.values[row] if known else None)
            label = scores.details[row].get("finding", scores.status[row])
            assert evaluations[metric]["label"] == label
            assert evaluations[metric].get("explanation", "") == scores.reasons[row]
        before.metadata.pop("evaluations", None)
        assert after == before
