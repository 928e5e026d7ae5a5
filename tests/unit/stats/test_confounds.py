import json

import numpy as np
import pytest

from sgi.stats.confounds import trivial_baselines
from sgi.stats.ranking import auroc, ranking

LABELS = np.array([True, True, True, False, False, False])
LENGTHS = np.array([3.0, 5.0, 9.0, 8.0, 20.0, 30.0])
OVERLAPS = np.array([1.0, 0.9, 0.2, 0.3, 0.1, 0.0])


def test_each_baseline_is_a_ranking_of_its_column():
    length, overlap = trivial_baselines(LABELS, lengths=LENGTHS, overlaps=OVERLAPS)
    assert (length.name, length.direction) == ("length", "shorter")
    assert length.ranking == ranking(-LENGTHS, LABELS)
    assert (overlap.name, overlap.direction) == ("overlap", "higher")
    assert overlap.ranking == ranking(OVERLAPS, LABELS)


def test_length_takes_the_better_direction_and_overlap_its_own():
    length, overlap = trivial_baselines(~LABELS, lengths=LENGTHS, overlaps=OVERLAPS)
    assert length.direction == "longer"
    assert length.ranking.auroc == auroc(LENGTHS, ~LABELS) > 0.5
    assert overlap.ranking.auroc == auroc(OVERLAPS, ~LABELS) < 0.5
    (even,) = trivial_baselines([True, False], lengths=[4, 4])
    assert (even.direction, even.ranking.auroc) == ("longer", 0.5)


def test_only_what_was_given_is_ranked():
    assert trivial_baselines(LABELS) == ()
    assert [found.name for found in trivial_baselines(LABELS, overlaps=OVERLAPS)] == ["overlap"]


def test_rows_that_are_unknown_are_left_out():
    holes = np.append(OVERLAPS, [np.nan, np.nan])
    labels = np.append(LABELS, [True, False])
    (found,) = trivial_baselines(labels, overlaps=holes, clusters=np.arange(8))
    assert found.ranking == ranking(OVERLAPS, LABELS)
    assert trivial_baselines(labels, overlaps=np.full(8, np.nan)) == ()


def test_without_both_classes_there_is_no_baseline():
    assert trivial_baselines([True] * 6, lengths=LENGTHS, overlaps=OVERLAPS) == ()
    assert trivial_baselines(np.zeros(0, bool), lengths=np.zeros(0)) == ()


def test_clusters_reach_the_interval():
    twice = {"lengths": np.repeat(LENGTHS, 2), "clusters": np.repeat(np.arange(6), 2)}
    (found,) = trivial_baselines(np.repeat(LABELS, 2), **twice)
    assert found.ranking.interval == ranking(-LENGTHS, LABELS).interval


def test_length_alone_solves_halueval(data_folder):
    lines = (data_folder / "halueval_qa.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    answers = [(row["right_answer"], row["hallucinated_answer"]) for row in rows]
    lengths = [len(answer) for pair in answers for answer in pair]
    (found,) = trivial_baselines(
        np.tile([True, False], len(rows)), lengths=lengths, clusters=np.repeat(np.arange(len(rows)), 2)
    )
    assert found.direction == "shorter"
    assert found.ranking.auroc == pytest.approx(0.97, abs=0.01)
    assert found.ranking.interval.high - found.ranking.interval.low < 0.01
