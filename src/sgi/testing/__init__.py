"""Fakes and contract checks for tests of your own metrics, embedders, entailment models and judges."""

from sgi.testing.contracts import check_embedder, check_metric
from sgi.testing.entailment import check_entailment_model
from sgi.testing.fakes import HashEmbedder, HashEntailment, HashTokenEncoder, ScriptedJudge
from sgi.testing.judging import check_judge

DummyEmbedder = HashEmbedder
"""The published name."""

__all__ = [
    "DummyEmbedder",
    "HashEmbedder",
    "HashEntailment",
    "HashTokenEncoder",
    "ScriptedJudge",
    "check_embedder",
    "check_entailment_model",
    "check_judge",
    "check_metric",
]
