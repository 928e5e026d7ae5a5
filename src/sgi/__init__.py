"""SGI: evaluation of retrieval-augmented generation (RAG). Every row gets a value, or a status and a reason.

`evaluate` scores data, `Scorer` scores single rows, `run` scores a file and stores the scores, and `check`
explains the score of one answer. The package ``sgi.metrics`` has the classes of the metrics.

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
    from sgi import geometry, metrics, testing
    from sgi.api import agree, calibrate, export, gate, report, runs
    from sgi.api_comparing import compare, duel, leaderboard, pareto, repeats
    from sgi.api_diagnosis import compare_causes, diagnose
    from sgi.api_scoring import rescore, run
    from sgi.engine.evaluate import aevaluate, check, evaluate
    from sgi.engine.grounding_report import GroundingReport
    from sgi.engine.open_resources import load_embedder
    from sgi.engine.opened_models import close_models
    from sgi.engine.run import Run
    from sgi.engine.stored_runs import open_run
    from sgi.engine.summary import Summary
    from sgi.geometry.sgi_ratio import compute_sgi
    from sgi.io.halueval_qa import load_halueval_qa
    from sgi.kernel.errors import (
        BudgetExceededError,
        DataError,
        EmbedderError,
        JudgeError,
        MissingExtraError,
        SgiError,
        StoreError,
        TargetError,
        TruncationWarning,
        UnknownNameError,
        UsageError,
    )
    from sgi.kernel.judged_metric import JudgedMetric, JudgedRows
    from sgi.kernel.metric import Metric, MetricSpec, Score, Scores, Status
    from sgi.kernel.protocols import Embedder, Judge
    from sgi.kernel.registry import metric
    from sgi.kernel.sample import Batch, Field, Sample
    from sgi.kernel.vectors import Features, VectorTable
    from sgi.metrics.definitions import read_metrics
    from sgi.metrics.similarity import cosine_similarity
    from sgi.service.scorer import Scorer, ScorerBusyError, ScorerClosedError
    from sgi.service.service import RAGEvalService
    from sgi.testing import DummyEmbedder

telemetry.disable()

_ERRORS = "sgi.kernel.errors"
_MODULES = {
    "Batch": "sgi.kernel.sample",
    "BudgetExceededError": _ERRORS,
    "DataError": _ERRORS,
    "DummyEmbedder": "sgi.testing",
    "Embedder": "sgi.kernel.protocols",
    "EmbedderError": _ERRORS,
    "Features": "sgi.kernel.vectors",
    "Field": "sgi.kernel.sample",
    "GroundingReport": "sgi.engine.grounding_report",
    "Judge": "sgi.kernel.protocols",
    "JudgeError": _ERRORS,
    "JudgedRows": "sgi.kernel.judged_metric",
    "JudgedMetric": "sgi.kernel.judged_metric",
    "Metric": "sgi.kernel.metric",
    "MetricSpec": "sgi.kernel.metric",
    "MissingExtraError": _ERRORS,
    "RAGEvalService": "sgi.service.service",
    "Run": "sgi.engine.run",
    "Sample": "sgi.kernel.sample",
    "Score": "sgi.kernel.metric",
    "Scorer": "sgi.service.scorer",
    "ScorerBusyError": "sgi.service.scorer",
    "ScorerClosedError": "sgi.service.scorer",
    "Scores": "sgi.kernel.metric",
    "SgiError": _ERRORS,
    "Status": "sgi.kernel.metric",
    "StoreError": _ERRORS,
    "Summary": "sgi.engine.summary",
    "TargetError": _ERRORS,
    "TruncationWarning": _ERRORS,
    "UnknownNameError": _ERRORS,
    "UsageError": _ERRORS,
    "VectorTable": "sgi.kernel.vectors",
    "aevaluate": "sgi.engine.evaluate",
    "agree": "sgi.api",
    "calibrate": "sgi.api",
    "check": "sgi.engine.evaluate",
    "close_models": "sgi.engine.opened_models",
    "compare": "sgi.api_comparing",
    "compare_causes": "sgi.api_diagnosis",
    "compute_sgi": "sgi.geometry.sgi_ratio",
    "cosine_similarity": "sgi.metrics.similarity",
    "diagnose": "sgi.api_diagnosis",
    "duel": "sgi.api_comparing",
    "evaluate": "sgi.engine.evaluate",
    "export": "sgi.api",
    "gate": "sgi.api",
    "leaderboard": "sgi.api_comparing",
    "pareto": "sgi.api_comparing",
    "load_embedder": "sgi.engine.open_resources",
    "load_halueval_qa": "sgi.io.halueval_qa",
    "metric": "sgi.kernel.registry",
    "open_run": "sgi.engine.stored_runs",
    "read_metrics": "sgi.metrics.definitions",
    "repeats": "sgi.api_comparing",
    "report": "sgi.api",
    "rescore": "sgi.api_scoring",
    "run": "sgi.api_scoring",
    "runs": "sgi.api",
}
_SUBPACKAGES = ("geometry", "metrics", "testing")

__all__ = [  # noqa: RUF022 - the order of _MODULES, then the subpackages
    "Batch",
    "BudgetExceededError",
    "DataError",
    "DummyEmbedder",
    "Embedder",
    "EmbedderError",
    "Features",
    "Field",
    "GroundingReport",
    "Judge",
    "JudgeError",
    "JudgedRows",
    "JudgedMetric",
    "Metric",
    "MetricSpec",
    "MissingExtraError",
    "RAGEvalService",
    "Run",
    "Sample",
    "Score",
    "Scorer",
    "ScorerBusyError",
    "ScorerClosedError",
    "Scores",
    "SgiError",
    "Status",
    "StoreError",
    "Summary",
    "TargetError",
    "TruncationWarning",
    "UnknownNameError",
    "UsageError",
    "VectorTable",
    "aevaluate",
    "agree",
    "calibrate",
    "check",
    "close_models",
    "compare",
    "compare_causes",
    "compute_sgi",
    "cosine_similarity",
    "diagnose",
    "duel",
    "evaluate",
    "export",
    "gate",
    "leaderboard",
    "load_embedder",
    "load_halueval_qa",
    "metric",
    "open_run",
    "pareto",
    "read_metrics",
    "repeats",
    "report",
    "rescore",
    "run",
    "runs",
    "geometry",
    "metrics",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that ``import sgi`` takes milliseconds."""
    if name == "__version__":
        from sgi.kernel.signature import package_version

        return package_version()
    if name in _SUBPACKAGES:
        return import_module(f"sgi.{name}")
    if name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sgi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
