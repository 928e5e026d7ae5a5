"""Detector cards with chosen values."""

from typing import Any

from sgi.analysis.agreement.report import Estimate
from sgi.stats.confounds import Baseline
from sgi.stats.intervals import Interval
from sgi.stats.ranking import Ranking
from sgi_lab.card.card import DetectorCard, ShuffledControl


def interval(low: float, high: float) -> Interval:
    """An interval at 95 %."""
    return Interval(low, high, 0.95, "bootstrap")


def ranking_of(auroc: float, low: float | None = None, high: float | None = None) -> Ranking:
    """An AUROC over 40 and 60 rows, with an interval if ends are given."""
    return Ranking(auroc, None if low is None or high is None else interval(low, high), 40, 60)


def baseline(name: str, auroc: float, low: float, high: float, direction: str = "higher") -> Baseline:
    """The ranking of a trivial score."""
    return Baseline(name, direction, ranking_of(auroc, low, high))


NOT_SHUFFLED = ShuffledControl(None, reason="it was not requested")


def card(**changes: Any) -> DetectorCard:
    """A card of a score with AUROC 0.8, without comparisons, and with these changes."""
    values: dict[str, Any] = {
        "name": "sgi on data",
        "higher_is_better": True,
        "rows": 100,
        "grounded": 40,
        "ungrounded": 60,
        "clusters": 50,
        "dropped": {},
        "ranking": ranking_of(0.8, 0.75, 0.85),
        "average_precision": Estimate(0.9, interval(0.85, 0.95), 100),
        "false_positive_rate": Estimate(0.4, interval(0.3, 0.5), 100),
        "length_matched": None,
        "length_stratified": None,
        "length_within": None,
        "precision_matched": None,
        "baselines": (),
        "differences": {},
        "permuted": None,
        "shuffled": NOT_SHUFFLED,
        "subgroups": (),
        "calibration": (),
    }
    return DetectorCard(**{**values, **changes})
