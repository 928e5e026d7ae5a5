"""Asks a scripted judge about one row for a judged metric, and scores the row as a run does."""

from typing import Any

import anyio
from pydantic import BaseModel

from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import JudgedMetric, JudgedRows
from sgi.kernel.metric import Scores
from sgi.kernel.prompts import Inquiry
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features, VectorTable
from sgi.testing import HashEmbedder, ScriptedJudge
from sgi.testing.fakes import Script

ROW = Sample(
    id="1",
    question="When was the Anke launched, and where?",
    contexts=("The yard at Tolvik launched the Anke in 1950.", "Lake Serrin freezes in most winters."),
    response="The Anke was launched in 1950. She was built in Omsund.",
    reference="In 1950, at Tolvik.",
)
"""A complete, ordinary row."""


def ask_metric(
    metric: JudgedMetric[Any], sample: Sample, script: Script, **settings: Any
) -> tuple[Any, list[Inquiry]]:
    """Ask about a sample; return the judgement and all inquiries."""
    judge = ScriptedJudge(script, **settings)
    return anyio.run(metric.ask, sample, judge), judge.inquiries


def score_metric(metric: JudgedMetric[Any], sample: Sample, judgement: BaseModel) -> Scores:
    """Score a stored judgement, with vectors of only the texts that the metric needs."""
    prepared = metric.prepare(JudgedRows(Batch.of([sample]), [judgement]))
    needs = metric.vector_needs
    texts = list(dict.fromkeys(needs.texts(prepared))) if needs else []
    vectors = [VectorTable.of("hash", texts, HashEmbedder().embed(texts))] if texts else []
    return metric.score(prepared, Features.of(*vectors))


def outcome(
    metric: JudgedMetric[Any], sample: Sample, script: Script, **settings: Any
) -> tuple[Any, str, str]:
    """Value, status and reason of a row; a JudgeError gives the status failed."""
    try:
        judgement, _ = ask_metric(metric, sample, script, **settings)
    except JudgeError as error:
        return None, "failed", str(error)
    scores = score_metric(metric, sample, judgement)
    value = float(scores.values[0]) if scores.ok[0] else None
    return value, str(scores.status[0]), scores.reasons[0]


def supports(*supported: int) -> dict[str, Any]:
    """A reply with these verdicts on the claims, in order."""
    return {
        "verdicts": [
            {
                "index": index,
                "reason": "So it reads.",
                "supported": verdict,
                "passage": 1 if verdict else None,
            }
            for index, verdict in enumerate(supported, 1)
        ]
    }


def claims(*texts: str) -> dict[str, Any]:
    """A reply that lists these claims."""
    return {"claims": list(texts)}
