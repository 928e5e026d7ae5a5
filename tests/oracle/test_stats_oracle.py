"""Rankings and intervals against scikit-learn and scipy."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from sgi.stats.agreement import cohen_kappa, krippendorff_alpha
from sgi.stats.confounds import permutation_control, stratified_auroc
from sgi.stats.effects import cohen_d, pearson, spearman, welch_p
from sgi.stats.intervals import (
    ValueRange,
    clustered_standard_error,
    normal_quantile,
    student_quantile,
    wilson_ends,
)
from sgi.stats.means import rare_values_interval
from sgi.stats.order_length_model import fit_order_length
from sgi.stats.paired_tests import holm, mcnemar, paired_differences
from sgi.stats.prediction_powered import prediction_powered_mean
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


def test_p_is_near_a_studentised_permutation_test():
    def studentised(gaps, axis):
        return gaps.mean(axis) / gaps.std(axis, ddof=1)

    generator = np.random.default_rng(0)
    for effect in (0.0, 0.2, 0.4):
        first = generator.random(40)
        second = first + generator.normal(effect, 1, 40)
        theirs = stats.permutation_test(
            (second - first,),
            studentised,
            permutation_type="samples",
            n_resamples=20_000,
            vectorized=True,
            rng=np.random.default_rng(1),
        ).pvalue
        (ours,) = paired_differences(first, second)
        assert ours.p == pytest.approx(theirs, abs=0.02)


def test_p_of_few_changed_pairs_is_near_the_exact_test():
    for lost, gained in [(0, 5), (0, 6), (1, 6), (1, 5)]:
        first, second = (
            np.repeat([1.0, 0.0, 1.0], [lost, gained, 50]),
            np.repeat([0.0, 1.0, 1.0], [lost, gained, 50]),
        )
        (ours,) = paired_differences(first, second, ranges=[1.0])
        assert ours.p == pytest.approx(stats.binomtest(lost, lost + gained).pvalue, rel=0.25)


def test_the_clustered_error_equals_statsmodels():
    api = pytest.importorskip("statsmodels.api", reason="the oracle statsmodels is not installed")
    generator = np.random.default_rng(4)
    clusters = np.repeat(np.arange(40), generator.integers(1, 9, 40))
    gaps = generator.normal(size=40)[clusters] + generator.normal(size=len(clusters))
    fit = api.OLS(gaps, np.ones(len(gaps))).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    # Theirs also corrects for the number of regressors: (n − 1)/(n − k) with k = 1, which is 1.
    ours = clustered_standard_error(np.bincount(clusters, weights=gaps), np.bincount(clusters))
    assert ours == pytest.approx(fit.bse[0], rel=1e-7)


def test_the_model_of_order_and_length_equals_statsmodels():
    api = pytest.importorskip("statsmodels.api", reason="the oracle statsmodels is not installed")
    generator = np.random.default_rng(5)
    questions = 200
    clusters, order = np.repeat(np.arange(questions), 2), np.tile([1, -1], questions)
    doublings = np.repeat(generator.normal(0.5, 0.6, questions), 2)
    odds = 0.3 + 0.5 * order + doublings + np.repeat(generator.normal(0, 0.7, questions), 2)
    won = np.where(generator.random(400) < 0.1, 0.5, generator.random(400) < 1 / (1 + np.exp(-odds)))
    ours = fit_order_length(np.ones((400, 1)), order, doublings, won, clusters)
    design = np.column_stack([np.ones(400), order, doublings])
    theirs = api.GLM(won, design, family=api.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}
    )
    assert ours.coefficients == pytest.approx(theirs.params, rel=1e-6)
    # Theirs corrects for few clusters by one factor; the jackknife is exact with refits, and a little larger.
    errors = np.sqrt(np.diag(ours.covariance))
    assert errors == pytest.approx(theirs.bse, rel=0.03)
    left_out = [
        api.GLM(won[clusters != one], design[clusters != one], family=api.families.Binomial()).fit().params
        for one in range(questions)
    ]
    spread = np.square(np.array(left_out) - theirs.params).sum(axis=0)
    assert errors == pytest.approx(np.sqrt(spread * (1 - 1 / questions)), rel=0.01)


@pytest.mark.parametrize(
    ("lost", "gained"), [(0, 0), (3, 9), (12, 12), (0, 24), (12, 13), (10, 30), (400, 300)]
)
def test_mcnemar_equals_statsmodels(lost, gained):
    tables = pytest.importorskip(
        "statsmodels.stats.contingency_tables", reason="the oracle statsmodels is not installed"
    )
    first, second = np.repeat([1, 0], [lost, gained]), np.repeat([0, 1], [lost, gained])
    theirs = tables.mcnemar([[5, lost], [gained, 5]], exact=lost + gained < 25, correction=False)
    assert mcnemar(first, second).p == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_holm_equals_statsmodels(seed):
    multitest = pytest.importorskip(
        "statsmodels.stats.multitest", reason="the oracle statsmodels is not installed"
    )
    p = np.random.default_rng(seed).random(1 + seed) ** 3
    theirs = multitest.multipletests(p, method="holm")[1]
    assert holm(p.tolist()) == pytest.approx(tuple(theirs), rel=1e-12)


def rated(seed, kinds, rows=80):
    generator = np.random.default_rng(seed)
    first = generator.integers(0, kinds, rows)
    return first, np.where(generator.random(rows) < 0.6, first, generator.integers(0, kinds, rows))


@pytest.mark.parametrize("kinds", [2, 3, 5, 9])
@pytest.mark.parametrize("seed", range(5))
def test_kappa_equals_scikit_learns(kinds, seed):
    first, second = rated(seed, kinds)
    for ours, theirs in (("nominal", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = metrics.cohen_kappa_score(first, second, weights=theirs, labels=list(range(kinds)))
        assert cohen_kappa(first, second, weights=ours).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(5))
def test_alpha_equals_that_of_the_package_krippendorff(scale, seed):
    package = pytest.importorskip("krippendorff", reason="the oracle krippendorff is not installed")
    for kinds in (2, 5, 9):
        first, second = rated(seed, kinds)
        expected = package.alpha(reliability_data=[first, second], level_of_measurement=scale)
        assert krippendorff_alpha(first, second, scale=scale).value == pytest.approx(expected, abs=1e-9)
    measured = np.random.default_rng(seed).normal(size=(2, 40))
    expected = package.alpha(reliability_data=measured, level_of_measurement=scale)
    assert krippendorff_alpha(*measured, scale=scale).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["verdicts", "scores", "opposite", "numbers"])
@pytest.mark.parametrize("labelled", [30, 100, 400])
def test_the_corrected_mean_equals_that_of_ppi_python(kind, labelled):
    package = pytest.importorskip("ppi_py", reason="the oracle ppi-python is not installed")
    generator = np.random.default_rng(labelled)
    truth = (
        generator.normal(3, 1, 1000) if kind == "numbers" else (generator.random(1000) < 0.7).astype(float)
    )
    scores = {
        "verdicts": np.where(generator.random(1000) < 0.2, 1 - truth, truth),
        "scores": np.clip(truth * 0.4 + generator.normal(0.3, 0.2, 1000), 0, 1),
        "opposite": 1 - truth + generator.normal(0, 0.3, 1000),
        "numbers": truth + generator.normal(0.5, 0.7, 1000),
    }[kind]
    known, here, there = truth[:labelled], scores[:labelled], scores[labelled:]
    found = prediction_powered_mean(np.where(np.arange(1000) < labelled, truth, np.nan), scores)
    assert found.value == pytest.approx(
        float(package.ppi_mean_pointestimate(known, here, there).item()), abs=1e-12
    )
    assert found.power == pytest.approx(_power_of(package, known, here, there), abs=1e-9)
    # Theirs divides by n and takes z; ours divides by n − 1 and takes t.
    low, high = (float(end.item()) for end in package.ppi_mean_ci(known, here, there, alpha=0.05))
    half = (found.interval.high - found.interval.low) / 2
    theirs = (high - low) / 2 * student_quantile(0.95, labelled - 2) / normal_quantile(0.95)
    assert theirs < half < theirs * np.sqrt(labelled / (labelled - 1)) + 1e-12


def _power_of(package, known, here, there):
    """Their λ, which they keep to themselves: the estimate is a straight line of it."""
    ends = [package.ppi_mean_pointestimate(known, here, there, lam=lam).item() for lam in (0.0, 1.0)]
    return (package.ppi_mean_pointestimate(known, here, there).item() - ends[0]) / (ends[1] - ends[0])
