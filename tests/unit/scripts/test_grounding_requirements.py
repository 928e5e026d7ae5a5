from __future__ import annotations

import re
from itertools import count

import pytest

from sgi_lab.metric_bench.matrix import Alarm, Bench, Cell, Change
from sgi_lab.metric_bench.measures import Verdict
from sgi_lab.metric_bench.perturbation import Kind
from support.evidence_maps import evidence_map
from support.kept_runs import rows, write_rows
from support.scripts import load_script

NOTHING = float("nan")


@pytest.fixture(scope="module")
def script():
    with load_script("grounding_requirements") as module:
        yield module


@pytest.fixture
def pair(script):
    """Make a pair with its own question from scores and marked facts before and after."""
    questions = count()

    def make(before, after, marked=((), ())):
        facts = [None if one is None else frozenset(one) for one in marked]
        return script.Pair(script.Result(before, facts[0]), script.Result(after, facts[1]), next(questions))

    return make


def make_bench(cells=(), alarms=(), changes=()):
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


def cell(name, kind, **fields):
    defaults = {"pairs": 40, "not_applicable": 0, "verdict": Verdict.SEES}
    return Cell(metric="grounding", perturbation=name, kind=kind, **defaults | fields)


def test_unsupported_facts_exclude_supported_ones(script):
    details = evidence_map().model_dump(mode="json")
    assert script.unsupported_facts(details) == {"312 m", "Spanish"}
    assert script.unsupported_facts({}) is None


def test_a_row_that_loses_its_evidence_counts_as_marked_on_request(script, pair):
    some = [
        pair(0.9, 0.1, ((), ("7",))),
        pair(0.9, 0.8, (("7",), ("7",))),
        pair(0.9, NOTHING, ((), None)),
        pair(NOTHING, NOTHING, (None, None)),
    ]
    assert script.newly_marked(some, lost=False) == "0.250 of 4"
    assert script.newly_marked(some, lost=True) == "0.500 of 4"
    assert script.newly_marked([], lost=True) == "–"


def test_a_lost_score_is_not_a_small_change(script, pair):
    some = [pair(0.5, 0.51), pair(0.5, 0.6), pair(0.5, NOTHING), pair(NOTHING, 0.5)]
    assert script.small_changes(some) == "0.333 of 3; mean 0.055, 98th percentile 0.100, 1 lost"
    assert script.small_changes([pair(0.5, 0.5)]) == "1.000 of 1; mean 0.000, 98th percentile 0.000"
    assert (
        script.small_changes([])
        == script.small_changes([pair(NOTHING, 0.5)])
        == script.small_changes([pair(0.5, NOTHING)])
        == "–"
    )


def test_a_share_has_an_interval_over_questions(script, pair):
    some = [pair(0.9, 0.1, ((), ("7",) if n else ())) for n in range(40)]
    share, low, high = re.fullmatch(
        r"(.*) \[(.*), (.*)\] of 40", script.newly_marked(some, lost=True)
    ).groups()
    assert 0.8 < float(low) < float(share) == 0.975 < float(high) <= 1
    together = [one._replace(cluster=n // 20) for n, one in enumerate(some)]
    assert script.newly_marked(together, lost=True) == "0.975 of 40"


def test_without_measurements_every_requirement_is_shown_as_missing(script):
    rows = script.requirements(make_bench(), {})
    assert len(rows) == 6
    assert {measured for _, _, measured in rows} == {"–"}


def test_requirements_have_the_measured_values(script, pair):
    alarm = Alarm(
        metric="grounding", fall=0.125, alarms=0.03, alarms_low=0.01, alarms_high=0.06, paraphrases=1200
    )
    swap = cell("number_swap", Kind.ERROR, lost=2, seen=0.9, seen_low=0.8, seen_high=0.95)
    pairs = {"number_swap": [pair(0.9, 0.1, ((), ("7",)))], "irrelevant_before": [pair(0.9, 0.9)]}
    pairs |= {"framed": [pair(0.9, 0.9)], "bullets": [pair(0.9, NOTHING, ((), None))]}
    assert [measured for _, _, measured in script.requirements(make_bench([swap], [alarm]), pairs)] == [
        "1.000 of 1",
        "0.500 of 2",
        "0.900 [0.80, 0.95], 2 lost, threshold 0.125",
        "0.030 [0.01, 0.06] of 1,200",
        "–",
        "1.000 of 1; mean 0.000, 98th percentile 0.000",
    ]


def test_the_tables_show_lost_rows_and_changes_that_do_not_apply(script):
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
    results = {"Set": make_bench(cells, changes=changes)}
    assert script.errors_table(results).splitlines()[2:] == [
        "| Set, number_swap | 40 | 0.500, 3 lost |",
        "| Set, date_shift | 40 | – |",
    ]
    assert script.stability_table(results).splitlines()[2:] == [
        "| Set, framed | 40 | 4 | 0.250 | 0.500 | 1.000 |",
        "| Set, bullets | 40 | – | – | – | – |",
    ]


def test_each_row_is_paired_with_its_changed_rows(script, tmp_path):
    samples = rows(12, answer="Item {k} has {k} old {topic}. It is so, and 40 of them.")
    pairs = script.pairs_by_change(write_rows(tmp_path / "set.jsonl", samples))
    grounded = sum(bool(one["label"]) for one in samples)
    assert {"number_swap", "irrelevant_behind", "irrelevant_before", "framed"} <= set(pairs)
    assert "negation" not in pairs
    assert len(pairs["framed"]) == grounded
    assert all(0 < pair.before.score < 1 for pair in pairs["framed"])
    assert [pair.before for pair in pairs["framed"]] == [pair.before for pair in pairs["white_space"]]
