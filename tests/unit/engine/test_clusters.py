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
def test_a_dominant_question_is_noticed_wherever_it_is(order):
    questions = ([f"q{n}" for n in range(40)] + ["Summarize."] * 14 + ["Who?"] * 12)[::order]
    found = clustering_of(rows(questions), "question", "rows").dominant
    assert (found.text, found.rows, found.contexts) == ("Summarize.", 14, 14)


def test_a_dominant_cluster_of_another_rule_has_no_question():
    samples = rows([f"q{n}" for n in range(10)], ["same"] * 4 + list("abcdef"))
    found = clustering_of(samples, "contexts", "rows").dominant
    assert (found.text, found.rows, found.contexts) == ("", 4, 0)


def test_too_few_clusters_for_an_interval_are_noted_only_for_different_passages():
    assert clustering_of(rows(["Who?"] * 9, ["the passage"] * 9), "question", "rows").dominant is None
    assert clustering_of(rows(["Summarize."] * 9), "contexts", "rows").dominant is None
    assert clustering_of(rows(["Summarize."] * 9), "question", "rows").dominant.contexts == 9


def test_rows_without_the_column_are_counted():
    samples = [Sample(id=str(n), metadata={"doc": n} if n else {}) for n in range(3)]
    assert clustering_of(samples, "doc", "rows").without_value == 1
    with pytest.raises(UnknownNameError, match="doc"):
        clustering_of(samples, "docs", "rows")
