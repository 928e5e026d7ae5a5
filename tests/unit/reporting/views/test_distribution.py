import numpy as np

from sgi.reporting.views.distribution import distributions
from support.run_columns import columns_of
from support.scored_runs import column


def test_every_row_with_a_value_stands_in_a_bin():
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(1, 0.2, 500), [50.0, -50.0, np.nan])
    columns = columns_of(column("sgi", values, high=None), labels=[1] * 300 + [0] * 200 + [-1] * 3)
    (found,) = distributions(columns)
    assert {name: sum(counts) for name, counts in found.counts.items()} == {
        "label 1": 300,
        "label 0": 200,
        "no label": 2,
    }
    assert len(found.edges) == 41
    assert found.below > 0
    assert found.above > 0


def test_a_share_has_bins_over_its_whole_range():
    (found,) = distributions(columns_of(column("rouge_l", [0.2, 0.4])))
    assert (found.edges[0], found.edges[-1]) == (0.0, 1.0)
    assert sum(found.counts["all rows"]) == 2


def test_equal_values_have_bins_around_them():
    (found,) = distributions(columns_of(column("sgi", [2.0, 2.0], high=None)))
    assert (found.edges[0], found.edges[-1]) == (1.5, 2.5)


def test_a_metric_without_values_has_no_distribution():
    assert distributions(columns_of(column("sgi", [np.nan, np.nan]))) == ()
