"""Judged metrics asked about one row by a scripted judge, and scored as a run would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from sgi.kernel.errors import JudgeError
from sgi.kernel.features import Features
from sgi.kernel.judged_metric import JudgedRows
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import VectorTable
from sgi.testing import HashEmbedder, ScriptedJudge

if TYPE_CHECKING:
    from pydantic import BaseModel

    from sgi.kernel.judged_metric import JudgedMetric
    from sgi.kernel.metric import Scores
    from sgi.kernel.prompts import Inquiry
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
    """The evidence, and every inquiry."""
    judge = ScriptedJudge(script, **settings)
    return anyio.run(metric.ask, sample, judge), judge.inquiries


def score_metric(metric: JudgedMetric[Any], sample: Sample, evidence: BaseModel) -> Scores:
    """The row's score of kept evidence, with vectors of just the texts that are wanted."""
    prepared = metric.prepare(JudgedRows(Batch.of([sample]), [evidence]))
    needs = metric.vector_needs
    texts = list(dict.fromkeys(needs.texts(prepared))) if needs else []
    vectors = [VectorTable.of("hash", texts, HashEmbedder().embed(texts))] if texts else []
    return metric.score(prepared, Features.of(*vectors))


def outcome(
    metric: JudgedMetric[Any], sample: Sample, script: Script, **settings: Any
) -> tuple[Any, str, str]:
    """Value, status and reason, where a JudgeError is the status failed, as a run makes it."""
    try:
        evidence, _ = ask_metric(metric, sample, script, **settings)
    except JudgeError as error:
        return None, "failed", str(error)
    scores = score_metric(metric, sample, evidence)
    value = float(scores.values[0]) if scores.ok[0] else None
    return value, str(scores.status[0]), scores.reasons[0]


def supports(*supported: int) -> dict[str, Any]:
    """The reply that gives claims these verdicts, in order."""
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
    """The reply that lists these claims."""
    return {"claims": list(texts)}
