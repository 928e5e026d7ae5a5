"""The details of every metric follow its documented schema, on real rows with and without a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter, ValidationError

import sgi
from sgi.io.dataset import open_dataset
from sgi.kernel.details import NoDetails, details_schema
from sgi.kernel.registry import metric, metric_class, resolve
from sgi.metrics.calibrated_metric import CalibratedDetails, Calibration, ReferenceScores, calibrate_metric
from sgi.stats.conformal import LengthThresholds
from sgi.stats.logistic_map import LogisticMap
from support.entailment_models import counting_model
from support.example_metrics import example_metrics
from support.judge_server import JudgeServer, ServerReply
from support.judged_metrics import RuleJudge

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = "src/sgi/data/halueval_qa_sample.jsonl"
LONG = {"response": "word " * 700, "reference": "word " * 600}
ODD = [
    {"id": "blank", "question": "Who?", "contexts": ["a passage"], "response": " ", "reference": "b"},
    {"id": "failed", "question": "Who?", "contexts": ["It was 3."], "response": "no reply", "reference": "b"},
    {
        "id": "evasive",
        "question": "Who?",
        "contexts": ["x"],
        "response": "I don't know.",
        "reference": "b",
        "answerable": True,
        "turns": [{"role": "user", "text": "Who wrote it?"}],
        "latency_ms": 2310.5,
        "prompt_tokens": 300,
        "completion_tokens": 20,
        "cost": 0.001,
    },
    {
        "id": "conversation",
        "turns": [
            {"role": "user", "text": "When was the Anke launched?"},
            {"role": "assistant", "text": "The Anke was launched in 1950."},
            {"role": "user", "text": "And where was she launched?"},
            {"role": "assistant", "text": "The Anke was launched in 1960 at Tolvik."},
        ],
    },
    {"id": "unanswerable", "question": "Who?", "contexts": [" "], "response": "Ida.", "answerable": False},
    {"id": "long", "question": "Who?", "contexts": ["x " * 900], **LONG},
    {"id": "no passage", "question": " ", "contexts": [], "response": "An answer.", "reference": "b"},
    {"id": "cited", "contexts": ["The old tower is red."], "response": 'The tower is "old and red" [1][2].'},
    {"id": "copy", "question": "Who?", "contexts": ["It was 3."], "response": "It was 3.", "reference": "3"},
    {"id": "gold ids", "context_ids": ["a", "b"], "relevance": {"b": 1}},
    {"id": "gold texts", "contexts": ["It was 3."], "gold_passages": ["It was 3!", "It was red."]},
    {"id": "no ids", "contexts": ["It was 3."], "relevance": {"b": 1}},
    {"id": "blank reference", "question": "Who?", "contexts": ["x"], "response": "y", "reference": " "},
]
EXAMPLES = [*example_metrics().values()]
VARIANTS = [
    'sgi(passages="joined")',
    'sgi(passages="mean", sentences=false)',
    'theta_rc(passages="mean")',
    "semantic_similarity(threshold=0.5)",
    'semantic_similarity(scale="angular")',
    'ragas_score(conventions="safe")',
]


@pytest.fixture(scope="module")
def rows():
    samples = [*open_dataset(SAMPLE).samples()][:16]
    return [*samples, *(sgi.types.Sample(**row) for row in ODD)]


@pytest.fixture(scope="module")
def result(rows):
    return sgi.evaluate(rows, [*EXAMPLES, *VARIANTS], judge=RuleJudge(), max_failures=1.0, cache=False)


def check(name: str, kind: type[Any], details: Any) -> None:
    adapter = TypeAdapter(kind)
    for row in details:
        try:
            adapter.validate_python(dict(row), strict=False) if row else None
        except ValidationError as error:
            pytest.fail(f"{name}: {row} does not follow its schema: {error}")


@pytest.mark.parametrize("name", [*EXAMPLES, *VARIANTS])
def test_details_follow_their_schema(result, name):
    (metric,) = resolve([name])
    check(name, metric.spec.details, result[metric.canonical].details)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_metric_without_a_schema_has_no_details(result, name):
    kind = metric(name).spec.details
    assert any(result[name].details) == (kind is not NoDetails)


def undescribed(schema: Any) -> Iterator[str]:
    """Yield the keys without a description, also those of inner objects."""
    if isinstance(schema, dict):
        yield from (k for k, v in schema.get("properties", {}).items() if not v.get("description"))
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from undescribed(part)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_key_is_described(name):
    schema = details_schema(metric(name).spec.details)
    assert schema["description"]
    assert schema["additionalProperties"] is False
    assert list(undescribed(schema)) == []


def test_an_unusable_reply_of_a_judge_is_in_the_details(rows):
    with JudgeServer(replies=ServerReply('{"nothing": 1}')) as server:
        judge = f"openai:m@{server.url}"
        metrics = ["faithfulness", "ragas_score", "factual_accuracy", "correct_answers", "groundedness"]
        result = sgi.evaluate(rows[:2], metrics, judge=judge, max_failures=1.0, cache=False)
    for name in metrics:
        assert result[name].details[0].keys() == {"judge_reply", "reply_from_cache"}
        check(name, metric_class(name).spec.details, result[name].details)


def test_details_with_an_entailment_model_follow_the_schema(rows, tmp_path):
    folder = counting_model(tmp_path / "nli")
    result = sgi.evaluate(rows, f'grounding(nli="{folder}")', cache=False, max_failures=1.0)
    check("grounding", metric_class("grounding").spec.details, result["grounding"].details)


def test_a_calibrated_metric_adds_its_own_details(rows):
    fitted = Calibration(
        "3f2a",
        higher_is_better=True,
        probabilities=LogisticMap(4.0, 0.0, 0.5, 1.0, (0.1, 0.0, 0.1), 2.0),
        reference=ReferenceScores((0.1, 0.9), (3, 9), 0, 0.1, 0.9),
        thresholds=LengthThresholds((), (0.5,), (99,)),
    )
    metric = calibrate_metric(resolve(["theta_rc"])[0], fitted)
    (row, *_) = sgi.evaluate(rows, [metric], cache=False)[metric.canonical].details
    own = {name: row[name] for name in CalibratedDetails.__annotations__}
    check("calibrated", CalibratedDetails, [own])
    inner = {name: value for name, value in row.items() if name not in own}
    check("theta_rc", metric_class("theta_rc").spec.details, [inner])


def test_an_unknown_key_is_refused():
    with pytest.raises(ValidationError, match="theta_rs"):
        TypeAdapter(metric_class("theta_rc").spec.details).validate_python({"theta_rs": 1.0})
