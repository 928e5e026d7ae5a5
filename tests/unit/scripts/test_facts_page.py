from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from support.scripts import load_script


@pytest.fixture(scope="module")
def script():
    with load_script("facts_page") as module:
        yield module


@pytest.fixture(scope="module")
def pairs(script):
    return script.read_pairs()


def test_the_pairs_are_many_and_mark_their_facts(script, pairs):
    assert len(pairs) >= 400
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert all(pair.sentence.startswith(pair.fact, pair.start) for pair in pairs)
    assert {pair.expected for pair in pairs} == {*script.Verdict, script.NONE}
    right = sum(not pair.is_error for pair in pairs)
    assert 0.4 < right / len(pairs) < 0.7


def test_every_phenomenon_is_in_both_parts_with_different_passages(script, pairs):
    parts = Counter((pair.phenomenon, pair.part) for pair in pairs)
    assert {part for _, part in parts} == {script.CHOICE, script.HELD}
    assert all((name, part) in parts for name, _ in parts for part in (script.CHOICE, script.HELD))
    passages = {part: {pair.passage for pair in pairs if pair.part == part} for _, part in parts}
    assert not passages[script.CHOICE] & passages[script.HELD]


def test_the_measures_count_verdicts(script, pairs):
    verdicts = [
        ("contradicted", "contradicted"),
        ("supported", "contradicted"),
        ("contradicted", "absent"),
        ("none", "absent"),
        ("absent", "supported"),
        ("supported", "none"),
    ]
    rows = [replace(pairs[0], expected=expected, verdict=verdict) for expected, verdict in verdicts]
    counts = [measure(rows) for measure in script.MEASURES.values()]
    assert counts == [(1, 2), (1, 2), (2, 3), (2, 3)]


def test_the_page_has_a_line_per_phenomenon_and_part(script, pairs):
    lines = script.by_phenomenon(pairs).splitlines()
    assert len(lines) == 2 + 2 * len({pair.phenomenon for pair in pairs})
    assert len(script.summary(pairs).splitlines()) == 2 + len(script.MEASURES)


def test_failures_of_the_held_part_are_not_listed(script, pairs):
    wrong = [replace(pair, verdict="supported" if pair.is_error else "absent") for pair in pairs]
    assert {pair.part for pair in script.failures(wrong)} == {script.CHOICE}


def test_the_verdicts_on_the_part_that_chose_the_rules_are_right(script, pairs):
    chosen = [pair for pair in pairs if pair.part == script.CHOICE]
    shares = [hits / n for hits, n in (measure(chosen) for measure in script.MEASURES.values())]
    contradicted, absent, recall, alarms = shares
    assert contradicted >= 0.97
    assert absent >= 0.9
    assert recall >= 0.95
    assert alarms <= 0.02
