from __future__ import annotations

import sgi
from support.answers_to_check import rows_to_check


def test_a_summary_counts_the_answers_to_check_and_their_labels():
    rows = rows_to_check(3)
    del rows[-1]["label"]
    (metric,) = sgi.evaluate(rows, "grounding").summary().metrics
    counts = metric.review
    assert (counts.flagged, counts.low, counts.rows) == (6, 3, 9)
    assert counts.kinds == {"number absent": 3, "number contradicted": 3}
    assert (counts.labelled, counts.wrong) == (8, 8)
    assert type(metric).from_dict(metric.to_dict()).review == counts


def test_a_metric_without_findings_has_no_answers_to_check():
    (metric,) = sgi.evaluate([{"response": "a", "reference": "b"}], "squad_em").summary().metrics
    assert metric.review is None
