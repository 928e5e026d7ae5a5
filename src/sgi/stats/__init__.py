"""Intervals, tests, rankings and agreement for clustered rows, and the controls of a detector.

These arguments have the same meaning in all functions that do not document them:

* ``scores``: higher = more likely true (positive), shape (n,), not NaN.
* ``labels``: true or false (or 1 and 0), shape (n,).
* ``clusters``: rows with the same value are dependent, shape (n,); None if all rows are independent.
* ``level``: confidence level, in (0, 1).
* ``draws``: number of resamples. ``seed``: random seed.
* ``first``, ``second``: finite values of the same rows, shape (n,).

Functions raise ValueError if lengths differ, a value is NaN or infinite where it must not be, a label is not
boolean, or a number is out of range. "Raises" sections list only further errors.
"""

from sgi.stats.agreement import Agreement, cohen_kappa, krippendorff_alpha
from sgi.stats.auroc_difference import AurocDifference, auroc_difference
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.calibration import (
    Brier,
    Reliability,
    brier,
    expected_calibration_error,
    out_of_fold_probabilities,
    reliability,
)
from sgi.stats.conformal import LengthThresholds, conformal_threshold, length_thresholds
from sgi.stats.confounds import (
    Baseline,
    PermutationControl,
    StratifiedAuroc,
    baseline,
    matched_rows,
    permutation_control,
    stratified_auroc,
    trivial_baselines,
)
from sgi.stats.correlation import correlation
from sgi.stats.effects import cohen_d, pearson, spearman, welch_p
from sgi.stats.intervals import Interval, NoInterval, wilson_interval
from sgi.stats.means import mean_interval
from sgi.stats.paired import McNemar, PairedDifference, holm, mcnemar, paired_differences
from sgi.stats.prediction_powered import PredictionPoweredMean, prediction_powered_mean
from sgi.stats.probability_maps import IsotonicMap, PlattMap, fit_isotonic, fit_platt
from sgi.stats.rank_resampling import average_precision_interval, bootstrap_interval
from sgi.stats.ranking import Ranking, auroc, average_precision, fpr_at_recall

__all__ = [
    "Agreement",
    "AurocDifference",
    "Baseline",
    "Brier",
    "Interval",
    "IsotonicMap",
    "LengthThresholds",
    "McNemar",
    "NoInterval",
    "PairedDifference",
    "PermutationControl",
    "PlattMap",
    "PredictionPoweredMean",
    "Ranking",
    "Reliability",
    "StratifiedAuroc",
    "auroc",
    "auroc_difference",
    "auroc_interval",
    "average_precision",
    "average_precision_interval",
    "baseline",
    "bootstrap_interval",
    "brier",
    "cohen_d",
    "cohen_kappa",
    "conformal_threshold",
    "correlation",
    "expected_calibration_error",
    "fit_isotonic",
    "fit_platt",
    "fpr_at_recall",
    "holm",
    "krippendorff_alpha",
    "length_thresholds",
    "matched_rows",
    "mcnemar",
    "mean_interval",
    "out_of_fold_probabilities",
    "paired_differences",
    "pearson",
    "permutation_control",
    "prediction_powered_mean",
    "reliability",
    "spearman",
    "stratified_auroc",
    "trivial_baselines",
    "welch_p",
    "wilson_interval",
]
