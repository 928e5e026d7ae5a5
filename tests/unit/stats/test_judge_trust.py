import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.judge_evidence import log_evidence, needed_evidence, youden
from sgi.stats.judge_trust import MIN_LABELS, LabelCounts, corrected_share, judge_trust

COUNTS = st.tuples(*[st.integers(0, 150)] * 4)
SHARES = st.floats(0.01, 0.99)


def audited(good, sensitivity, specificity, sets, most, seed=0):
    """Return the shares of audits of random rows that are ever TRUSTED, and first NOT TRUSTED."""
    share = good * sensitivity + (1 - good) * (1 - specificity)
    generator = np.random.default_rng(seed)
    labels = generator.random((sets, most)) < good
    yes = generator.random((sets, most)) < np.where(labels, sensitivity, 1 - specificity)
    cells = np.stack([yes & labels, yes & ~labels, ~yes & ~labels, ~yes & labels], -1).cumsum(1)
    cells = cells[:, MIN_LABELS - 1 :]
    trusted = log_evidence(cells, share) >= np.log(needed_evidence(cells, share))
    against = log_evidence(cells, share, against=True) >= np.log(20)
    first = [np.where(side.any(1), side.argmax(1), most) for side in (trusted, against)]
    return trusted.any(1).mean(), (first[1] < first[0]).mean()


@pytest.mark.parametrize(("good", "sensitivity", "specificity"), [(0.34, 0.75, 0.75), (0.5, 0.6, 0.9)])
def test_a_bad_judge_is_rarely_trusted_although_every_label_is_looked_at(good, sensitivity, specificity):
    trusted, _ = audited(good, sensitivity, specificity, sets=200, most=100)
    assert trusted <= 0.1  # 200 audits with 5 %: 99.7 % of such shares are below


@pytest.mark.parametrize(("good", "sensitivity", "specificity"), [(0.3, 0.9, 0.9), (0.3, 0.85, 0.95)])
def test_a_good_judge_is_mostly_trusted_within_80_labels(good, sensitivity, specificity):
    trusted, against = audited(good, sensitivity, specificity, sets=200, most=80)
    assert trusted >= 0.83
    assert against <= 0.1


def test_a_poor_judge_is_mostly_not_trusted_within_80_labels():
    trusted, against = audited(0.5, 0.7, 0.7, sets=200, most=80)
    assert against >= 0.85
    assert trusted <= 0.05


def test_the_evidence_agrees_with_an_integral_and_a_search():
    """Two-dimensional search over the null hypothesis, and quad over the curve of the alternative."""
    integrate = pytest.importorskip("scipy.integrate")
    for counts, share in (((25, 4, 30, 2), 0.45), ((11, 1, 40, 6), 0.2)):
        a, b, c, d = counts

        def loglik(p, q, *, counts=(a, b, c, d)):
            logs = np.log([p, 1 - p, q, 1 - q])
            return sum(n * log for n, log in zip(counts, logs, strict=True))

        def at(good, j, share=share):
            rates = share + (1 - good) * j, 1 - share + good * j
            return good * rates[0] / share, (1 - good) * rates[1] / (1 - share)

        p, q = np.meshgrid(*[np.linspace(0.001, 0.999, 800)] * 2)
        best = loglik(p, q)[youden(p, q, share) <= 0.5].max()
        low, high = max(0, 1 - (1 - share) / 0.8), min(1, share / 0.8)

        def weight(good):
            return 5.0 if 0.27 < good < 0.73 else 1.0

        cuts = [x for x in (0.27, 0.73) if low < x < high]
        mass = integrate.quad(weight, low, high, points=cuts)[0]
        mean = integrate.quad(lambda x: weight(x) * np.exp(loglik(*at(x, 0.8))), low, high, points=cuts)[0]
        found = float(log_evidence(counts, share))
        assert found == pytest.approx(np.log(mean / mass) - best, abs=0.05)


@given(COUNTS, SHARES)
def test_the_formula_of_the_balanced_accuracy(counts, share):
    p, q = (np.array([(x + 1) / (x + y + 2)]) for x, y in (counts[:2], counts[2:]))
    good = share * p + (1 - share) * (1 - q)
    rates = share * p / good + (1 - share) * q / (1 - good)
    assert youden(p, q, np.array([share])) == pytest.approx(rates - 1, abs=1e-9)


@given(
    st.integers(10, 200), st.floats(0.3, 0.7), st.floats(-0.15, 0.15), *[st.floats(0, 1)] * 2, st.booleans()
)
def test_a_right_verdict_instead_of_a_wrong_one_never_lowers_evidence(n, share, more, ppv, npv, first):
    """For usual samples. If nearly all verdicts are alike, a PPV of 1 can suggest a low sensitivity."""
    yes = max(1, round(n * (share + more)))
    right = round(ppv * yes), round(npv * (n - yes))
    counts = [right[0], yes - right[0], right[1], n - yes - right[1]]
    column = 0 if first else 2
    if counts[column + 1] == 0:
        return
    before = float(log_evidence(counts, share))
    counts[column : column + 2] = counts[column] + 1, counts[column + 1] - 1
    assert before < 0 or float(log_evidence(counts, share)) >= before - 1e-9


