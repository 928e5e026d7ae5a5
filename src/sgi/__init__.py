"""SGI: RAG evaluation that people can trust.

>>> import sgi
>>> rows = [{"question": "Who?", "response": "Jane Austen", "reference": "Austen"}]
>>> sgi.evaluate(rows, ["squad_token_f1"])["squad_token_f1"].values.round(4).tolist()
[0.6667]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sgi.kernel import telemetry

if TYPE_CHECKING:
    from sgi import geometry, testing
    from sgi.analysis.card.detector import detector_card
    from sgi.engine.evaluate import aevaluate, evaluate, evidence_map
    from sgi.engine.resources import load_embedder
    from sgi.engine.results import GroundingReport, Result
    from sgi.engine.summary import Summary
    from sgi.geometry.sgi import compute_sgi
    from sgi.io.benchmarks import load_halueval_qa, open_benchmark
    from sgi.kernel.errors import SgiError, TruncationWarning
    from sgi.kernel.features import Features
    from sgi.kernel.judged_metric import Judged, JudgedMetric
    from sgi.kernel.metric import Metric, MetricSpec, Scores, Status
    from sgi.kernel.sample import Batch, Field, Sample
    from sgi.kernel.vectors import VectorTable
    from sgi.metrics.similarity import cosine_similarity
    from sgi.service.service import RAGEvalService
    from sgi.testing import DummyEmbedder

telemetry.disable()

_HOMES = {
    "Batch": "sgi.kernel.sample",
    "DummyEmbedder": "sgi.testing",
    "Features": "sgi.kernel.features",
    "Field": "sgi.kernel.sample",
    "GroundingReport": "sgi.engine.results",
    "Judged": "sgi.kernel.judged_metric",
    "JudgedMetric": "sgi.kernel.judged_metric",
    "Metric": "sgi.kernel.metric",
    "MetricSpec": "sgi.kernel.metric",
    "RAGEvalService": "sgi.service.service",
    "Result": "sgi.engine.results",
    "Sample": "sgi.kernel.sample",
    "Scores": "sgi.kernel.metric",
    "SgiError": "sgi.kernel.errors",
    "Status": "sgi.kernel.metric",
    "Summary": "sgi.engine.summary",
    "TruncationWarning": "sgi.kernel.errors",
    "VectorTable": "sgi.kernel.vectors",
    "aevaluate": "sgi.engine.evaluate",
    "compute_sgi": "sgi.geometry.sgi",
    "cosine_similarity": "sgi.metrics.similarity",
    "detector_card": "sgi.analysis.card.detector",
    "evaluate": "sgi.engine.evaluate",
    "evidence_map": "sgi.engine.evaluate",
    "load_embedder": "sgi.engine.resources",
    "load_halueval_qa": "sgi.io.benchmarks",
    "open_benchmark": "sgi.io.benchmarks",
}
_ROOMS = ("geometry", "testing")

__all__ = [  # noqa: RUF022 - the order of _HOMES, then the rooms
    "Batch",
    "DummyEmbedder",
    "Features",
    "Field",
    "GroundingReport",
    "Judged",
    "JudgedMetric",
    "Metric",
    "MetricSpec",
    "RAGEvalService",
    "Result",
    "Sample",
    "Scores",
    "SgiError",
    "Status",
    "Summary",
    "TruncationWarning",
    "VectorTable",
    "aevaluate",
    "compute_sgi",
    "cosine_similarity",
    "detector_card",
    "evaluate",
    "evidence_map",
    "load_embedder",
    "load_halueval_qa",
    "open_benchmark",
    "geometry",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `import sgi` itself takes milliseconds."""
    if name == "__version__":
        from sgi.kernel.signature import package_version

        return package_version()
    if name in _ROOMS:
        return import_module(f"sgi.{name}")
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'sgi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
