"""`sgi metrics NAME` is text that a terminal can show, without markup and without paths of the repository."""

import re

import pytest

from sgi.kernel.registry import BUILT_IN, metric_class

MARKUP = ("\\", ":math:", ".. ", "``", ">>>", "docs/")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_metric_is_explained_without_markup(name, sgi):
    printed = sgi("metrics", name).out
    explained = printed.partition("\nNeeds ")[0]  # the example below has the quotation marks of a command
    assert [each for each in MARKUP if each in explained] == []
    assert "scripts/" not in printed
    formula = re.search(r"\n\n    \S.*\n\n", printed)
    assert bool(formula) >= (".. math::" in (metric_class(name).__doc__ or ""))


def test_a_formula_is_written_in_unicode(sgi):
    assert (
        "\n\n    Σ_(i ≤ k) (g_i / log₂(i + 1)) / Σ_(i ≤ k) (g*_i / log₂(i + 1))\n\n"
        in sgi("metrics", "ndcg").out
    )
    assert "\n\n    SGI = θ(r, q) / (θ(r, c) + ε), ε = 10⁻⁸\n\n" in sgi("metrics", "sgi").out


def test_a_metric_names_pages_of_the_documentation_by_their_titles(sgi):
    assert 'documentation: "Languages"' in sgi("metrics", "grounding").out
