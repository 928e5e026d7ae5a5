"""Pairs of a passage and a sentence, by phenomenon: what contradicts, and what says the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.claim_checks import claim_conflicts

CONTRADICTED = [
    # negation in other words
    ("negation", "The tower has a roof of lead.", "The tower lacks a roof of lead."),
    ("negation", "Keepers cannot swim in the lake.", "Keepers are able to swim in the lake."),
    ("negation", "The keeper won the race.", "The keeper failed to win the race."),
    ("negation", "The keeper is in the old tower.", "The keeper isn't in the old tower."),
    ("negation", "The lake is full of fish in winter.", "The lake is without fish in winter."),
    ("negation", "The tower stands in Rome.", "The tower no longer stands in Rome."),
    (
        "negation",
        "The islands are in the north of the lake.",
        "The islands do not lie in the north of the lake.",
    ),
    ("negation", "The keeper bought the old mill.", "The keeper did not buy the old mill."),
    # opposites and prefixes
    ("antonym", "The shop is open on Monday in May.", "The shop is closed on Monday in May."),
    ("antonym", "The bird is common in the north.", "The bird is uncommon in the north."),
    ("antonym", "Exports decreased in the north in May.", "Exports increased in the north in May."),
    ("antonym", "The keeper won the race in May.", "The keeper lost the race in May."),
    # how much, how often, how surely
    ("quantifier", "Some keepers swim in the lake.", "All keepers swim in the lake."),
    ("quantifier", "He rarely swims in the lake.", "He usually swims in the lake."),
    ("modality", "The drug may cause side effects.", "The drug will cause side effects."),
    ("modality", "Members may pay a fee in May.", "Members must pay a fee in May."),
    # roles
    ("relation", "Then Ada paid Ben.", "Ben paid Ada."),
    ("relation", "The miller is the father of the keeper.", "The keeper is the father of the miller."),
    ("relation", "The mill is taller than the tower.", "The tower is taller than the mill."),
    ("relation", "The cracks cause frost in the wall.", "Frost causes the cracks in the wall."),
    ("relation", "The road leads from Ostia to Rome.", "The road leads from Rome to Ostia."),
    ("relation", "Remove the outside cover on the vent.", "Remove the vent on the outside cover."),
]

THE_SAME = [
    ("The tower lacks a roof of lead.", "The tower does not have a roof of lead."),
    ("Keepers cannot swim in the lake.", "Keepers are unable to swim in the lake."),
    ("The keeper did not win the race.", "The keeper failed to win the race."),
    ("The shop is closed on Monday.", "The shop is not open on Monday."),
    ("The bird is common in the north.", "The bird is not uncommon in the north."),
    ("The bird is uncommon in the north.", "The bird is not common in the north."),
    ("All keepers swim in the lake.", "Some keepers swim in the lake."),
    ("The drug causes side effects.", "The drug may cause side effects."),
    ("Ada paid Ben.", "Ben was paid by Ada."),
    ("The tower is taller than the mill.", "The mill is shorter than the tower."),
    ("Ada sold the mill to Ben.", "Ben bought the mill from Ada."),
    ("Ada left before Ben.", "Ben left after Ada."),
    ("Plums, pears and apples grow here.", "Apples, pears and plums grow here."),
    ("Paris is the capital of France.", "The capital of France is Paris."),
    ("Keep it in a box in the cellar.", "Keep it in the cellar in a box."),
    ("Open the valve. Then close the valve.", "Step 2: The valve is closed."),
]


def kinds(sentence, *passages):
    return [check.fact.kind.value for check in claim_conflicts(sentence, passages)]


@pytest.mark.parametrize(("kind", "passage", "sentence"), CONTRADICTED)
def test_what_a_passage_contradicts(kind, passage, sentence):
    assert kinds(sentence, passage) == [kind]


@pytest.mark.parametrize(("passage", "sentence"), THE_SAME)
def test_what_says_the_same(passage, sentence):
    assert kinds(sentence, passage) == []


def test_positions_are_those_of_the_sentence_and_of_the_passage():
    text = "It rained. Frost causes the cracks in the wall."
    passage = "The cracks cause frost in the wall. It rained."
    [check] = claim_conflicts(text, ["It is so.", passage])
    assert text.partition("rained. ")[2][check.fact.start : check.fact.end] == "Frost causes the cracks"
    assert check.passage == 1
    assert passage[check.start : check.end] == check.found == "cracks cause frost in the wall"


NAMES = "Ada Ben keeper tower not never open closed all some may must is was paid of in than taller , . and"
WORDS = st.sampled_from(NAMES.split())
TEXTS = st.lists(WORDS, min_size=1, max_size=25).map(lambda words: re.sub(r" ([,.])", r"\1", " ".join(words)))


@given(TEXTS)
def test_a_copied_sentence_is_not_contradicted(text):
    assert claim_conflicts(text, [f"{text} {text}"]) == claim_conflicts(text, [text]) == []


@given(TEXTS, st.lists(TEXTS, min_size=2, max_size=3))
def test_the_order_of_passages_does_not_matter(text, passages):
    assert kinds(text, *passages) == kinds(text, *reversed(passages))


@pytest.mark.parametrize(
    "text",
    [
        "not " * 3_000,
        "a, " * 3_000,
        "the Ada of " * 2_000,
        "un" * 5_000,
        "may must all some " * 1_000,
        ". " * 5_000,
    ],
)
def test_hostile_texts_are_read(text):
    assert kinds(text, text) == []
