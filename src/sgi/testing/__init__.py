"""For tests of your own metrics, embedders and judges: fakes, and checks of what a run relies on."""

from sgi.testing.contracts import check_embedder, check_metric
from sgi.testing.fakes import HashEmbedder, HashTokenEncoder, ScriptedJudge
from sgi.testing.judging import check_judge

__all__ = [
    "HashEmbedder",
    "HashTokenEncoder",
    "ScriptedJudge",
    "check_embedder",
    "check_judge",
    "check_metric",
]
