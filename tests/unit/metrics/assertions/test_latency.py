"""The assertion about the time that an answer took."""

import sgi
from sgi.kernel.registry import metric


def test_an_answer_below_the_limit_passes():
    times = [0, 1999.5, 2000, 5000.0]
    rows = [{"id": str(n), "response": "a", "latency_ms": time} for n, time in enumerate(times)]
    rows.append({"id": "none", "response": "a", "latency_ms": None})
    (result,) = sgi.evaluate(rows, "latency_below(ms=2000)", cache=False).values()
    scores = [result.row(number) for number in range(5)]
    assert [score.value for score in scores] == [1, 1, 0, 0, None]
    assert scores[2].details == {"failure": "the answer took 2000.0 ms, not less than 2000"}
    assert (scores[4].status, scores[4].reason) == ("missing", "the sample has no latency_ms")


def test_equal_limits_have_one_canonical_string():
    texts = ("latency_below(ms=2000.0)", "latency_below(ms=2e3)", "latency_below(ms=0.5)")
    assert [metric(text).canonical for text in texts] == [
        "latency_below(ms=2000)",
        "latency_below(ms=2000)",
        "latency_below(ms=0.5)",
    ]
