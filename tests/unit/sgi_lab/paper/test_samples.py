"""Samples of answers for experiments."""

from collections import Counter

import numpy as np
import pytest

from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample
from sgi_lab.paper.paper_answers import Answers
from sgi_lab.paper.workbench import SHORTEST, select


def answers(items=200, seed=0):
    """Items of two answers, the right one short as a rule, as in HaluEval."""
    draw = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        for label, usual in ((True, 12), (False, 60)):
            text = "x" * max(1, int(draw.normal(usual, 12)))
            rows.append(
                Sample(id=f"{item}-{label}", question=f"q{item}", contexts=("c",), response=text, label=label)
            )
    return Answers.of("made up", rows)


def test_the_paper_takes_one_answer_an_item_and_no_short_one():
    given = answers()
    chosen = select(given, "paper", seed=1)
    assert max(Counter(given.clusters[chosen.rows].tolist()).values()) == 1
    assert given.lengths[chosen.rows].min() >= SHORTEST
    assert len(chosen.rows) + sum(chosen.filtered.values()) == len(given.labels)
    assert given.labels[chosen.rows].mean() < 0.4


def test_either_answer_of_an_item_can_be_drawn():
    rows = [Sample(id=str(n), question="q", response="x" * 30, label=bool(n)) for n in range(2)]
    given = Answers.of("two", rows)
    drawn = [select(given, "paper", seed=seed) for seed in range(20)]
    assert {bool(given.labels[chosen.rows[0]]) for chosen in drawn} == {True, False}
    assert {chosen.filtered["other answers of the same items"] for chosen in drawn} == {1}


def test_the_same_seed_selects_the_same_rows_and_another_others():
    given = answers()
    for name in ("paper", "matched"):
        rows = [select(given, name, seed=seed).rows.tolist() for seed in (3, 3, 4)]
        assert rows[0] == rows[1] != rows[2]


def test_matched_answers_have_the_same_lengths_in_both_classes():
    given = answers()
    chosen = select(given, "matched")
    lengths, labels = given.lengths[chosen.rows], given.labels[chosen.rows]
    assert Counter(lengths[labels].tolist()) == Counter(lengths[~labels].tolist())
    assert 0 < len(chosen.rows) < len(given.labels)


def test_the_full_sample_is_every_answer():
    given = answers()
    chosen = select(given, "full")
    assert chosen.rows.tolist() == list(range(len(given.labels)))
    assert chosen.omissions == "nothing"


def test_at_most_five_thousand_answers_are_the_papers(monkeypatch):
    monkeypatch.setattr("sgi_lab.paper.workbench.MOST", 10)
    chosen = select(answers(), "paper")
    assert len(chosen.rows) == 10
    assert any("after the first 10" in reason and rows > 0 for reason, rows in chosen.filtered.items())


def test_rows_without_label_are_left_out_and_one_class_is_refused():
    rows = [
        Sample(id="1", question="q", response="a", label=True),
        Sample(id="2", question="q", response="b"),
    ]
    with pytest.raises(DataError, match="of both classes"):
        Answers.of("file.jsonl", rows)


def test_answers_to_one_question_share_a_cluster():
    given = answers(items=5)
    assert given.clusters.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
