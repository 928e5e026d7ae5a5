import pytest

from sgi_lab.metric_bench.bench_page import bench_markdown, bench_tables, in_words
from sgi_lab.metric_bench.detection import Alarm
from sgi_lab.metric_bench.matrix import Bench, Cell, Change
from sgi_lab.metric_bench.measures import Verdict
from sgi_lab.metric_bench.perturbation import Kind

HOSTILE = "a|b\n<script>"


def change(name, kind):
    return Change(name=name, kind=kind, says="It does.", applied=40)


def cell(metric, name, kind, verdict, **facts):
    return Cell(
        metric=metric, perturbation=name, kind=kind, pairs=40, not_applicable=0, verdict=verdict, **facts
    )


NUMBERS = {
    "share": 0.9,
    "low": 0.8,
    "high": 0.95,
    "unchanged": 0.0,
    "median_change": -0.5,
    "mean_change": 0.2,
    "worst_change": 0.4,
}


@pytest.fixture
def result():
    return Bench(
        data=HOSTILE,
        rows=40,
        seed=0,
        metrics=("sgi", "asks"),
        changes=(
            change("number_swap", Kind.ERROR),
            change("framed", Kind.HARMLESS),
            change("reply_cut", Kind.JUDGE_FAULT),
        ),
        cells=(
            cell("sgi", "number_swap", Kind.ERROR, Verdict.SEES, lost=3, reasons={HOSTILE: 3}, **NUMBERS),
            cell("asks", "number_swap", Kind.ERROR, Verdict.BLIND, **NUMBERS),
            cell("sgi", "framed", Kind.HARMLESS, Verdict.NONE),
            cell("asks", "framed", Kind.HARMLESS, Verdict.TOO_FEW, share=1.0),
            cell("asks", "reply_cut", Kind.JUDGE_FAULT, Verdict.FOOLED, **NUMBERS),
        ),
        notes=("A note.",),
        signature="sgi:1",
    )


def test_the_tables_have_a_part_for_each_kind(result):
    errors, harmless, faults = bench_tables(result)
    assert errors.columns == ("change", "rows", "sgi", "asks")
    assert errors.rows == (
        ("number_swap", "40", "sees 0.90 [0.80, 0.95], 3 lost", "blind 0.90 [0.80, 0.95]"),
    )
    assert harmless.rows == (("framed", "40", "–", "too few 1.00"),)
    assert faults.columns == ("change", "rows", "asks")
    assert bench_tables(result, intervals=False)[0].rows[0][2:] == ("sees 0.90, 3 lost", "blind 0.90")


def test_errors_seen_at_one_rate_of_false_alarms_are_a_table_of_their_own(result):
    seen = result.cells[0].model_copy(update={"seen": 0.75, "seen_low": 0.6, "seen_high": 0.85})
    alarm = Alarm(
        metric="sgi", fall=0.125, alarms=0.03, alarms_low=0.01, alarms_high=0.0649, paraphrases=1200, inert=7
    )
    with_alarms = result.model_copy(update={"cells": (seen, *result.cells[1:]), "alarms": (alarm,)})
    assert [one.columns for one in bench_tables(with_alarms)][1] == ("change", "rows", "sgi")
    assert bench_tables(with_alarms)[1].rows == (
        ("(threshold for the fall)", "", "0.125"),
        ("(false-alarm rate, other questions)", "", "0.030 [0.01, 0.06] of 1,200"),
        ("number_swap", "40", "0.750 [0.60, 0.85], 3 lost"),
    )
    assert bench_tables(with_alarms, intervals=False)[1].rows[2][2] == "0.750, 3 lost"
    assert "## Errors detected at a threshold that 2 in 100" in bench_markdown(with_alarms)


def test_the_words_count_what_has_a_verdict(result):
    assert in_words(result) == [
        "sgi: sees 1 of 1 errors (number_swap).",
        "asks: sees 0 of 1 errors; is blind to number_swap; fails closed under 0 of 1 judge faults.",
    ]


def test_the_page_shows_hostile_texts_as_texts(result):
    page = bench_markdown(result)
    assert page.startswith("# Which metric detects which error\n\n40 grounded rows of a\\|b \\<script\\>")
    assert "<script>" not in page
    assert "> A note." in page
    assert "number\\_swap 3 |" in page or "number_swap 3 |" in page
    assert "## How to read it" in page
