"""Small judged metrics, a judge that replies by rule, and stored runs of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import anyio
import numpy as np
import pytest

from sgi.engine.open_resources import open_models
from sgi.engine.pipeline import Pipeline, RunReport
from sgi.engine.plan import plan
from sgi.engine.run_options import RunOptions
from sgi.engine.run_recorder import begin_recording
from sgi.io.dataset import open_dataset
from sgi.kernel import registry
from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import JudgedMetric, JudgedRows
from sgi.kernel.metric import MetricSpec, Scores
from sgi.kernel.prompts import Example, Inquiry, Prompt, ReplyModel
from sgi.kernel.protocols import Target, Usage
from sgi.kernel.sample import QUESTION, REFERENCE, RESPONSE, Sample
from sgi.kernel.signature import digest
from sgi.kernel.vectors import Features
from sgi.store.database import Database


class Marks(ReplyModel):
    """A mark from 0 to 1 for each of two sides, and why."""

    reasoning: str
    marks: tuple[float, float]


class Echoes(ReplyModel):
    """Questions that a response may answer."""

    questions: tuple[str, ...]


MARK = Prompt(
    "politeness.mark",
    "Mark the tone and the choice of words, each from 0 to 1.",
    (Example({"response": "Please sit down.", "depth": "1"}, Marks(reasoning="Kind.", marks=(1.0, 0.5))),),
)
ECHO = Prompt(
    "echo.ask",
    "Ask what the response answers.",
    (Example({"response": "In 1950."}, Echoes(questions=("When?",))),),
)


@dataclass(frozen=True)
class Politeness(JudgedMetric[Marks]):
    """A weighted mean of two marks; ``depth`` is part of the prompt."""

    weights: tuple[float, ...] = (0.5, 0.5)
    depth: int = 1
    spec: ClassVar = MetricSpec("politeness", 1, needs=RESPONSE, low=0.0, high=1.0, category="class")
    judgement: ClassVar = Marks
    prompts: ClassVar = (MARK,)

    async def ask(self, sample: Sample, judge: Any, /) -> Marks:
        marks: Marks = await judge.ask(MARK.about(response=self._text(sample), depth=str(self.depth)), Marks)
        return marks

    def _text(self, sample: Sample) -> str:
        return sample.response

    def score(self, judged: JudgedRows[Marks], features: Features, /) -> Scores:
        del features
        values = np.array(
            [np.dot(self.weights, found.marks) / sum(self.weights) for found in judged.judgements]
        )
        return Scores.of(values, details=[{"class": "kind" if v >= 0.5 else "rude"} for v in values])


@dataclass(frozen=True)
class Courtesy(Politeness):
    """`Politeness` under another name."""

    spec: ClassVar = MetricSpec("courtesy", 1, needs=RESPONSE, low=0.0, high=1.0)


@dataclass(frozen=True)
class ReferencePoliteness(Politeness):
    """`Politeness` of the reference: the same prompt and judgements for another text."""

    spec: ClassVar = MetricSpec("reference_politeness", 1, needs=REFERENCE, low=0.0, high=1.0)

    def _text(self, sample: Sample) -> str:
        return sample.reference or ""


@dataclass(frozen=True)
class Echo(JudgedMetric[Echoes]):
    """Cosine of the question and the questions that a judge writes for the response."""

    best: bool = False
    spec: ClassVar = MetricSpec("echo", 1, needs=QUESTION | RESPONSE, low=-1.0, high=1.0)
    judgement: ClassVar = Echoes
    prompts: ClassVar = (ECHO,)

    async def ask(self, sample: Sample, judge: Any, /) -> Echoes:
        echoes: Echoes = await judge.ask(ECHO.about(response=sample.response), Echoes)
        return echoes

    def texts(self, judged: JudgedRows[Echoes], /) -> Iterable[str]:
        return [*judged.batch.question, *(text for found in judged.judgements for text in found.questions)]

    def score(self, judged: JudgedRows[Echoes], features: Features, /) -> Scores:
        vectors = features.vectors
        cosines = [
            vectors.rows(found.questions) @ vectors.rows([question])[0]
            for question, found in zip(judged.batch.question, judged.judgements, strict=True)
        ]
        return Scores.of(
            np.array([(max if self.best else np.mean)(row) for row in cosines], dtype=np.float64)
        )


class RuleJudge:
    """Replies by rule and counts its calls; a text with "no reply" raises JudgeError.

    To a prompt of a metric of SGI, it replies with the first example of the prompt.
    """

    fingerprint = "rule:judge,t=0"
    budget = 10_000

    def __init__(self) -> None:
        self.usage = Usage()

    async def ask(self, inquiry: Inquiry, schema: type[Any], /) -> Any:
        self.usage += Usage(calls=1, input_tokens=10, output_tokens=2, cost=0.001)
        if "no reply" in inquiry.text:
            raise JudgeError("The judge gave no reply.")
        if schema is Echoes:
            return Echoes(questions=("Who is it?", f"What is {len(inquiry.text)}?"))
        if schema is not Marks:
            return schema.typical(inquiry.prompt.examples[0].reply, inquiry.items)
        one, two = digest(inquiry.text.encode(), size=2)
        return Marks(reasoning=f"so it is: {one}", marks=(one / 255, two / 255))


JUDGED = "sgi.metrics.judged"
METRICS = {
    "faithfulness": f"{JUDGED}.faithfulness:Faithfulness",
    "context_recall": f"{JUDGED}.context_recall:ContextRecall",
    "answer_relevance": f"{JUDGED}.answer_relevance:AnswerRelevance",
    "ragas_score": "sgi.metrics.composite:RagasScore",
    "factual_accuracy": f"{JUDGED}.factual_accuracy:FactualAccuracy",
} | {
    kind.spec.name: f"{__name__}:{kind.__name__}"
    for kind in (Politeness, Courtesy, ReferencePoliteness, Echo)
}


def register_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register these metrics by name for the duration of the test."""
    monkeypatch.setattr(registry, "BUILT_IN", registry.BUILT_IN | METRICS)
    monkeypatch.setattr(registry, "metric_names", lambda: registry.BUILT_IN)


def judged_run(
    database: Database,
    data: Path,
    metrics: Sequence[str] = ("politeness", "echo"),
    *,
    target: Target | None = None,
    **more: Any,
) -> RunReport:
    """Score and store a run of the file, with judgements and usage.

    ``target`` gives the responses; ``more`` are further fields of the run's spec.
    """
    spec = RunOptions(data=data, metrics=tuple(metrics), max_failures=1.0, **more)
    supplied = RESPONSE if target is not None else frozenset()
    dataset = open_dataset(data)
    planned = plan(dataset, spec.metrics, supplied=supplied)
    with open_models(planned.metrics, spec) as opened:
        resources = replace(opened, judge=RuleJudge(), target=target)
        recording = begin_recording(database, spec, planned, resources)
        pipeline = Pipeline(dataset, planned, resources, recording=recording, max_failures=1.0)
        return anyio.run(pipeline.run)
