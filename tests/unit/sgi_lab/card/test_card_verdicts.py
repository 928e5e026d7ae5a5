from dataclasses import replace

import pytest

from sgi.analysis.agreement.report import Estimate
from sgi.stats.calibration import brier, reliability
from sgi.stats.confounds import PermutationControl
from sgi_lab.card.card import Calibration, MatchedControl, ShuffledControl, Subgroup
from sgi_lab.card.card_verdicts import notes, warnings
from support.cards import NOT_SHUFFLED, baseline, card, interval, ranking_of


def said(**changes):
    return " ".join(notes(card(**changes)))


def warned(**changes):
    return " ".join(warnings(card(**changes)))


@pytest.mark.parametrize(
    ("auroc", "low", "high", "word"),
    [
        (0.58, 0.49, 0.69, "Near chance on these rows: AUROC 0.58 [0.49, 0.69]; the interval includes 0.5."),
        (
            0.55,
            0.52,
            0.58,
            "The ranking is weak on these rows: AUROC 0.55 [0.52, 0.58]; even the upper end is below 0.6.",
        ),
        (0.20, 0.15, 0.25, "The ranking is reversed on these rows: AUROC 0.20 [0.15, 0.25] is below 0.5."),
        (
            0.9,
            0.5,
            1.0,
            "Not shown to differ from chance on these rows: AUROC 0.90 [0.50, 1.00]; the interval",
        ),
        (0.9, None, None, "no interval (there are too few rows)"),
    ],
)
def test_a_ranking_that_is_not_shown_is_reported(auroc, low, high, word):
    assert word in said(ranking=ranking_of(auroc, low, high))


@pytest.mark.parametrize(("low", "high"), [(0.75, 0.85), (0.51, 0.6), (0.501, 0.9)])
def test_what_ranks_is_not_called_chance(low, high):
    assert "chance" not in said(ranking=ranking_of((low + high) / 2, low, high))


def test_a_narrow_interval_gets_no_advice_for_more_rows():
    assert "More rows" not in said(ranking=ranking_of(0.5, 0.48, 0.52))


def test_a_trivial_score_ranks_better_only_where_the_intervals_are_apart():
    length = baseline("length", 0.97, 0.96, 0.98, "shorter")
    assert "Length alone ranks better (AUROC 0.97 against 0.80; shorter = grounded)." in said(
        baselines=(length,)
    )
    touching = baseline("cos(r,q)", 0.9, 0.84, 0.95, "lower")
    text = said(baselines=(touching,))
    assert "alone ranks better (" not in text
    assert "Not shown to rank better than these baselines: cos(r,q) (0.90)." in text
    beaten = baseline("content-word precision", 0.6, 0.55, 0.65)
    assert "The score ranks better than every baseline." in said(baselines=(beaten,))
    assert "every baseline" not in said(baselines=(beaten, touching))
    assert "every baseline" not in said()