@given(COUNTS, SHARES)
def test_swapping_yes_and_no_changes_nothing(counts, share):
    for against in (False, True):
        swapped = log_evidence([*counts[2:], *counts[:2]], 1 - share, against=against)
        assert log_evidence(counts, share, against=against) == pytest.approx(swapped, abs=1e-6)


@given(COUNTS, st.sampled_from([0.0, 0.001, 0.3, 1.0]))
def test_every_verdict_has_a_reason_and_labels_of_both_classes(counts, share):
    counts = LabelCounts(*counts)
    if (share == 0 and counts.yes) or (share == 1 and counts.no):
        with pytest.raises(ValueError, match="no row has"):
            judge_trust(counts, share)
        return
    found = judge_trust(counts, share)
    assert found.reason.endswith(".")
    assert found == judge_trust(counts, share)
    good = counts.right_yes + counts.wrong_no
    if found.verdict != "NEED":
        assert found.more is None
        assert counts.labelled >= MIN_LABELS
        assert 0 < good < counts.labelled
    if share in {0.0, 1.0}:
        assert found.verdict != "TRUSTED"


@pytest.mark.parametrize(
    ("counts", "share", "verdict", "reason"),
    [
        ((0, 0, 0, 0), 0.5, "NEED", "There are no labels"),
        ((1, 0, 0, 0), 0.5, "NEED", "only 1 label;"),
        ((5, 0, 4, 0), 0.5, "NEED", "only 9 labels"),
        ((40, 0, 0, 0), 0.5, "NEED", "All labels are yes"),
        ((0, 0, 40, 0), 0.5, "NEED", "All labels are no"),
        ((15, 0, 15, 0), 0.5, "TRUSTED", "above 0.75"),
        ((10, 10, 10, 10), 0.5, "NOT TRUSTED", "below 0.9"),
        ((20, 2, 0, 0), 1.0, "NOT TRUSTED", "below 0.9"),
        ((20, 1, 0, 0), 1.0, "NEED", "every row"),
    ],
)
def test_verdicts(counts, share, verdict, reason):
    found = judge_trust(LabelCounts(*counts), share)
    assert found.verdict == verdict
    assert reason in found.reason


def test_few_labels_need_at_least_ten():
    assert judge_trust(LabelCounts(2, 0, 2, 0), 0.5).more >= 6
    assert judge_trust(LabelCounts(8, 2, 8, 2), 0.5).more > 80
    # Random labels hardly ever meet the one row of 100 with the verdict yes.
    assert judge_trust(LabelCounts(1, 0, 9, 0), 0.01).more is None


def test_estimates_by_hand():
    found = judge_trust(LabelCounts(18, 2, 27, 3), 0.4)
    good = 0.4 * 0.9 + 0.6 * 0.1
    assert (found.ppv.value, found.npv.value) == (0.9, 0.9)
    assert found.sensitivity.value == pytest.approx(0.36 / good)
    assert found.specificity.value == pytest.approx(0.54 / (1 - good))
    assert found.balanced_accuracy.value == pytest.approx((0.36 / good + 0.54 / (1 - good)) / 2)
    for one in (found.sensitivity, found.specificity, found.balanced_accuracy, found.ppv, found.npv):
        assert 0 <= one.interval.low <= one.value <= one.interval.high <= 1
    assert judge_trust(LabelCounts(18, 2, 0, 0), 0.4).npv is None


def test_a_corrected_share_of_the_same_and_of_another_run():
    counts = LabelCounts(45, 5, 45, 5)
    same = corrected_share(counts, 0.5)
    assert same.value == pytest.approx(0.5)
    other = corrected_share(counts, 0.5, other_share=0.7, rows=1000)
    assert other.value == pytest.approx((0.7 - 0.1) / 0.8)
    assert other.interval.low < other.value < other.interval.high
    assert corrected_share(counts, 0.5, other_share=0.02, rows=1000).value == 0
    few = corrected_share(counts, 0.5, other_share=0.7, rows=20).interval
    assert few.high - few.low > other.interval.high - other.interval.low


@pytest.mark.parametrize(
    ("counts", "share"),
    [((10, 10, 10, 10), 0.5), ((0, 0, 30, 2), 0.5), ((30, 3, 0, 0), 1.0), ((30, 0, 0, 9), 0.7)],
)
def test_a_share_of_another_run_without_a_useful_judge_is_undefined(counts, share):
    found = corrected_share(LabelCounts(*counts), share, other_share=0.4, rows=100)
    assert (found.value, found.interval) == (None, None)
    assert found.reason


def test_what_makes_no_sense_is_refused():
    right = LabelCounts(5, 5, 5, 5)
    for call in (
        lambda: judge_trust(LabelCounts(-1, 0, 0, 0), 0.5),
        lambda: judge_trust(right, 1.5),
        lambda: judge_trust(right, float("nan")),
        lambda: corrected_share(right, 0.5, other_share=0.4),
        lambda: corrected_share(right, 0.5, other_share=1.4, rows=10),
        lambda: corrected_share(right, 0.5, other_share=0.4, rows=0),
    ):
        with pytest.raises(ValueError, match=r"must|together"):
            call()
