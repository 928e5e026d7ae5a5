"""A run that gates decide on, and its only check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.stats.means import mean_interval
from support.scored_runs import column, run

if TYPE_CHECKING:
    from sgi.analysis.gate.checks import Check
    from sgi.analysis.gate.gate import GateReport
    from sgi.engine.run import Run

VALUES = np.random.default_rng(0).beta(8, 2, 100)
INTERVAL = mean_interval(VALUES, low=0, high=1)


def good(**options: Any) -> Run:
    return run(column("m", VALUES), column("angle", 1 - VALUES, higher_is_better=False), **options)


def only(report: GateReport) -> Check:
    (check,) = report.checks
    assert report.passed == check.passed == (check.reason == "")
    return check
