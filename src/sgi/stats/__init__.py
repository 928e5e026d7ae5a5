"""Intervals and rankings that respect repeated questions, and the baselines every detector must face."""

from sgi.stats.confounds import Baseline, trivial_baselines
from sgi.stats.intervals import Interval, mean_interval, wilson_interval
from sgi.stats.ranking import Ranking, auroc, auroc_interval

__all__ = [
    "Baseline",
    "Interval",
    "Ranking",
    "auroc",
    "auroc_interval",
    "mean_interval",
    "trivial_baselines",
    "wilson_interval",
]
