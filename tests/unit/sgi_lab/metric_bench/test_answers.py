from __future__ import annotations

from sgi.kernel.sample import Sample
from sgi_lab.metric_bench.catalogue import PERTURBATIONS
from sgi_lab.metric_bench.perturbation import Others


def changed(name, sample, others, seed=0):
    result = PERTURBATIONS[name].apply(sample, others, seed=seed)
    return None if result is None else result.response


def test_a_sentence_of_another_answer_is_added(row, others):
    result = changed("unsupported_added", row("The mill burnt", "The mill burnt."), others)
    assert result == "The mill burnt. The lamp at Cape Morwen was lit by the keeper Olga Brandt."


def test_no_sentence_is_added_that_the_passages_hold_or_that_tells_nothing(row):
    known_sentence = "The lamp was lit by Olga Brandt."
    known = Others([Sample(id="l", question="?", contexts=("x",), response=known_sentence)])
    assert changed("unsupported_added", row("The mill burnt.", known_sentence), known) is None
    empty = Others([Sample(id="l", question="?", contexts=("x",), response="The passages do not say it.")])
    assert changed("unsupported_added", row("The mill burnt."), empty) is None


def test_truncation_ends_between_words(row, others):
    assert changed("truncation", row("One two three four five six."), others) == "One two three"
    assert changed("truncation", row("Word"), others) is None


def test_refusal_fluff_and_other_language(row, others):
    refused = changed("refusal", row("The mill burnt."), others)
    assert refused.startswith("I cannot answer")
    assert changed("refusal", row(refused), others) is None
    assert changed("fluff_added", row("The mill burnt. "), others).startswith("The mill burnt. I hope")
    foreign = {changed("other_language", row("The mill burnt."), others, seed) for seed in range(30)}
    assert len(foreign) == 5
