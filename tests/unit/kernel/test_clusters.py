from __future__ import annotations

import pytest

from sgi.kernel.clusters import (
    Clustering,
    DominantCluster,
    cluster_number,
    dominant_cluster,
    unknown_column,
)
from sgi.kernel.sample import Sample

ROWS = [
    Sample(id="a", question="Summarize.", contexts=("one",), metadata={"doc": 1, "user": "x"}),
    Sample(id="b", question="Summarize.", contexts=("two",), metadata={"doc": 1}),
    Sample(id="c", question="Who?", contexts=("two",), metadata={"doc": "1", "user": " "}),
    Sample(id="d", question="Who?", metadata={"user": "x"}),
]


@pytest.mark.parametrize(
    ("by", "together"),
    [
        ("question", ["ab", "cd"]),
        ("contexts", ["a", "bc", "d"]),
        ("row", ["a", "b", "c", "d"]),
        ("doc", ["ab", "c", "d"]),
        ("user", ["ad", "b", "c"]),
    ],
)
def test_which_rows_share_a_cluster(by, together):
    clusters = {}
    for position, sample in enumerate(ROWS):
        clusters.setdefault(sample.cluster(position, by), []).append(sample.id)
    assert ["".join(ids) for ids in clusters.values()] == together


def test_a_value_of_any_kind_is_a_cluster():
    values = [{"k": value} for value in (True, 1.5, None, ["a"], {"b": 2}, "", "\ud800")]
    assert len({cluster_number("k", n, metadata=value) for n, value in enumerate(values)}) == len(values)


def test_an_unknown_column_lists_those_there_are():
    assert "Did you mean 'document'" in str(unknown_column("rows.csv", "documents", ["document", "kind"]))
    assert "It has none." in str(unknown_column("rows.csv", "documents", []))


@pytest.mark.parametrize(
    ("rows", "contexts", "clusters", "dominates"),
    [
        (7, 1, 24, True),
        (7, 0, 24, True),
        (6, 6, 25, False),
        (10, 10, 3, True),
        (10, 1, 3, False),
    ],
)
def test_a_cluster_dominates_from_more_than_a_fifth_of_the_rows(rows, contexts, clusters, dominates):
    dominant = dominant_cluster("Summarize.", rows, contexts, of=30, clusters=clusters)
    assert (dominant is not None) is dominates


def test_a_single_row_does_not_dominate():
    assert dominant_cluster("Who?", 1, 2, of=2, clusters=2) is None


def test_the_note_names_the_text_its_rows_and_the_option():
    note = " ".join(Clustering(dominant=DominantCluster("Summarize " + "x" * 200, 30, 29)).notes(31))
    assert "30 of 31 rows" in note
    assert "Summarize xxx" in note
    assert "29 different contexts" in note
    assert "cluster them by contexts" in note
    assert len(note) < 400


def test_the_note_on_a_cluster_of_another_rule_quotes_no_question():
    note = " ".join(Clustering("doc", dominant=DominantCluster("", 30, 0)).notes(31))
    assert "30 of 31 rows belong together" in note
    assert "question" not in note
    assert "by contexts" not in note
