"""`sgi metrics NAME` is text that a terminal can show, without markup and without paths of the repository."""

import re

import pytest

from sgi.kernel.metric import Question
from sgi.kernel.registry import BUILT_IN, DEFAULTS, FEATURED, metric_class

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
    assert 'documentation:\n"Languages and embedding models"' in sgi("metrics", "grounding").out


def test_the_usual_metrics_are_grouped_by_question(sgi):
    lines = sgi("metrics").out.splitlines()
    heads = [line.partition("  ")[0] for line in lines if "?" in line]
    assert heads == [str(question) for question in Question][:5]
    names = [line.split(" ")[0] for line in lines if line.split(" ")[0] in BUILT_IN]
    assert names == [*FEATURED]
    assert len(names) <= 12
    assert {line.split(" ")[0] for line in lines if line.partition("  ")[0].endswith(" *")} == {*DEFAULTS}
    assert "judge; contexts, response" in next(line for line in lines if line.startswith("faithfulness"))
    assert lines[-1].endswith("All metrics: sgi metrics --all")


def test_all_metrics_are_listed_once_and_graphrag_names_last(sgi):
    lines = sgi("metrics", "--all").out.splitlines()
    names = [line.split(" ")[0] for line in lines if line.split(" ")[0] in BUILT_IN]
    assert sorted(names) == sorted(BUILT_IN)
    assert names[-1] == "dont_know_answers_count"


def test_every_built_in_metric_says_what_it_answers_and_how_to_read_it(sgi):
    facts = {each["name"]: each for each in sgi("metrics", "--json").json}
    assert [name for name in BUILT_IN if not (facts[name]["reading"] and facts[name]["limits"])] == []
    assert [name for name, each in facts.items() if each["default"]] == [
        name for name in BUILT_IN if name in DEFAULTS
    ]
    assert facts["faithfulness"]["cost"].startswith("Calls of an LLM judge")
    assert facts["weighted_mean"]["question"] == "Other"


def test_line_separators_in_a_parameter_are_escaped(sgi, tmp_path):
    (tmp_path / "m.toml").write_text('[lines]\nmetric = "contains"\ntext = "a\\u2028b"\n')
    for words in (["metrics", "lines"], ["metrics"]):
        printed = sgi(*words, "--define", "m.toml").out
        assert "\u2028" not in printed
        assert 'contains(text="a\\u2028b")' in printed
