import numpy as np
import pytest

from sgi.kernel.metric import MetricSpec
from sgi.kernel.registry import metric
from sgi.kernel.sample import RESPONSE
from sgi_lab.metric_bench.measures import Scale, Verdict, fault_reaction, reaction, simultaneous_level
from sgi_lab.metric_bench.perturbation import Kind

UNIT = Scale(1.0, 0.2, 1)
N = 60


def found(kind, change, scale=UNIT, before=None):
    start = np.full(len(change), 0.5) if before is None else before
    return reaction(kind, start, start + change, scale, np.arange(len(change)))


def mixed(share, step):
    """This share of the changes is ``step``, the others are the opposite."""
    return np.where(np.arange(N) < share * N, step, -step)


@pytest.mark.parametrize(
    ("kind", "change", "verdict"),
    [
        (Kind.ERROR, np.full(N, -0.3), Verdict.SEES),
        (Kind.ERROR, np.full(N, -0.001), Verdict.PARTLY),  # always, but not noticeably
        (Kind.ERROR, mixed(0.8, -0.3), Verdict.PARTLY),
        (Kind.ERROR, np.zeros(N), Verdict.BLIND),
        (Kind.ERROR, mixed(0.5, -0.3), Verdict.BLIND),
        (Kind.ERROR, mixed(0.6, -0.3), Verdict.UNCLEAR),
        (Kind.ERROR, np.full(N, 0.3), Verdict.REWARDS),
        (Kind.ERROR, np.full(9, -0.3), Verdict.TOO_FEW),
        (Kind.HARMLESS, np.zeros(N), Verdict.STEADY),
        (Kind.HARMLESS, np.full(N, 0.04), Verdict.STEADY),
        (Kind.HARMLESS, np.full(N, 0.06), Verdict.MOVED),
        (Kind.HARMLESS, np.zeros(11), Verdict.UNCLEAR),
        (Kind.SUPPORTED, np.full(N, 0.4), Verdict.STEADY),
        (Kind.SUPPORTED, np.full(N, -0.4), Verdict.DROPS),
        (Kind.OTHER, np.full(N, -0.4), Verdict.FALLS),
        (Kind.OTHER, np.full(N, 0.4), Verdict.RISES),
        (Kind.OTHER, np.zeros(N), Verdict.STAYS),
    ],
)
def test_the_word_for_a_cell(kind, change, verdict):
    assert found(kind, change).verdict is verdict


def test_ties_count_half_of_an_error():
    result = found(Kind.ERROR, np.array([-0.1] * 20 + [0.0] * 20 + [0.1] * 20))
    assert result.share == 0.5
    assert result.unchanged == pytest.approx(1 / 3)


def test_a_lost_value_counts_half_of_an_error_and_moves_nothing():
    result = found(Kind.ERROR, np.array([-0.3] * 18 + [np.nan] * 42))
    assert result.share == pytest.approx(39 / 60)
    assert (result.median_change, result.unchanged) == (0.0, 0.0)
    assert result.mean_change == result.worst_change == pytest.approx(0.3)
    assert result.verdict is Verdict.PARTLY
    nothing = found(Kind.ERROR, np.full(N, np.nan))
    assert (nothing.share, nothing.mean_change, nothing.verdict) == (0.5, 0.0, Verdict.BLIND)


def test_lower_may_be_better():
    down = Scale(1.0, 0.2, -1)
    assert found(Kind.ERROR, np.full(N, 0.3), down).verdict is Verdict.SEES
    assert found(Kind.ERROR, np.full(N, 0.3), down).median_change == pytest.approx(-1.5)


def test_rounding_is_no_change():
    result = found(Kind.ERROR, np.full(N, -1e-9))
    assert (result.share, result.unchanged, result.verdict) == (0.5, 1.0, Verdict.BLIND)


def test_rows_of_one_question_count_once():
    change = np.full(N, -0.3)
    alone = reaction(Kind.ERROR, np.ones(N), 1 + change, UNIT, np.arange(N))
    together = reaction(Kind.ERROR, np.ones(N), 1 + change, UNIT, np.arange(N) // 5)
    assert together.interval.low < alone.interval.low
    assert together.verdict is not Verdict.SEES


def test_the_scale_of_an_open_range_is_that_of_its_quartiles():
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, np.nan])
    scale = Scale.of(metric("sgi").spec, values)
    assert (scale.span, scale.spread, scale.sign) == (8.0, 2.0, 1)


def test_values_without_spread_are_measured_by_the_range():
    spec = MetricSpec("m", 1, RESPONSE, 0.0, 2.0, higher_is_better=False)
    assert Scale.of(spec, np.ones(5)) == Scale(2.0, 2.0, -1)
    assert Scale.of(spec, np.array([1.0, 1.0 + 1e-9] * 5)) == Scale(2.0, 2.0, -1)
    assert Scale.of(spec, np.array([np.nan])) == Scale(2.0, 2.0, -1)


def test_a_perturbed_reply_may_give_no_value_or_the_same():
    before = np.linspace(0, 1, N)
    after = np.where(np.arange(N) % 2, np.nan, before)
    result = fault_reaction(before, after, UNIT, np.arange(N))
    assert (result.share, result.verdict, result.unchanged) == (1.0, Verdict.CLOSED, 0.5)
    after[0] = 0.7
    result = fault_reaction(before, after, UNIT, np.arange(N))
    assert result.verdict is Verdict.FOOLED
    assert result.worst_change == pytest.approx(0.7)


def test_few_rows_are_enough_to_be_fooled_but_not_to_be_safe():
    assert fault_reaction(np.ones(3), np.full(3, np.nan), UNIT, np.arange(3)).verdict is Verdict.TOO_FEW
    assert fault_reaction(np.ones(3), np.zeros(3), UNIT, np.arange(3)).verdict is Verdict.FOOLED


def test_a_table_of_metrics_that_see_nothing_has_a_wrong_verdict_in_five_of_a_hundred_cases_at_most():
    cells, tables = 40, 100
    rng, before = np.random.default_rng(0), np.full(50, 0.5)

    def wrong(level):
        after = before + rng.choice([-0.3, 0.3], size=50)
        result = reaction(Kind.ERROR, before, after, UNIT, np.arange(50), level=level)
        return result.verdict in {Verdict.SEES, Verdict.PARTLY, Verdict.REWARDS}

    def share(level):
        return np.mean([any(wrong(level) for _ in range(cells)) for _ in range(tables)])

    assert share(simultaneous_level(cells)) <= 0.1
    assert share(0.95) > 0.6
