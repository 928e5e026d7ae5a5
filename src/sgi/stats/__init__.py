"""Intervals, tests, rankings and agreement that respect repeated questions; baselines for every detector."""

from sgi.stats.agreement import Agreement, cohen_kappa, krippendorff_alpha
from sgi.stats.confounds import Baseline, trivial_baselines
from sgi.stats.intervals import Interval, mean_interval, wilson_interval
from sgi.stats.paired import McNemar, PairedDifference, holm, mcnemar, paired_differences
from sgi.stats.prediction_powered import PoweredMean, prediction_powered_mean
from sgi.stats.ranking import Ranking, auroc, auroc_interval

__all__ = [
    "Agreement",
    "Baseline",
    "Interval",
    "McNemar",
    "PairedDifference",
    "PoweredMean",
    "Ranking",
    "auroc",
    "auroc_interval",
    "cohen_kappa",
    "holm",
    "krippendorff_alpha",
    "mcnemar",
    "mean_interval",
    "paired_differences",
    "prediction_powered_mean",
    "trivial_baselines",
    "wilson_interval",
]
