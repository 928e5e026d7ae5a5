"""Paired tests against scipy and statsmodels."""

import numpy as np
import pytest
from scipy import stats

from sgi.stats.intervals import clustered_standard_error
from sgi.stats.paired_tests import holm, mcnemar, paired_differences

pytestmark = pytest.mark.oracle


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
