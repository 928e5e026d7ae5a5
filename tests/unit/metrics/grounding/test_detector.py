"""The grounding detector, on rows made by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sgi.kernel.metric import Status
from sgi.metrics.grounding.grounding_model import (
    GroundingModel,
    MonotoneLogistic,
    SentenceLimits,
    grounding_model,
    sigmoid,
)
from sgi.metrics.grounding.signals import TRAINED, Signals
from support.grounded import evidence_maps_of, grounding_scores, row

TOWER = "The old tower in Paris is 330 m tall. It opened in May 1889."


BEES = "Bees sleep under wooden roofs."


GERMAN = "Der alte Turm in Paris ist sehr hoch, und er wurde vor vielen Jahren von einem Ingenieur gebaut."


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (row("", TOWER), "the response is blank"),
        (row("It is old."), "there are no passages"),
        (row("It is old.", "", " \n"), "all passages are blank"),
        (row("Yes.", TOWER), "the response claims nothing that passages could support"),
        (row("I don't know.", TOWER), "the response claims nothing that passages could support"),
        (
            row(GERMAN, TOWER),
            "the response is in German, the passages in English; grounding needs one language",
        ),
        (
            row("The old tower is tall.", GERMAN, " "),
            "the response is in English, the passages in German; grounding needs one language",
        ),
    ],
)
def test_where_there_is_no_value_there_is_a_reason(sample, reason):
    scores = grounding_scores([sample])
    assert (scores.status[0], scores.reasons[0]) == (Status.UNDEFINED, reason)
    assert np.isnan(scores.values[0])
    assert scores.details == ({},)


def test_one_passage_in_english_is_enough():
    assert grounding_scores([row("The old tower is tall.", GERMAN, TOWER)]).ok.all()


def test_blank_passages_among_others_keep_their_positions_and_change_nothing():
    response = "The old tower in Paris is 312 m tall. Bees sleep under wooden roofs."
    plain = grounding_scores([row(response, BEES, TOWER, "Nobody swims.")])
    among = grounding_scores([row(response, "", BEES, " \n", TOWER, "\t", "Nobody swims.", "")])
    (first,), (second,) = evidence_maps_of(plain), evidence_maps_of(among)
    assert among.values.tolist() == plain.values.tolist()
    assert second.passages == (1, 3, 5)
    assert [sentence.passage for sentence in second.sentences] == [3, 1]
    assert [sentence.passage for sentence in first.sentences] == [1, 0]
    assert second.sentences[0].checks[0].passage == 3
    assert (first.unused, second.unused) == ((2,), (5,))


def test_a_swapped_number_is_contradicted_and_both_are_shown():
    right, wrong = grounding_scores([row(TOWER, TOWER), row(TOWER.replace("330", "312"), BEES, TOWER)]).values
    (evidence,) = evidence_maps_of(grounding_scores([row(TOWER.replace("330", "312"), BEES, TOWER)]))
    check = evidence.sentences[0].checks[-1]
    assert wrong < right - 0.1
    assert (check.fact, check.verdict, check.found, check.passage) == ("312 m", "contradicted", "330 m", 1)
    assert TOWER[check.found_start : check.found_end] == "330 m"
    assert (check.start, check.end) in evidence.sentences[0].unbacked


def test_contributions_add_up_to_the_log_odds_of_response_and_sentences():
    response = f"{TOWER} {BEES} The passages do not say who built it."
    scores = grounding_scores([row(response, TOWER, question="How tall is it?")])
    (evidence,), intercept = evidence_maps_of(scores), grounding_model().intercept
    whole = sum(part.log_odds for part in evidence.signals.values()) + intercept
    assert sigmoid(np.array([whole])) == pytest.approx(scores.values, abs=1e-4)
    assert len(evidence.sentences) == 4
    for sentence in evidence.sentences[:3]:
        odds = np.array([sum(sentence.contributions.values()) + intercept])
        assert sigmoid(odds)[0] == pytest.approx(sentence.score, abs=2e-4)
    assert [*evidence.sentences[0].contributions] == [*evidence.signals]


def test_a_sentence_that_claims_nothing_has_no_score():
    silent = evidence_maps_of(
        grounding_scores([row(f"{TOWER} The passages do not say who built it.", TOWER)])
    )[0].sentences[-1]
    assert (silent.score, silent.contributions, silent.checks, silent.unbacked) == (None, {}, (), ())
    assert silent.about_passages


def test_the_worst_sentence_is_the_invented_one():
    (evidence,) = evidence_maps_of(grounding_scores([row(f"{TOWER} {BEES}", TOWER)]))
    scored = [sentence.score for sentence in evidence.sentences]
    assert scored.index(min(scored)) == 2
    assert scored[2] < 0.5 < min(scored[:2])
    assert evidence.sentences[2].unbacked == ((61, 90),)


def test_passages_that_nobody_used_are_named():
    (evidence,) = evidence_maps_of(grounding_scores([row(TOWER, BEES, TOWER, "Nobody swims.")]))
    assert evidence.unused == (0, 2)


def test_more_is_wrong_the_lower_it_is():
    texts = [TOWER, TOWER.replace("330", "312"), TOWER.replace("330", "312").replace("1889", "1920"), BEES]
    scored = grounding_scores([row(text, TOWER) for text in texts]).values
    assert all(more > less for more, less in pairwise(scored[:3]))
    assert scored[3] < 0.1


def test_a_contradiction_counts_as_a_share_of_the_sentences():
    wrong = "The old tower in Paris is 312 m tall."
    short, long = grounding_scores([row(wrong, TOWER), row(f"{wrong} {'It is old. ' * 3}", TOWER)]).details
    found = [details["signals"]["contradicted"]["value"] for details in (short, long)]
    assert found == [-1.0, -0.25]


def test_every_sentence_that_claims_something_has_a_verdict():
    scores = grounding_scores([row(f"Sure! {TOWER} {BEES} It is 400 m tall.", TOWER)])
    verdicts = [each.verdict for each in evidence_maps_of(scores)[0].sentences]
    assert verdicts == [None, "supported", "supported", "unsupported", "contradicted"]


def test_yes_is_scored_as_the_statement_of_the_question():
    asked = "Is Paris Tower {} m tall?"
    yes = [row("Yes", TOWER, question=asked.format(height)) for height in (330, 312)]
    right, wrong = grounding_scores(yes).values
    assert wrong < 0.1 < right
    sentence = evidence_maps_of(grounding_scores(yes))[1].sentences[0]
    assert (sentence.text, sentence.claim) == ("Yes", "Paris Tower is 312 m tall")
    assert (sentence.checks[-1].fact, sentence.checks[-1].verdict) == ("312 m", "contradicted")


SIGNALS = st.lists(st.floats(-2, 2), min_size=len(Signals._fields), max_size=len(Signals._fields))


EMPTY = st.lists(st.booleans(), min_size=len(Signals._fields), max_size=len(Signals._fields))


def chance(values):
    return float(sigmoid(grounding_model().logistic.log_odds(np.array([values], dtype=np.float64)))[0])


def test_the_committed_weights_are_of_the_signals_and_can_only_be_read_one_way():
    parts = grounding_model().weights
    assert tuple(part.signal for part in parts) == Signals._fields
    assert all(part.weight >= 0 for part in parts)
    assert all(np.isfinite([part.weight, part.centre, part.spread]).all() for part in parts)
    assert np.isfinite(grounding_model().intercept)


def test_the_committed_weights_use_every_signal_of_support():
    weights = {part.signal: part.weight for part in grounding_model().weights}
    assert min(weights[name] for name in TRAINED) > 0


def test_where_the_weights_were_learnt_is_written_down():
    model = grounding_model()
    assert model.recipe == "scripts/train_grounding.py"
    assert len(model.trained_on) >= 2
    assert min(model.trained_on.values()) > 100


@given(SIGNALS, EMPTY, st.sampled_from(Signals._fields), st.floats(0, 2))
def test_less_of_a_signal_is_never_better_supported(values, empty, signal, less):
    before = np.where(empty, np.nan, values)
    after = before.copy()
    after[Signals._fields.index(signal)] -= less
    assert chance(after) <= chance(before)


@given(SIGNALS, EMPTY)
def test_contributions_and_the_intercept_are_the_log_odds(values, empty):
    row = np.where(empty, np.nan, values)[None]
    logistic = grounding_model().logistic
    parts = logistic.contributions(row)
    assert parts.sum() + logistic.intercept == pytest.approx(logistic.log_odds(row)[0])
    assert (parts[0][np.array(empty)] == 0).all()


def test_what_was_fitted_is_written_down_and_read_back_to_the_bit():
    rng = np.random.default_rng(0)
    weights, centres, spreads = rng.random((3, len(Signals._fields)))
    limits = SentenceLimits(unsupported=0.1, partly=1 / 3)
    logistic = MonotoneLogistic(weights, centres, spreads, 1 / 3)
    model = GroundingModel.of(logistic, limits, {"a": 2}, "recipe.py")
    read = GroundingModel.model_validate_json(model.model_dump_json())
    assert read == model
    for name, values in (("weights", weights), ("centres", centres), ("spreads", spreads)):
        assert getattr(read.logistic, name).tolist() == values.tolist()
    assert (read.logistic.intercept, read.trained_on, read.recipe) == (1 / 3, {"a": 2}, "recipe.py")


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_lower_score_never_has_a_better_verdict(score, other):
    worst_first = ["unsupported", "partly", "supported"]
    low, high = (
        worst_first.index(grounding_model().sentence_limits.verdict(each, is_contradicted=False))
        for each in sorted((score, other))
    )
    assert low <= high
    assert grounding_model().sentence_limits.verdict(score, is_contradicted=True) == "contradicted"


@pytest.mark.parametrize(("name", "value"), [("weight", -0.1), ("spread", 0.0), ("centre", "low")])
def test_weights_that_make_no_sense_are_refused(name, value):
    body = grounding_model().model_dump(mode="json")
    body["weights"][0][name] = value
    with pytest.raises(ValidationError, match=name):
        GroundingModel.model_validate(body)