def test_a_trivial_score_of_the_wrong_direction_is_named():
    text = said(baselines=(baseline("cos(r,c)", 0.24, 0.2, 0.28),))
    assert "The ranking of cos(r,c) is reversed here (AUROC 0.24)." in text
    assert "The score ranks better than every baseline." in text


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (
            ranking_of(0.6, 0.55, 0.65),
            "the score separates the classes less well: AUROC 0.600 [0.550, 0.650], compared with 0.800 on",
        ),
        (
            ranking_of(0.77, 0.74, 0.8),
            "the AUROC is 0.770 [0.740, 0.800], not shown to differ from 0.800 on all rows.",
        ),
        (ranking_of(0.95, 0.9, 1.0), "the score separates the classes better: AUROC 0.950"),
        (ranking_of(0.52, 0.45, 0.6), "the score is not shown to differ from chance: AUROC 0.520"),
        (ranking_of(0.9), "the score is not shown to differ from chance: AUROC 0.900."),
    ],
)
def test_the_verdict_on_matched_rows(found, word):
    assert f"On 50 pairs of equal length, {word}" in said(
        length_matched=MatchedControl(0.0, 50, found, (), {}, NOT_SHUFFLED)
    )
    wide = MatchedControl(0.05, 50, found, (), {}, NOT_SHUFFLED)
    assert f"On 50 pairs of content-word precision within bins of 0.05, {word}" in said(
        precision_matched=wide
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
    alone = replace(baseline("length", auroc, 0, 1), ranking=ranking_of(auroc, low, high))
    text = said(
        length_matched=MatchedControl(50.0, 70, ranking_of(0.77, 0.74, 0.8), (alone,), {}, NOT_SHUFFLED)
    )
    assert ("the AUROC is 0.770 [0.740, 0.800], but length may explain part of it." in text) == differ
    assert (f"The pairs are not balanced: length alone has AUROC {auroc:.3f}" in text) == differ
    assert ("not shown to differ" in text) == (not differ)
    within = said(length_within=ranking_of(auroc, low, high))
    assert ("Deciles of length do not remove its effect: length alone has AUROC" in within) == differ


def test_trivial_scores_that_are_better_on_matched_rows_too():
    others = (baseline("verbatim", 0.98, 0.97, 0.99), baseline("length", 0.5, 0.5, 0.5))
    text = said(
        length_matched=MatchedControl(0.0, 1282, ranking_of(0.77, 0.75, 0.79), others, {}, NOT_SHUFFLED)
    )
    assert "On 1,282 pairs of equal length" in text
    assert "These baselines rank better on those pairs: verbatim (0.98)." in text


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (
            ranking_of(0.5, 0.45, 0.55),
            "separates the classes less well: AUROC 0.50, compared with 0.80 with the right contexts. It",
        ),
        (
            ranking_of(0.78, 0.73, 0.83),
            "is not shown to rank differently: AUROC 0.78, compared with 0.80 with the right contexts.",
        ),
        (
            ranking_of(0.9, 0.88, 0.92),
            "separates the classes better: AUROC 0.90, compared with 0.80 with the right contexts. The right",
        ),
    ],
)
def test_contexts_shuffled(found, word):
    assert f"With shuffled contexts, the score {word}" in said(shuffled=ShuffledControl(found))
    assert "shuffled" not in said()
    on_pairs = MatchedControl(0.0, 50, ranking_of(0.8, 0.75, 0.85), (), {}, ShuffledControl(found))
    assert f"With shuffled contexts on those pairs, the score {word}" in said(length_matched=on_pairs)


def test_the_false_positive_rate_at_95_percent_recall():
    text = "flags 95 % of the ungrounded answers also flags 40 % [30, 50] of the grounded ones."
    assert text in said()
    assert "flags 0 % of the grounded ones." in said(false_positive_rate=Estimate(0.0, None, 100))


def test_probabilities_that_gain_nothing():
    forecast = [0.5, 0.5, 0.6, 0.6], [0, 1, 0, 1]
    made = Calibration("platt", 0.1, 0.1, brier(*forecast), None, reliability(*forecast))

    def text(low, high):
        return said(calibration=(replace(made, gain=Estimate(0.01, interval(low, high), 4)), made))

    assert "The probabilities (platt) are not shown to be better than the constant base rate." in text(
        -0.01, 0.03
    )
    assert "base rate" not in text(0.005, 0.015)
    assert "not shown to be better" in said(calibration=(replace(made, gain=Estimate(0.01, None, 4)),))


def test_too_good_to_be_true():
    assert warned() == ""
    assert warned(ranking=ranking_of(0.99, 0.98, 1.0)) == ""
    text = warned(ranking=ranking_of(0.9951, 0.99, 1.0))
    assert "AUROC 0.995 is above 0.99, which suggests leakage" in text
    assert "against itself" in text
    assert "is reversed and close to 0" in warned(ranking=ranking_of(0.004, 0.0, 0.01))


def test_shuffled_labels_that_do_not_give_chance():
    assert "not 0.5" in warned(permuted=PermutationControl(0.6, interval(0.55, 0.65), 200, 0.5))
    assert warned(permuted=PermutationControl(0.5, interval(0.45, 0.55), 200, 0.005)) == ""


def test_many_subgroups_are_said_not_to_be_corrected_for_their_number():
    shown = Subgroup("model", "gpt", 50, 0.4, ranking_of(0.8, 0.7, 0.9))
    assert "The intervals of the 3 subgroups are at 95 % each, not corrected" in said(subgroups=(shown,) * 3)
    for few in (
        (),
        (shown,),
        (shown, replace(shown, ranking=None)),
        (shown, replace(shown, ranking=ranking_of(1))),
    ):
        assert "not corrected" not in said(subgroups=few)


def test_an_interval_of_false_positives_from_few_ungrounded_rows_is_not_believed():
    assert "This interval is too narrow: with 49 ungrounded answers" in said(ungrounded=49)
    assert "too narrow" not in said(ungrounded=50)
    assert "too narrow" not in said(ungrounded=9, false_positive_rate=Estimate(0.0, None, 100))
