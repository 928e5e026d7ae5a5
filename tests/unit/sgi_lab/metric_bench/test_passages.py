from sgi.kernel.sample import Sample
from sgi_lab.metric_bench.catalogue import PERTURBATIONS
from sgi_lab.metric_bench.perturbation import Others

ABOUT = ("Snow fell on the hills.", "The old mill of Tolvik burnt in spring.", "Rain came late.")


def changed(name, sample, others, seed=0):
    return PERTURBATIONS[name].apply(sample, others, seed=seed)


def test_the_passage_that_holds_the_answer_is_dropped(row, others):
    result = changed("support_dropped", row("The mill of Tolvik burnt.", *ABOUT), others)
    assert result.contexts == (ABOUT[0], ABOUT[2])


def test_support_that_stands_twice_or_alone_is_not_dropped(row, others):
    assert changed("support_dropped", row("The mill burnt.", ABOUT[1], ABOUT[1]), others) is None
    assert changed("support_dropped", row("The mill burnt.", ABOUT[1]), others) is None


def test_contexts_become_those_of_another_question(row, others):
    result = changed("contexts_exchanged", row("The mill burnt.", *ABOUT), others)
    assert result.contexts[0].startswith("The keeper Olga Brandt")


def test_contexts_that_hold_the_whole_answer_too_are_no_error(row):
    lender = Sample(id="l", question="Other?", contexts=("And the mill burnt there.",), response="Yes.")
    assert changed("contexts_exchanged", row("The mill burnt.", *ABOUT), Others([lender])) is None
    assert changed("contexts_exchanged", row("The mill burnt.", *ABOUT), Others([])) is None


def test_shuffling_keeps_every_passage(row, others):
    for seed in range(6):
        result = changed("passages_shuffled", row("The mill burnt.", *ABOUT), others, seed)
        assert result.contexts != ABOUT
        assert sorted(result.contexts) == sorted(ABOUT)
    assert changed("passages_shuffled", row("The mill burnt.", ABOUT[0], ABOUT[0]), others) is None


def test_irrelevant_passages_stand_behind_or_before(row, others):
    behind = changed("irrelevant_behind", row("The mill burnt.", *ABOUT), others).contexts
    before = changed("irrelevant_before", row("The mill burnt.", *ABOUT), others).contexts
    assert behind[:3] == before[-3:] == ABOUT
    assert len(behind) == len(before) == 4
    assert changed("irrelevant_behind", row("The mill burnt.", *ABOUT), Others([])) is None


def test_the_answer_becomes_the_nearest_sentence_of_a_passage(row, others):
    result = changed("verbatim_copy", row("The mill burnt.", *ABOUT), others)
    assert result.response == ABOUT[1]
    assert changed("verbatim_copy", row(ABOUT[1], *ABOUT), others) is None
    assert changed("verbatim_copy", row("The mill burnt.", "Too short."), others) is None
