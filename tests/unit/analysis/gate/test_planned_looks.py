"""Gates that are planned to be repeated on the same questions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sgi.analysis.gate.gate import gate
from sgi.kernel.errors import UsageError
from support.gates import INTERVAL, good, only
from support.scored_runs import column, run


def test_each_planned_look_narrows_what_passes():
    limit = float(INTERVAL.low)
    assert gate(good(), f"m>={limit}").passed
    planned = only(gate(good(), f"m>={limit}", looks=20))
    assert (planned.passed, planned.level) == (False, 0.9975)
    assert planned.reason.startswith("the 99.75 % interval reaches down to")
    assert gate(good(), f"m>={limit}", looks=1).checks[0].level == 0.95


def test_looks_are_numbered_and_end_where_they_were_planned_to():
    earlier = {("m", ">="): 4, ("m", "drop"): 1}
    report = gate(good(), ["m>=0.5", "m>0.4", "m<=0.99"], earlier=earlier)
    assert ([check.look for check in report.checks], report.passed) == ([5, 5, 1], True)
    assert gate(good(), "m>=0.5", earlier=earlier, looks=5).passed
    late = only(gate(good(), "m>=0.5", earlier=earlier, looks=4))
    assert late.reason == "this is gate 5 on these questions, but 4 were planned; use new questions"
    assert only(gate(good(), "m>=0.5")).look is None
    with pytest.raises(UsageError):
        gate(good(), "m>=0.5", looks=0)


def passes_once(looks, histories=1000):
    """The share of histories in which a run exactly at the threshold passes one of 20 gates."""

    @cache
    def passes(ones):
        values = np.repeat([1.0, 0.0], [ones, 100 - ones])
        return gate(run(column("m", values)), "m>=0.8", looks=looks, worst=0).passed

    ones = np.random.default_rng(1).binomial(100, 0.8, size=(histories, 20))
    return np.mean([any(map(passes, history)) for history in ones.tolist()])


def test_twenty_looks_let_a_run_at_the_threshold_pass_and_planned_ones_do_not():
    assert passes_once(None) > 0.25
    assert passes_once(20) <= 0.03
