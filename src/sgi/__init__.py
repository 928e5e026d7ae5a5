"""SGI: evaluation of retrieval-augmented generation (RAG). Every row gets a value, or a status and a reason.

`evaluate` scores data, `Scorer` scores single rows, `run` scores a file and stores the scores, and `check`
explains the score of one answer. Further names are in modules: ``sgi.api`` has all functions on runs,
``sgi.errors`` the errors, ``sgi.types`` the types of rows and scores, ``sgi.metrics`` the classes of the
metrics, ``sgi.geometry`` the angles, and ``sgi.testing`` helpers for tests of your own parts.

>>> import sgi
>>> rows = [{"question": "Who?", "response": "Jane Austen", "reference": "Austen"}]
>>> result = sgi.evaluate(rows, ["squad_token_f1"])
>>> result["squad_token_f1"].values.round(4).tolist()
[0.6667]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sgi.kernel import telemetry

if TYPE_CHECKING:
    from sgi import api, errors, geometry, metrics, testing, types
    from sgi.api import gate, report, runs
    from sgi.api_analysis import compare, diagnose, run
    from sgi.engine.evaluate import aevaluate, check, evaluate
    from sgi.engine.open_resources import load_embedder
    from sgi.engine.run import Run
    from sgi.engine.stored_runs import open_run
    from sgi.geometry.sgi_ratio import compute_sgi
    from sgi.io.halueval_qa import load_halueval_qa
    from sgi.kernel.metric import Metric
    from sgi.kernel.protocols import Embedder, Judge
    from sgi.kernel.registry import metric
    from sgi.metrics.similarity import cosine_similarity
    from sgi.service.guard import Guard
    from sgi.service.scorer import Scorer
    from sgi.service.service import RAGEvalService

telemetry.disable()

_MODULES = {
    "Embedder": "sgi.kernel.protocols",
    "Guard": "sgi.service.guard",
    "Judge": "sgi.kernel.protocols",
    "Metric": "sgi.kernel.metric",
    "RAGEvalService": "sgi.service.service",
    "Run": "sgi.engine.run",
    "Scorer": "sgi.service.scorer",
    "aevaluate": "sgi.engine.evaluate",
    "check": "sgi.engine.evaluate",
    "compare": "sgi.api_analysis",
    "compute_sgi": "sgi.geometry.sgi_ratio",
    "cosine_similarity": "sgi.metrics.similarity",
    "diagnose": "sgi.api_analysis",
    "evaluate": "sgi.engine.evaluate",
    "gate": "sgi.api",
    "load_embedder": "sgi.engine.open_resources",
    "load_halueval_qa": "sgi.io.halueval_qa",
    "metric": "sgi.kernel.registry",
    "open_run": "sgi.engine.stored_runs",
    "report": "sgi.api",
    "run": "sgi.api_analysis",
    "runs": "sgi.api",
}
_SUBMODULES = ("api", "errors", "geometry", "metrics", "testing", "types")

__all__ = [  # noqa: RUF022 - the order of _MODULES, then the submodules
    "Embedder",
    "Guard",
    "Judge",
    "Metric",
    "RAGEvalService",
    "Run",
    "Scorer",
    "aevaluate",
    "check",
    "compare",
    "compute_sgi",
    "cosine_similarity",
    "diagnose",
    "evaluate",
    "gate",
    "load_embedder",
    "load_halueval_qa",
    "metric",
    "open_run",
    "report",
    "run",
    "runs",
    "api",
    "errors",
    "geometry",
    "metrics",
    "testing",
    "types",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that ``import sgi`` takes milliseconds."""
    if name == "__version__":
        from sgi.kernel.signature import package_version

        return package_version()
    if name in _SUBMODULES:
        return import_module(f"sgi.{name}")
    if name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sgi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
