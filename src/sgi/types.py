"""The types of rows, metrics, scores and results: for your own metrics, and for annotations.

>>> from sgi.types import Batch, Sample
>>> len(Batch((Sample(id="a", response="Paris."),)))
1
"""

from sgi.engine.grounding_report import GroundingReport
from sgi.engine.summary import MetricSummary, Summary
from sgi.kernel.guard_verdict import GuardVerdict
from sgi.kernel.judged_metric import JudgedMetric, JudgedRows
from sgi.kernel.metric import Metric, MetricSpec, Score, Scores, Status
from sgi.kernel.protocols import Embedder, Judge
from sgi.kernel.sample import Batch, Field, Sample
from sgi.kernel.vectors import Features, VectorTable

__all__ = [
    "Batch",
    "Embedder",
    "Features",
    "Field",
    "GroundingReport",
    "GuardVerdict",
    "Judge",
    "JudgedMetric",
    "JudgedRows",
    "Metric",
    "MetricSpec",
    "MetricSummary",
    "Sample",
    "Score",
    "Scores",
    "Status",
    "Summary",
    "VectorTable",
]
