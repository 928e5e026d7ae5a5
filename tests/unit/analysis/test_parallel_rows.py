from __future__ import annotations

import numpy as np
import pytest

from sgi.analysis.parallel_rows import NO_ROW, parallel_rows
from sgi.kernel.errors import UsageError
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.sample import Sample
from support.scored_runs import run_of, with_record


def scored(name, values, ids=None, *, dataset="same"):
    """A run whose question k is "Question k?" for the id qk."""
    ids = ids or [f"q{k}" for k in range(len(values))]
    column = MetricColumn("sgi", np.array(values, dtype=float), np.zeros(len(values), dtype=np.int8))
    samples = [Sample(id=i, question=f"Question {i[1:]}?", response=f"{name} {i}") for i in ids]
    return with_record(run_of(samples, column), name=name, dataset=dataset)


def test_rows_that_changed_most_come_first_then_those_without_a_value():
    nan = np.nan
    rows = parallel_rows(
        [scored("a", [1, 1, 1, 1, nan]), scored("b", [1, nan, 0.5, 1, nan]), scored("c", [1, 1, 0.8, 3, nan])]
    )
    assert rows.by_change("sgi").tolist() == [3, 2, 1, 0, 4]
    assert rows.values["sgi"][2].tolist() == [1, 0.5, 0.8]


def test_other_data_is_matched_by_id_and_question():
    second = scored("b", [4, 5], ["q2", "q9"], dataset="other")
    rows = parallel_rows([scored("a", [1, 2, 3]), second, scored("c", [6], ["q0"], dataset="third")])
    assert rows.rows.tolist() == [[0, NO_ROW, 0], [2, 0, NO_ROW]]
    assert rows.left_out == 1
    other = scored("b", [1], ["q1"], dataset="other")
    wrong = [Sample(id="q1", question="Something else?", response="")]
    object.__setattr__(other, "read_samples", lambda rows: (wrong[row] for row in rows))
    with pytest.raises(UsageError):
        parallel_rows([scored("a", [1, 2]), other])


@pytest.mark.parametrize(("count", "hint"), [(1, "another"), (9, "fewer")])
def test_the_number_of_runs_is_limited(count, hint):
    with pytest.raises(UsageError, match=f"{count} runs are selected; rows of 2 to 8 .* Select {hint}"):
        parallel_rows([scored(str(k), [1]) for k in range(count)])
