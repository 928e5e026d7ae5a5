"""Rows with a score in their metadata, a metric that returns this score, and cascades over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sgi.engine.evaluate import evaluate
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE, Sample
from support.judged_metrics import Politeness, RuleJudge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.engine.run import Run
    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features


@dataclass(frozen=True)
class MetadataScore(Metric):
    """The score in a row's metadata, if any. It has the name `grounding`, so that it clears rows."""

    spec: ClassVar = MetricSpec("grounding", 1, needs=CONTEXTS | RESPONSE, low=0.0, high=1.0)

    def score(self, batch: Batch, features: Features, /) -> Scores:
        del features
        scores = [sample.metadata.get("stated") for sample in batch.samples]
        values = np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
        return Scores.of(values, undefined={"nothing is stated": np.isnan(values)})


def row(name: str, stated: float | None = 0.5, *, label: bool | None = None, **more: Any) -> Sample:
    """A row with this score in its metadata."""
    values: dict[str, Any] = {"question": f"Which {name}?", "contexts": (f"About {name}.",)}
    values |= {"response": f"It is {name}.", "metadata": {"stated": stated}, "label": label}
    return Sample(id=name, **(values | more))


def unsupported_rows(scores: Iterable[float | None], prefix: str = "u") -> list[Sample]:
    """Rows with the label of unsupported answers."""
    return [row(f"{prefix}{place}", score, label=False) for place, score in enumerate(scores)]


def run_cascade(
    rows: list[Sample], cascade: Any = "alpha=0.1", *, judge: Any = None, metrics: Any = None, **more: Any
) -> tuple[Run, Any]:
    """Evaluate the rows with a cascade; return the result and the judge."""
    used_judge = RuleJudge() if judge is None else judge
    used_metrics = [MetadataScore(), Politeness()] if metrics is None else metrics
    return evaluate(rows, used_metrics, judge=used_judge, cascade=cascade, **more), used_judge
