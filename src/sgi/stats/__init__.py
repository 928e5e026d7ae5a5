"""Intervals, paired tests and rankings that respect repeated questions, and baselines for every detector."""

from sgi.stats.confounds import Baseline, trivial_baselines
from sgi.stats.intervals import Interval, mean_interval, wilson_interval
from sgi.stats.paired import McNemar, PairedDifference, holm, mcnemar, paired_differences
from sgi.stats.ranking import Ranking, auroc, auroc_interval

__all__ = [
    "Baseline",
    "Interval",
    "McNemar",
    "PairedDifference",
    "Ranking",
    "auroc",
    "auroc_interval",
    "holm",
    "mcnemar",
    "mean_interval",
    "paired_differences",
    "trivial_baselines",
    "wilson_interval",
]
