import unicodedata

import pytest

from sgi.kernel.sample import Sample
from sgi.text.tokenizers import sentences
from sgi_lab.metric_bench.catalogue import PERTURBATIONS
from sgi_lab.metric_bench.perturbation import Others


def changed(name, sample, others, seed=0):
    result = PERTURBATIONS[name].apply(sample, others, seed=seed)
    return None if result is None else result.response


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("contractions", "It does not stay.", "It doesn't stay."),
        ("contractions", "It doesn’t stay.", "It does not stay."),
        ("contractions", "I know they are late.", "I know they're late."),
        ("synonyms", "The film often runs.", "The film frequently runs."),
        ("number_words", "He has 3 sons and 7 daughters.", "He has three sons and seven daughters."),
        ("number_words", "He has three sons.", "He has 3 sons."),
        ("clause_order", "In 1950, the mill burnt.", "The mill burnt in 1950."),
        ("clause_order", "The mill burnt in 1950.", "In 1950, the mill burnt."),
        ("clause_order", "Ada Stone left in 1950. So it is.", "In 1950, Ada Stone left. So it is."),
        ("bullets", "One came. Two left.", "- One came.\n- Two left."),
    ],
)
def test_the_same_is_said_otherwise(row, others, name, text, result):
    assert changed(name, row(text), others) == result


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("contractions", "Yes, it is."),
        ("contractions", "It was late."),
        ("contractions", "It is Ada’s mill."),
        ("synonyms", "It was a large film; however, it failed."),
        ("synonyms", "The Film Society met."),
        ("number_words", "See passage 3 for all."),
        ("number_words", "On March 3 the mill burnt."),
        ("number_words", "It is 4 by 6 feet and cost $3 million."),
        ("number_words", "It has three hundred doors."),
        ("clause_order", "She was born in 1900 and died in 1950."),
        ("clause_order", "In 1950, the mill burnt, and the dam broke."),
        ("bullets", "Only one sentence."),
        ("bullets", "- One came.\n- Two left."),
        ("unicode_form", "Plain words only."),
    ],
)
def test_what_would_not_be_safe_is_left(row, others, name, text):
    assert changed(name, row(text), others) is None


def test_a_frame_stands_before_the_answer(row, others):
    result = {changed("framed", row("In Rome."), others, seed) for seed in range(12)}
    assert len(result) == 3
    assert all(text.endswith(": In Rome.") for text in result)


def test_other_blanks_hold_the_same_words(row, others):
    text = "One two three\nfour five six."
    result = changed("white_space", row(text), others)
    assert result.split() == text.split()
    assert result.count("\n") == 2
    assert len(sentences(result)) == len(sentences(text))


def test_another_form_of_unicode_is_the_same_to_a_reader(row, others):
    result = changed("unicode_form", row("Café isn't up-to-date."), others)
    assert result == "Cafe\u0301 isn’t up\u2011to\u2011date."
    assert unicodedata.normalize("NFC", result).startswith("Café")


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("role_swap", "The keeper saw the miller in May.", None),  # "saw" is not in the list of relations
        (
            "role_swap",
            "The keeper has sent rent to the miller.",
            "The miller has sent rent to the keeper.",
        ),
        (
            "role_swap",
            "It says that Ada Stone defeated Bea Moor.",
            "It says that Bea Moor defeated Ada Stone.",
        ),
        ("role_swap", "In May Ada Stone met Bea Moor.", None),
        ("role_swap", "Keep it in the box in the cellar.", None),
        ("role_swap", "The tower is the oldest part.", None),
        ("order_swap", "He left before the war.", "He left after the war."),
        ("order_swap", "He went from Rome to Ostia in May.", "He went from Ostia to Rome in May."),
        ("antonym_swap", "The shop is open today.", "The shop is closed today."),
        ("comparative_swap", "It is higher than the mill.", "It is lower than the mill."),
        ("quantifier_swap", "Here some keepers swim.", "Here all keepers swim."),
        ("quantifier_swap", "He usually swims.", "He always swims."),
        ("modality_swap", "It may cause harm.", "It will cause harm."),
        ("modality_swap", "Keepers must pay.", "Keepers may pay."),
        ("modality_swap", "If it may cause harm, stop.", None),
        ("antonym_swap", "The passages say that it is open today.", None),
    ],
)
def test_a_few_words_change_what_is_said(row, others, name, text, result):
    assert changed(name, row(text), others) == result


def test_a_change_that_the_passages_state_is_left(row, others):
    sample = row("The shop is open today.", "The shop is open today. The mill is closed.")
    assert changed("antonym_swap", sample, others) is None


def test_a_word_that_the_passages_do_not_have_is_left(row, others):
    assert changed("antonym_swap", row("The shop is open today.", "One can buy bread."), others) is None


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("voice", "Ada Stone built the mill in 1950.", "The mill was built by Ada Stone in 1950."),
        ("voice", "The mill was built by Ada Stone.", "Ada Stone built the mill."),
        ("voice", "It was built by Ada Stone.", None),
        (
            "subordinate_order",
            "The mill is shut because the dam broke.",
            "Because the dam broke, the mill is shut.",
        ),
        (
            "subordinate_order",
            "When the dam broke, the mill was shut.",
            "The mill was shut when the dam broke.",
        ),
        (
            "sentence_joined",
            "The mill has a keeper, who is a friend of Ada.",
            "The mill has a keeper. This person is a friend of Ada.",
        ),
        ("sentence_joined", "Ada has a mill. It is old.", "Ada has a mill, and it is old."),
        ("negation_reworded", "It does not have a roof.", "It lacks a roof."),
        ("negation_reworded", "Now they cannot swim.", "Now they are unable to swim."),
        ("negation_reworded", "Then it is impossible.", "Then it is not possible."),
        ("double_negation", "The bird is common here.", "The bird is not uncommon here."),
        ("comparison_reworded", "The tower is taller than the mill.", "The mill is shorter than the tower."),
        ("comparison_reworded", "It has more than 50 rooms.", "It has over 50 rooms."),
    ],
)
def test_the_structure_changes_and_the_meaning_stays(row, others, name, text, result):
    assert changed(name, row(text), others) == result


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
