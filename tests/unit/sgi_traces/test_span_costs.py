"""Latency, tokens and cost of the rows of traces."""

from pathlib import Path

import pytest

from sgi.io import open_dataset
from sgi_traces.assemble import rows_of_trace
from sgi_traces.langfuse_export import langfuse_spans
from sgi_traces.langsmith_export import langsmith_spans
from sgi_traces.mlflow_export import mlflow_spans
from sgi_traces.span import Span

EXPORTS = Path(__file__).parents[2] / "data" / "exports"
NAMES = ("prompt_tokens", "completion_tokens", "cost")


def step(name, parent, kind, prompt=None, completion=None, cost=None, **more):
    attributes = {
        "openinference.span.kind": kind,
        "input.value": "Who?",
        "output.value": "She.",
        "llm.token_count.prompt": prompt,
        "llm.token_count.completion": completion,
        "llm.cost.total": cost,
        **more,
    }
    known = {key: value for key, value in attributes.items() if value is not None}
    return Span("t", name, parent, name, start=1_000_000, end=3_500_000, attributes=known)


def row(*spans):
    (only,) = rows_of_trace(spans).rows
    return only.values


def costs(*spans):
    return tuple(row(*spans).get(name) for name in NAMES)


ROOT = step("root", None, "CHAIN")


def test_the_usage_of_several_models_is_added_and_the_latency_is_that_of_the_root():
    spans = [ROOT, step("a", "root", "LLM", 100, 5, 0.25), step("b", "root", "LLM", 30, 7, 0.5)]

    assert costs(*spans) == (130, 12, 0.75)
    assert row(*spans)["latency_ms"] == 2.5
    assert "latency_ms" not in row(*spans)["metadata"]


def test_spans_that_repeat_the_usage_of_the_spans_inside_them_count_once():
    agent = step("agent", "root", "AGENT", 130, 12, 0.75)
    wrapper = step("wrapper", "agent", "LLM", 100, 5, 0.25)
    models = [step("a", "wrapper", "LLM", 100, 5, 0.25), step("b", "agent", "LLM", 30, 7, 0.5)]

    assert costs(ROOT, agent, wrapper, *models) == (130, 12, 0.75)


def test_a_model_without_usage_makes_the_sum_unknown_unless_a_span_around_it_has_it():
    models = [step("a", "root", "LLM", 100, 5, 0.25), step("b", "root", "LLM", 30, 7)]

    assert costs(ROOT, *models) == (130, 12, None)
    assert row(ROOT, *models)["metadata"]["absent"]["cost"] == "a call of a language model has no cost"
    assert costs(step("root", None, "CHAIN", cost=0.75), *models) == (130, 12, 0.75)


def test_embeddings_count_for_the_cost_and_checks_do_not_count():
    spans = [
        ROOT,
        step("embed", "root", "EMBEDDING", 9, None, 0.25),
        step("model", "root", "LLM", 100, 5, 0.5),
        step("check", "root", "EVALUATOR", 50, 5, 8.0),
    ]

    assert costs(*spans) == (100, 5, 0.75)


@pytest.mark.parametrize("value", ["many", -1, 2.5, True, float("nan"), 0])
def test_other_values_are_unknown(value):
    assert costs(ROOT, step("a", "root", "LLM", value, 5)) == (None, 5, None)


def test_a_reply_may_have_no_tokens_but_a_cost_of_zero_is_unknown():
    assert costs(ROOT, step("a", "root", "LLM", 8, 0, 0)) == (8, 0, None)


@pytest.mark.parametrize(
    ("prompt", "completion"), [("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")]
)
def test_usage_of_opentelemetry(prompt, completion):
    usage = {f"gen_ai.usage.{prompt}": 10, f"gen_ai.usage.{completion}": 3, "gen_ai.usage.cost": 0.5}

    assert costs(ROOT, step("a", "root", "LLM", **usage)) == (10, 3, 0.5)


def test_usage_of_langfuse():
    observation = {
        "id": "1",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": "2026-01-31T12:00:00Z",
        "input": "Who?",
        "output": "She.",
        "usageDetails": {"input": 70, "input_cached_tokens": 8, "output": 13},
    }
    priced = {**observation, "costDetails": {"input": 0.5, "output": 0.25}}

    assert costs(*langfuse_spans(priced)) == (78, 13, 0.75)
    assert costs(*langfuse_spans({**observation, "totalCost": 0.5})) == (78, 13, 0.5)


def test_usage_of_langsmith():
    run = {"id": "1", "run_type": "llm", "start_time": "2026-01-31T12:00:00Z", "inputs": {"question": "Who?"}}
    logged = {"output": "She.", "usage_metadata": {"input_tokens": 70, "output_tokens": 13}}
    computed = {"prompt_tokens": 71, "completion_tokens": 14, "total_cost": "0.5"}

    assert costs(*langsmith_spans({**run, "outputs": logged})) == (70, 13, None)
    assert costs(*langsmith_spans({**run, "outputs": logged, **computed})) == (71, 14, 0.5)


def test_usage_of_mlflow():
    usage = {"input_tokens": 70, "output_tokens": 13, "total_tokens": 83}
    attributes = {
        "mlflow.spanType": "CHAT_MODEL",
        "mlflow.spanInputs": "Who?",
        "mlflow.spanOutputs": "She.",
        "mlflow.chat.tokenUsage": usage,
        "mlflow.llm.cost": {"input_cost": 0.25, "total_cost": 0.5},
    }
    spans = [{"span_id": "1", "name": "chat", "attributes": attributes}]
    info = {"trace_id": "t", "trace_metadata": {"mlflow.trace.tokenUsage": usage}}

    assert costs(*mlflow_spans({"info": info, "data": {"spans": spans}})) == (70, 13, 0.5)


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("phoenix_spans.csv", (210, 40)),
        ("openinference.otlp.pb", (210, 40)),
        ("langfuse_observations.jsonl", (78, 13)),
        ("openai_completions.jsonl", (100, 12)),
        ("trulens_events.jsonl", (None, None)),
    ],
)
def test_real_exports(name, usage):
    samples = list(open_dataset(EXPORTS / name).samples())

    assert (samples[0].prompt_tokens, samples[0].completion_tokens) == usage
    assert samples[0].cost is None
