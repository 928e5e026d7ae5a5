from __future__ import annotations

from dataclasses import replace

import pytest

from sgi.analysis.agreement.report import Estimate
from sgi.analysis.card.card import Calibration, Matched, Shuffled, Subgroup
from sgi.analysis.card.verdicts import notes, number, warnings, width_words
from sgi.stats.calibration import brier, reliability
from sgi.stats.confounds import Permuted
from support.cards import NOT_SHUFFLED, baseline, card, interval, ranked


def said(**changes):
    return " ".join(notes(card(**changes)))


def warned(**changes):
    return " ".join(warnings(card(**changes)))


@pytest.mark.parametrize(
    ("auroc", "low", "high", "word"),
    [
        (0.58, 0.49, 0.69, "Near chance on these rows: AUROC 0.58, and its interval [0.49, 0.69] holds 0.5."),
        (0.58, 0.49, 0.69, "More rows would narrow it"),
        (0.55, 0.52, 0.58, "It barely ranks these rows: AUROC 0.55, and even the upper end"),
        (0.20, 0.15, 0.25, "the wrong way round"),
        (0.582, 0.486, 0.685, "Near chance on these rows: AUROC 0.58"),
        (
            0.9,
            0.5,
            1.0,
            "Not shown to rank on these rows: AUROC 0.90, and its interval [0.50, 1.00] holds 0.5.",
        ),
        (0.6, 0.45, 0.7, "Not shown to rank on these rows"),
        (0.4, 0.25, 0.55, "Not shown to rank on these rows"),
        (0.9, None, None, "no interval (there are too few rows)"),
    ],
)
def test_what_is_not_shown_to_rank_is_called_that(auroc, low, high, word):
    assert word in said(ranking=ranked(auroc, low, high))


@pytest.mark.parametrize(("low", "high"), [(0.75, 0.85), (0.51, 0.6), (0.501, 0.9)])
def test_what_ranks_is_not_called_chance(low, high):
    assert "chance" not in said(ranking=ranked((low + high) / 2, low, high))


def test_a_narrow_interval_is_not_told_to_grow():
    assert "More rows" not in said(ranking=ranked(0.5, 0.48, 0.52))


def test_a_trivial_score_ranks_better_only_where_the_intervals_are_apart():
    length = baseline("length", 0.97, 0.96, 0.98, "shorter")
    assert "Length alone ranks better (0.97 over 0.80; shorter = grounded)." in said(baselines=(length,))
    touching = baseline("cos(r,q)", 0.9, 0.84, 0.95, "lower")
    told = said(baselines=(touching,))
    assert "ranks better (" not in told
    assert "It is not shown to rank better than these alone: cos(r,q) (0.90)." in told
    beaten = baseline("overlap", 0.6, 0.55, 0.65)
    assert "It ranks better than each of the trivial scores." in said(baselines=(beaten,))
    assert "each of the trivial" not in said(baselines=(beaten, touching))
    assert "each of the trivial" not in said()


def test_a_trivial_score_of_the_wrong_direction_is_named():
    told = said(baselines=(baseline("cos(r,c)", 0.24, 0.2, 0.28),))
    assert "cos(r,c) ranks the wrong way round here (0.24)." in told
    assert "It ranks better than each of the trivial scores." in told


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (
            ranked(0.6, 0.55, 0.65),
            "it ranks less well: AUROC 0.600 [0.550, 0.650], where all rows give 0.800.",
        ),
        (
            ranked(0.77, 0.74, 0.8),
            "its AUROC is 0.770 [0.740, 0.800], not shown to differ from the 0.800 of all",
        ),
        (ranked(0.95, 0.9, 1.0), "it ranks better: AUROC 0.950"),
        (ranked(0.52, 0.45, 0.6), "it is not shown to rank at all: AUROC 0.520"),
        (ranked(0.9), "it is not shown to rank at all: AUROC 0.900."),
    ],
)
def test_what_is_left_on_matched_rows(found, word):
    assert f"On 50 pairs of equal length {word}" in said(
        length_matched=Matched(0.0, 50, found, (), {}, NOT_SHUFFLED)
    )
    wide = Matched(0.05, 50, found, (), {}, NOT_SHUFFLED)
    assert f"On 50 pairs of overlap with the contexts within bins of 0.05 {word}" in said(
        overlap_matched=wide
    )


