from __future__ import annotations

import pytest

from sgi_lab.metric_bench.catalogue import PERTURBATIONS


def changed(name, sample, others, seed=0):
    result = PERTURBATIONS[name].apply(sample, others, seed=seed)
    return None if result is None else result.response


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
