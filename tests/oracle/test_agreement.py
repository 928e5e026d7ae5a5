"""Agreement and corrected means against scikit-learn, krippendorff and ppi-python."""

import numpy as np
import pytest
from sklearn import metrics

from sgi.stats.agreement import cohen_kappa, krippendorff_alpha
from sgi.stats.intervals import normal_quantile, student_quantile
from sgi.stats.prediction_powered import prediction_powered_mean

pytestmark = pytest.mark.oracle


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
