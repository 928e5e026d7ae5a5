import numpy as np

from sgi.analysis.gate.gate import gate
from support.scored_runs import column, run


def check(rule, count=400, **options):
    values = np.arange(1, count + 1) / 1000
    return gate(run(column("m", values, higher_is_better=False)), rule, **options).checks[0]


def test_the_end_of_the_interval_of_a_percentile_decides():
    passed, failed = check("m.p95<=0.389"), check("m.p95<=0.385")

    assert passed.passed
    assert (passed.metric, passed.value, passed.bound) == ("m.p95", 0.38, 0.389)
    assert not failed.passed
    assert failed.reason == (
        "the 95 % interval of p95 reaches up to 0.389; your limit is at most 0.385. The p95 itself is 0.38"
    )
    assert failed.worst[0].value == 0.4


def test_an_unknown_end_fails_and_says_how_many_rows_are_needed():
    failed = check("m.p99<=0.9", count=50)

    assert not failed.passed
    assert failed.reason == (
        "the upper end of the 95 % interval is unknown: 368 independent rows are needed for p99, and the run "
        "has 50"
    )
    assert check("m.p99<=0.9", count=50, on="mean").passed
