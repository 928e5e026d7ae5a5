"""The content of a calibration file."""

import copy

from sgi.engine.calibration_file import CalibrationFile
from sgi.kernel.registry import metric
from sgi.testing import HashEmbedder

RATE = {
    "value": 0.5,
    "questions": 40,
    "interval": {"low": 0.35, "high": 0.65, "level": 0.95, "method": "wilson"},
}
QUALITY = {"brier": 0.2, "ece_width": 0.05, "ece_mass": 0.04, "ece_chance": 0.03}
MAP = {
    "map": "logistic",
    "slope": 3.0,
    "intercept": 0.0,
    "centre": 1.0,
    "spread": 1.0,
    "covariance": [0.1, 0.0, 0.2],
    "quantile": 2.0,
}
EMBEDDER = HashEmbedder(64, "hash")


def calibration_file(**changes):
    """A calibration file with this content, and the changes."""
    return CalibrationFile.model_validate(file_content(**changes))


def thresholds_content(**changes):
    """The content of the thresholds of a file."""
    ranges = [(0, 20, 0.9), (20, 50, None), (50, None, 1.1)]
    values = {
        "target": {"rate": "fpr", "value": 0.05},
        "threshold": 0.95,
        "bins": [
            {
                "at_least": low,
                "below": high,
                "threshold": threshold,
                "questions": 40,
                "false_positives": RATE,
                "recall": RATE | {"value": None, "questions": 0, "interval": None},
            }
            for low, high, threshold in ranges
        ],
        "false_positives": RATE,
        "recall": RATE,
    }
    return copy.deepcopy(values | changes)


def file_content(**changes):
    """The content of the file without its digest."""
    values = {
        "format": 2,
        "metric": "sgi",
        "version": metric("sgi").spec.version,
        "cluster": "question",
        "higher_is_better": True,
        "encoders": [EMBEDDER.fingerprint],
        "judge": None,
        "prompts": "",
        "run": "20260101-000000-abcdef",
        "dataset": "3f2a",
        "label": "label",
        "rows": 240,
        "positives": 120,
        "negatives": 120,
        "clusters": 120,
        "left_out": 0,
        "ranking": {"auroc": 0.7, "interval": RATE["interval"] | {"low": 0.6, "high": 0.8}},
        "words": {"rows": 240, "auroc": 0.6, "difference": 0.1, "interval": None},
        "reference": {
            "scores": [0.8, 1.0, 1.2],
            "lengths": [10, 20, 40, 60],
            "undefined": 1,
            "low": 0.7,
            "high": 1.3,
        },
        "log_odds": False,
        "map": MAP,
        "thresholds": thresholds_content(),
        "quality": QUALITY,
        "base_rate": QUALITY,
    }
    return copy.deepcopy(values | changes)