@pytest.mark.parametrize(
    ("auroc", "low", "high", "differ"),
    [
        (0.94, 0.9, 0.97, True),
        (0.06, 0.03, 0.1, True),
        (0.56, 0.44, 0.68, True),  # too far off, whether or not it is shown to rank
        (0.53, 0.51, 0.55, True),
        (0.5, None, None, False),
        (0.53, 0.46, 0.6, False),
    ],
)
def test_pairs_that_still_differ_allow_no_verdict(auroc, low, high, differ):
    alone = replace(baseline("length", auroc, 0, 1), ranking=ranked(auroc, low, high))
    told = said(length_matched=Matched(50.0, 70, ranked(0.77, 0.74, 0.8), (alone,), {}, NOT_SHUFFLED))
    assert ("its AUROC is 0.770 [0.740, 0.800], but part of that may be length still." in told) == differ
    assert (f"The pairs still differ: length alone ranks them at {auroc:.3f}" in told) == differ
    assert ("not shown to differ" in told) == (not differ)
    within = said(length_within=ranked(auroc, low, high))
    assert ("Tenths of length do not hold it still: within them length alone" in within) == differ


def test_trivial_scores_that_are_better_on_matched_rows_too():
    others = (baseline("verbatim", 0.98, 0.97, 0.99), baseline("length", 0.5, 0.5, 0.5))
    told = said(length_matched=Matched(0.0, 1282, ranked(0.77, 0.75, 0.79), others, {}, NOT_SHUFFLED))
    assert "On 1,282 pairs of equal length" in told
    assert "Better than it on those pairs: verbatim (0.98)." in told


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (ranked(0.5, 0.45, 0.55), "ranks less well: AUROC 0.50 with them, 0.80 with its own. It uses them."),
        (
            ranked(0.78, 0.73, 0.83),
            "is not shown to rank otherwise: AUROC 0.78 with them, 0.80 with its own. It is not shown to use",
        ),
        (
            ranked(0.9, 0.88, 0.92),
            "ranks better: AUROC 0.90 with them, 0.80 with its own. There its contexts cost it.",
        ),
    ],
)
def test_contexts_shuffled(found, word):
    assert f"Contexts shuffled, it {word}" in said(shuffled=Shuffled(found))
    assert "shuffled" not in said()
    on_pairs = Matched(0.0, 50, ranked(0.8, 0.75, 0.85), (), {}, Shuffled(found))
    assert f"Contexts shuffled, on those pairs it {word}" in said(length_matched=on_pairs)


def test_the_price_of_finding_the_ungrounded_in_words():
    told = "To flag 95 % of the ungrounded answers, 40 % of the grounded ones are flagged too [30, 50]."
    assert told in said()
    assert "flagged too." in said(false_positive_rate=Estimate(0.0, None, 100))


def test_probabilities_that_gain_nothing():
    forecast = [0.5, 0.5, 0.6, 0.6], [0, 1, 0, 1]
    made = Calibration("platt", 0.1, 0.1, brier(*forecast), None, reliability(*forecast))

    def told(low, high):
        return said(calibration=(replace(made, gain=Estimate(0.01, interval(low, high), 4)), made))

    assert "The probabilities (platt) are not shown to be better than the constant base rate." in told(
        -0.01, 0.03
    )
    assert "base rate" not in told(0.005, 0.015)
    assert "not shown to be better" in said(calibration=(replace(made, gain=Estimate(0.01, None, 4)),))


def test_too_good_to_be_true():
    assert warned() == ""
    assert warned(ranking=ranked(0.99, 0.98, 1.0)) == ""
    told = warned(ranking=ranked(0.9951, 0.99, 1.0))
    assert "AUROC 0.995 is above 0.99: look for a leak" in told
    assert "against itself" in told
    assert "wrong way round, and too well" in warned(ranking=ranked(0.004, 0.0, 0.01))


def test_shuffled_labels_that_do_not_give_chance():
    assert "not 0.5" in warned(permuted=Permuted(0.6, interval(0.55, 0.65), 200, 0.5))
    assert warned(permuted=Permuted(0.5, interval(0.45, 0.55), 200, 0.005)) == ""


def test_numbers_and_widths():
    assert number(0.5, interval(0.4, 0.6)) == "0.500 [0.400, 0.600]"
    assert width_words(0.05, "overlap") == "overlap within bins of 0.05"


def test_many_subgroups_are_said_not_to_be_corrected_for_their_number():
    shown = Subgroup("model", "gpt", 50, 0.4, ranked(0.8, 0.7, 0.9))
    assert "The intervals of the 3 subgroups are at 95 % each, not corrected" in said(subgroups=(shown,) * 3)
    for few in (
        (),
        (shown,),
        (shown, replace(shown, ranking=None)),
        (shown, replace(shown, ranking=ranked(1))),
    ):
        assert "not corrected" not in said(subgroups=few)


def test_an_interval_of_false_positives_from_few_ungrounded_rows_is_not_believed():
    assert "That interval is too narrow: with 49 ungrounded answers" in said(ungrounded=49)
    assert "too narrow" not in said(ungrounded=50)
    assert "too narrow" not in said(ungrounded=9, false_positive_rate=Estimate(0.0, None, 100))
