from __future__ import annotations

import pytest

from sgi.engine.accumulator import ClusterAccumulator, clustering_of
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.sample import Sample


def rows(questions, contexts=None):
    return [
        Sample(id=str(n), question=text, contexts=(contexts[n] if contexts else f"passage {n}",))
        for n, text in enumerate(questions)
    ]


def test_clusters_are_numbered_by_their_first_rows():
    clusters = ClusterAccumulator()
    for sample in rows(["b", "a", "b"]):
        clusters.add(sample)
    assert clusters.numbers.tolist() == [0, 1, 0]


@pytest.mark.parametrize("order", [1, -1])
def test_a_question_of_most_rows_is_noticed_wherever_it_is(order):
    questions = (["Summarize."] * 6 + ["q1", "q2", "q3", "q4"])[::order]
    found = clustering_of(rows(questions), "question", "rows").dominant
    assert (found.text, found.rows, found.contexts) == ("Summarize.", 6, 6)


def test_several_answers_to_one_question_over_the_same_passages_are_nothing_to_note():
    assert clustering_of(rows(["Who?"] * 9, ["the passage"] * 9), "question", "rows").dominant is None
    assert clustering_of(rows(["Summarize."] * 9), "contexts", "rows").dominant is None
    assert clustering_of(rows([""] * 9), "question", "rows").dominant is None


def test_rows_without_the_column_are_counted():
    samples = [Sample(id=str(n), metadata={"doc": n} if n else {}) for n in range(3)]
    assert clustering_of(samples, "doc", "rows").without_value == 1
    with pytest.raises(UnknownNameError, match="doc"):
        clustering_of(samples, "docs", "rows")
