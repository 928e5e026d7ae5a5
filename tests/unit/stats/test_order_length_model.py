import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from sgi.stats.intervals import NoInterval
from sgi.stats.order_length_model import MAX_DOUBLINGS, fit_order_length


def replies(seed, questions=60, *, pairs=1, odds=0.6, order=0.5, slope=1.0):
    """Every pair of systems on each question in both orders."""
    generator = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(questions), 2 * pairs)
    sides = np.tile([1.0, -1.0], questions * pairs)
    doublings = np.repeat(generator.normal(0.4, 0.6, questions * pairs), 2)
    terms = np.eye(pairs)[np.tile(np.repeat(np.arange(pairs), 2), questions)]
    chance = 1 / (1 + np.exp(-odds - order * sides - slope * doublings))
    won = np.where(generator.random(len(sides)) < 0.1, 0.5, generator.random(len(sides)) < chance)
    return terms, sides, doublings, won, clusters


def test_the_coefficients_maximise_the_likelihood():
    terms, sides, doublings, won, clusters = replies(1)
    model = fit_order_length(terms, sides, doublings, won, clusters)
    design = np.column_stack([terms, sides, np.clip(doublings, -MAX_DOUBLINGS, MAX_DOUBLINGS)])
    found = minimize(
        lambda b: (np.logaddexp(0, design @ b) - won * (design @ b)).sum(), np.zeros(3), tol=1e-10
    )
    assert model.coefficients == pytest.approx(found.x, abs=1e-4)


def test_the_side_on_which_a_system_is_named_does_not_matter():
    terms, sides, doublings, won, clusters = replies(2)
    straight = fit_order_length(terms, sides, doublings, won, clusters)
    swapped = fit_order_length(terms, -sides, -doublings, 1 - won, clusters)
    assert swapped.coefficients == pytest.approx(straight.coefficients * [-1, 1, 1])
    assert swapped.covariance[0, 0] == pytest.approx(straight.covariance[0, 0])


def test_a_pair_that_wins_every_reply_has_no_estimate_and_leaves_the_others_theirs():
    terms, sides, doublings, won, clusters = replies(3, pairs=2)
    own = terms[:, 0] == 1
    won[own] = 1.0
    model = fit_order_length(terms, sides, doublings, won, clusters)
    assert "no finite estimate" in model.estimate(model.weights_of(0)).reason
    assert isinstance(model.intervals(model.weights_of(0)), NoInterval)
    alone = fit_order_length(terms[~own, 1:], sides[~own], doublings[~own], won[~own], clusters[~own])
    assert model.estimate(model.weights_of(1)) == pytest.approx(alone.estimate(alone.weights_of(0)))


def test_one_factor_of_length_in_all_questions_leaves_no_estimate_until_other_replies_show_its_effect():
    terms, sides, _, won, clusters = replies(4, slope=0.0)
    longer = np.full(len(sides), 0.58)
    model = fit_order_length(terms, sides, longer, won, clusters)
    assert "effect of the length" in model.estimate(model.weights_of(0)).reason
    aa = replies(5, odds=0.0)
    both = [np.concatenate(each) for each in zip((terms, sides, longer, won, clusters), aa, strict=True)]
    both[0][len(sides) :] = 0.0
    model = fit_order_length(*both)
    assert model.estimate(model.weights_of(0)) == pytest.approx(0.6 - 0.58, abs=0.6)


def test_ties_alone_have_an_interval_that_is_not_a_point():
    terms, sides, doublings, won, clusters = replies(6, 30)
    model = fit_order_length(terms, sides, doublings, np.full(len(won), 0.5), clusters)
    interval = model.intervals(model.weights_of(0))(0.95)
    assert interval.low < -0.1 < 0.1 < interval.high


def test_few_questions_have_an_estimate_without_an_interval_and_none_has_a_reason():
    terms, sides, doublings, won, clusters = replies(7, 7)
    won[:2] = 0.5
    model = fit_order_length(terms, sides, doublings, won, clusters)
    assert np.isfinite(model.estimate(model.weights_of(0)))
    assert "too few" in model.intervals(model.weights_of(0)).reason
    empty = fit_order_length(np.empty((0, 1)), [], [], [])
    assert empty.estimate(empty.weights_of(0)).reason == "there are no replies"


def test_questions_whose_replies_diverge_do_not_count_for_the_interval():
    """The lengths predict all replies but those of 4 questions with equal lengths."""
    terms, sides, doublings, _, clusters = replies(8, 50)
    doublings[clusters < 4] = 0.0
    won = np.where(doublings == 0, np.tile([1.0, 0.0, 0.0, 1.0], 25), doublings > 0)
    model = fit_order_length(terms, sides, doublings, won, clusters)
    assert np.isfinite(model.estimate(model.weights_of(0)))
    assert "too few" in model.intervals(model.weights_of(0)).reason


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([1, -1]),
            st.sampled_from([-1, 0, 0.5]),
            st.sampled_from([0, 0.5, 1]),
        ),
        max_size=25,
    )
)
def test_an_estimate_is_missing_exactly_if_the_likelihood_has_no_single_finite_maximum(rows):
    design = np.array([[pair == 0, pair == 1, order, length] for pair, order, length, _ in rows], dtype=float)
    won = np.array([row[-1] for row in rows])
    design = design.reshape(-1, 4)
    model = fit_order_length(design[:, :2], design[:, 2], design[:, 3], won)
    signed = design * (2 * won - 1)[:, None]
    ties = design[won == 0.5]
    for place in range(4):
        weights = np.eye(4)[place]
        # A direction that no reply contradicts may change a coefficient without a limit.
        free = any(
            abs(
                linprog(
                    side * weights,
                    A_ub=-signed if len(rows) else None,
                    b_ub=np.zeros(len(rows)) if len(rows) else None,
                    A_eq=ties if len(ties) else None,
                    b_eq=np.zeros(len(ties)) if len(ties) else None,
                    bounds=[(-1, 1)] * 4,
                ).fun
            )
            > 1e-7
            for side in (1, -1)
        )
        value = model.estimate(weights)
        assert isinstance(value, NoInterval) == free
        assert free or abs(value) < 50
