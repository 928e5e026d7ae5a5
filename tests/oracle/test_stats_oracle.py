"""Rankings and intervals against scikit-learn and scipy."""

import numpy as np
import pytest

from sgi.stats import auroc, auroc_interval, mean_interval, wilson_interval
from sgi.stats.intervals import expanded_level, student_quantile

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("seed", range(20))
def test_auroc_equals_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics", reason="the oracle scikit-learn is not installed")
    generator = np.random.default_rng(seed)
    n = int(generator.integers(10, 3000))
    labels = generator.random(n) < generator.uniform(0.1, 0.9)
    labels[:2] = [True, False]
    scores = (generator.normal(size=n) + labels).round(int(generator.integers(0, 5)))
    assert auroc(scores, labels) == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)


def test_bootstrap_of_the_mean_equals_scipys():
    stats = pytest.importorskip("scipy.stats", reason="the oracle scipy is not installed")
    values = np.random.default_rng(0).exponential(size=300)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        method="percentile",
        confidence_level=expanded_level(0.95, np.ones(300)),
        rng=np.random.default_rng(1),
    ).confidence_interval
    ours = mean_interval(values, draws=20_000)
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (3, 10), (997, 1000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_equals_scipys(successes, n, level):
    stats = pytest.importorskip("scipy.stats", reason="the oracle scipy is not installed")
    theirs = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    ours = wilson_interval(successes, n, level=level)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("freedom", "error"), [(3, 2e-3), (3.7, 1e-3), (5, 2e-4), (11.4, 3e-6), (500, 1e-9)])
def test_students_quantile_equals_scipys_as_nearly_as_it_says(freedom, error):
    stats = pytest.importorskip("scipy.stats", reason="the oracle scipy is not installed")
    assert student_quantile(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=error)


@pytest.mark.parametrize("sizes", [np.ones(12), np.array([1, 8, 3, 3, 5, 2])])
def test_expanded_percentiles_by_scipys_distributions(sizes):
    stats = pytest.importorskip("scipy.stats", reason="the oracle scipy is not installed")
    count = len(sizes)
    freedom = sizes.sum() ** 2 / (sizes**2).sum() - 1
    tail = stats.norm.cdf(-np.sqrt(count / (count - 1)) * stats.t.ppf(0.975, freedom))
    assert expanded_level(0.95, sizes) == pytest.approx(1 - 2 * tail, abs=2e-4)


def test_bootstrap_of_auroc_equals_one_that_writes_the_rows_out():
    metrics = pytest.importorskip("sklearn.metrics", reason="the oracle scikit-learn is not installed")
    generator = np.random.default_rng(2)
    labels = np.tile([True, False], 50)
    scores = (generator.normal(size=100) + labels).round(1)
    clusters = np.repeat(np.arange(50), 2)
    areas, draws = [], np.random.default_rng(0)
    for _ in range(200):
        rows = (2 * draws.integers(0, 50, size=50)[:, None] + [0, 1]).ravel()
        areas.append(metrics.roc_auc_score(labels[rows], scores[rows]))
    ours = auroc_interval(scores, labels, clusters, draws=200)
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(areas, [0.025, 0.975])), abs=1e-12)
