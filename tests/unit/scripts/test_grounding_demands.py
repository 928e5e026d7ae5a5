from __future__ import annotations

import re
from itertools import count

import pytest

from sgi.bench.matrix import Alarm, Bench, Cell, Change
from sgi.bench.measures import Verdict
from sgi.bench.perturbation import Kind
from support.evidence_maps import evidence_map
from support.kept_runs import rows, write_rows
from support.scripts import load_script

NOTHING = float("nan")


@pytest.fixture(scope="module")
def script():
    with load_script("grounding_demands") as module:
        yield module


@pytest.fixture
def pair(script):
    """A row of a question of its own whose score and failing facts were these, and are those."""
    questions = count()

    def make(before, after, marked=((), ())):
        told = [None if one is None else frozenset(one) for one in marked]
        return script.Pair(script.Found(before, told[0]), script.Found(after, told[1]), next(questions))

    return make


def made_bench(cells=(), alarms=(), changes=()):
    return Bench(
        data="set",
        rows=40,
        seed=0,
        metrics=("grounding",),
        changes=changes,
        cells=cells,
        alarms=alarms,
        signature="grounding:1",
    )


def cell(name, kind, **facts):
    told = {"pairs": 40, "not_applicable": 0, "verdict": Verdict.SEES} | facts
    return Cell(metric="grounding", perturbation=name, kind=kind, **told)


def test_only_facts_that_fail_are_failing(script):
    whole = evidence_map().model_dump(mode="json")
    assert script.failing(whole) == {"312 m", "Spanish"}
    assert script.failing({}) is None


def test_evidence_that_is_lost_counts_as_it_is_worse(script, pair):
    some = [
        pair(0.9, 0.1, ((), ("7",))),
        pair(0.9, 0.8, (("7",), ("7",))),
        pair(0.9, NOTHING, ((), None)),
        pair(NOTHING, NOTHING, (None, None)),
    ]
    assert script.newly_marked(some, lost=False) == "0.250 of 4"
    assert script.newly_marked(some, lost=True) == "0.500 of 4"
    assert script.newly_marked([], lost=True) == "–"


def test_a_value_that_is_lost_did_not_stay(script, pair):
    some = [pair(0.5, 0.51), pair(0.5, 0.6), pair(0.5, NOTHING), pair(NOTHING, 0.5)]
    assert script.near(some) == "0.333 of 3; mean 0.055, 98th percentile 0.100, 1 lost"
    assert script.near([pair(0.5, 0.5)]) == "1.000 of 1; mean 0.000, 98th percentile 0.000"
    assert script.near([]) == script.near([pair(NOTHING, 0.5)]) == script.near([pair(0.5, NOTHING)]) == "–"


def test_a_share_has_an_interval_over_questions(script, pair):
    some = [pair(0.9, 0.1, ((), ("7",) if n else ())) for n in range(40)]
    share, low, high = re.fullmatch(
        r"(.*) \[(.*), (.*)\] of 40", script.newly_marked(some, lost=True)
    ).groups()
    assert 0.8 < float(low) < float(share) == 0.975 < float(high) <= 1
    together = [one._replace(cluster=n // 20) for n, one in enumerate(some)]
    assert script.newly_marked(together, lost=True) == "0.975 of 40"


def test_what_is_missing_meets_no_demand(script):
    told = script.demanded(made_bench(), {})
    assert len(told) == 6
    assert {found for _, _, found in told} == {"–"}


def test_demands_have_what_was_found(script, pair):
    alarm = Alarm(
        metric="grounding", fall=0.125, alarms=0.03, alarms_low=0.01, alarms_high=0.06, paraphrases=1200
    )
    swap = cell("number_swap", Kind.ERROR, lost=2, seen=0.9, seen_low=0.8, seen_high=0.95)
    pairs = {"number_swap": [pair(0.9, 0.1, ((), ("7",)))], "irrelevant_before": [pair(0.9, 0.9)]}
    pairs |= {"framed": [pair(0.9, 0.9)], "bullets": [pair(0.9, NOTHING, ((), None))]}
    assert [found for _, _, found in script.demanded(made_bench([swap], [alarm]), pairs)] == [
        "1.000 of 1",
        "0.500 of 2",
        "0.900 [0.80, 0.95], 2 lost, threshold 0.125",
        "0.030 [0.01, 0.06] of 1,200",
        "–",
        "1.000 of 1; mean 0.000, 98th percentile 0.000",
    ]


def test_the_tables_show_what_was_lost_and_what_applies_to_no_row(script):
    kinds = {
        "number_swap": Kind.ERROR,
        "date_shift": Kind.ERROR,
        "framed": Kind.HARMLESS,
        "bullets": Kind.HARMLESS,
    }
    changes = tuple(Change(name=name, kind=kind, says="It does.", applied=40) for name, kind in kinds.items())
    cells = (
        cell("number_swap", Kind.ERROR, lost=3, seen=0.5),
        cell("date_shift", Kind.ERROR, pairs=0, not_applicable=40, verdict=Verdict.NONE),
        cell("framed", Kind.HARMLESS, lost=4, mean_change=0.25, most_change=0.5, worst_change=1.0),
    )
    made = {"Set": made_bench(cells, changes=changes)}
    assert script.errors_seen(made).splitlines()[2:] == [
        "| Set, number_swap | 40 | 0.500, 3 lost |",
        "| Set, date_shift | 40 | – |",
    ]
    assert script.steadiness(made).splitlines()[2:] == [
        "| Set, framed | 40 | 4 | 0.250 | 0.500 | 1.000 |",
        "| Set, bullets | 40 | – | – | – | – |",
    ]


def test_rows_are_paired_with_what_each_change_made_of_them(script, tmp_path):
    given = rows(12, answer="Item {k} has {k} old {topic}. It is so, and 40 of them.")
    found = script.entailment_pairs_of(write_rows(tmp_path / "set.jsonl", given))
    grounded = sum(bool(one["label"]) for one in given)
    assert {"number_swap", "irrelevant_behind", "irrelevant_before", "framed"} <= set(found)
    assert "negation" not in found
    assert len(found["framed"]) == grounded
    assert all(0 < pair.before.score < 1 for pair in found["framed"])
    assert [pair.before for pair in found["framed"]] == [pair.before for pair in found["white_space"]]
