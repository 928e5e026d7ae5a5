"""Rankings and intervals against scikit-learn and scipy."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from sgi.stats.confounds import permutation_control, stratified_auroc
from sgi.stats.effects import cohen_d, pearson, spearman, welch_p
from sgi.stats.intervals import ValueRange, normal_quantile, student_quantile, wilson_ends
from sgi.stats.means import rare_values_interval
from sgi.stats.rank_resampling import bootstrap_interval
from sgi.stats.ranking import auroc, average_precision, fpr_at_recall

pytestmark = pytest.mark.oracle


def ranked(seed):
    """Scores with more or fewer ties, labels, and weights of which some are 0."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(10, 3000))
    labels = generator.random(n) < generator.uniform(0.1, 0.9)
    labels[:2] = [True, False]
    scores = (generator.normal(size=n) + labels).round(int(generator.integers(0, 5)))
    weights = generator.integers(0, 4, n) if seed % 2 else generator.random(n)
    weights[:2] = 1
    return scores, labels, weights


@pytest.mark.parametrize("seed", range(20))
def test_auroc_equals_scikit_learn(seed):
    scores, labels, weights = ranked(seed)
    assert auroc(scores, labels) == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)
    theirs = metrics.roc_auc_score(labels, scores, sample_weight=weights)
    assert auroc(scores, labels, weights) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_average_precision_equals_scikit_learn(seed):
    scores, labels, weights = ranked(seed)
    theirs = metrics.average_precision_score(labels, scores)
    assert average_precision(scores, labels) == pytest.approx(theirs, abs=1e-12)
    theirs = metrics.average_precision_score(labels, scores, sample_weight=weights)
    assert average_precision(scores, labels, weights) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_false_alarms_stand_on_scikit_learns_roc_curve(seed):
    scores, labels, weights = ranked(seed)
    for recall in (0.1, 0.5, 0.8, 0.95, 1.0):
        for weight in (None, weights):
            false, true, _ = metrics.roc_curve(labels, scores, sample_weight=weight, drop_intermediate=False)
            # Their sums of fractional weights may end a last digit below 1.
            theirs = false[true >= recall - 1e-12].min()
            assert fpr_at_recall(scores, labels, recall, weight) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_stratified_auroc_is_the_weighted_mean_of_scikit_learns(seed):
    scores, labels, _ = ranked(seed)
    strata = np.random.default_rng(seed).integers(0, 6, len(scores))
    areas, pairs = [], []
    for stratum in range(6):
        rows = strata == stratum
        if 0 < labels[rows].sum() < rows.sum():
            areas.append(metrics.roc_auc_score(labels[rows], scores[rows]))
            pairs.append(float(labels[rows].sum()) * float((~labels[rows]).sum()))
    ours = stratified_auroc(scores, labels, strata)
    assert ours.ranking.auroc == pytest.approx(np.average(areas, weights=pairs), abs=1e-12)
    assert ours.strata == len(areas)


def test_permutations_find_as_mann_and_whitney_do():
    generator = np.random.default_rng(3)
    for lift in (0.0, 0.3, 0.6):
        labels = generator.random(60) < 0.4
        scores = generator.normal(size=60) + lift * labels
        theirs = stats.mannwhitneyu(scores[labels], scores[~labels], method="exact").pvalue
        ours = permutation_control(scores, labels, draws=5000)
        assert ours.p == pytest.approx(theirs, abs=0.02)


@pytest.mark.parametrize("seed", range(10))
def test_effects_equal_scipys(seed):
    generator = np.random.default_rng(seed)
    first = generator.normal(0.3, 2, int(generator.integers(2, 300))).round(1)
    second = generator.exponential(1 + seed, int(generator.integers(2, 300)))
    theirs = stats.ttest_ind(first, second, equal_var=False)
    assert welch_p(first, second) == pytest.approx(theirs.pvalue, rel=1e-9)
    # With pooled variances t is d in units of √(1/n₁ + 1/n₂).
    t = stats.ttest_ind(first, second).statistic
    assert cohen_d(first, second) == pytest.approx(t * np.sqrt(1 / len(first) + 1 / len(second)), rel=1e-9)
    rows = int(generator.integers(3, 400))
    one = generator.normal(size=rows).round(1)
    other = (one + generator.normal(size=rows)).round(1)
    assert pearson(one, other) == pytest.approx(stats.pearsonr(one, other).statistic, rel=1e-9)
    assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic, rel=1e-9)


@pytest.mark.parametrize(("ones", "n"), [(1, 8), (1, 30), (3, 30), (7, 100)])
def test_rare_ones_have_nearly_the_exact_interval(ones, n):
    values = np.array([1.0] * ones + [0.0] * (n - ones))
    theirs = stats.binomtest(ones, n).proportion_ci(0.95, method="exact")
    ours = rare_values_interval(values, np.ones(n), ValueRange.of(0, 1), 0.95)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_rare_values_have_the_interval_of_random_weights():
    generator = np.random.default_rng(0)
    values = np.array([1.0] * 35 + [0.1, 0.4, 0.6, 0.7, 0.9])
    weights = generator.dirichlet(np.ones(41), 200_000)
    low, high = (np.quantile(weights @ [*values, end], q) for end, q in ((0.0, 0.025), (1.0, 0.975)))
    ours = rare_values_interval(values, np.ones(40), ValueRange.of(0, 1), 0.95)
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.003)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (3, 10), (997, 1000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_equals_scipys(successes, n, level):
    theirs = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    ours = wilson_ends(successes / n, n, normal_quantile(level))
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("freedom", "error"), [(3, 2e-3), (3.7, 1e-3), (5, 2e-4), (11.4, 3e-6), (500, 1e-9)])
def test_students_quantile_equals_scipys_as_nearly_as_it_says(freedom, error):
    assert student_quantile(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=error)


def test_bootstrap_of_auroc_equals_one_that_writes_the_rows_out():
    generator = np.random.default_rng(2)
    labels = np.tile([True, False], 50)
    scores = (generator.normal(size=100) + labels).round(1)
    clusters = np.repeat(np.arange(50), 2)
    areas, draws = [], np.random.default_rng(0)
    for _ in range(200):
        rows = (2 * draws.integers(0, 50, size=50)[:, None] + [0, 1]).ravel()
        areas.append(metrics.roc_auc_score(labels[rows], scores[rows]))
    ours = bootstrap_interval(auroc, scores, labels, clusters, draws=200)
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(areas, [0.025, 0.975])), abs=1e-12)
