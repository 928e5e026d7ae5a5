from __future__ import annotations

import pytest

from sgi.metrics.grounding.facts.check import Verdict, check_facts
from sgi.metrics.grounding.facts.name_support import name_support
from sgi.metrics.grounding.facts.names import names


def is_borne_out(claim, passage):
    (name,) = names(f"it was {claim} there")
    return name_support(name, passage) is not None


@pytest.mark.parametrize(
    ("claim", "passage", "supported"),
    [
        ("US", "They told us all of it.", False),
        ("U.S.", "They told us all of it.", False),
        ("United States", "They told us all of it.", False),
        ("WHO", "the man who left", False),
        ("US", "in the US", True),
        ("US", "of u.s. origin", True),
        ("US", "in the United States", True),
        ("WHO", "by the World Health Organization", True),
    ],
)
def test_an_acronym_is_not_the_function_word_it_reads_like(claim, passage, supported):
    assert is_borne_out(claim, passage) is supported


def test_a_question_without_capitals_names_such_acronyms_too():
    claim = "The US has many lakes."

    assert check_facts(claim, ["Of lakes."], "how many lakes has the us")[0].verdict is Verdict.SUPPORTED
    assert check_facts(claim, ["Of lakes."], "Did Ada tell us of lakes?")[0].verdict is Verdict.ABSENT


@pytest.mark.parametrize(
    ("claim", "passage", "supported"),
    [
        ("IRS", "It is said, and irises rot slowly.", False),
        ("IRS", "in Iowa, Rome, Spain", False),
        ("IRS", "in Iowa. Rome Spain", False),
        ("IRS", "the old Internal Revenue Service Office", True),
        ("DOD", "the U.S. Department of Defense Office", True),
        ("MRIs", "Magnetic Resonance Imaging", True),
        ("MRIs", "Modern Roman", False),
    ],
)
def test_an_acronym_is_of_capitalised_words_that_stand_together(claim, passage, supported):
    assert is_borne_out(claim, passage) is supported


@pytest.mark.parametrize(
    ("claim", "passage", "supported"),
    [
        ("Julia Roberts", "Julian Roberts", False),
        ("Julian Roberts", "Julia Roberts", False),
        ("Georgia", "by George", False),
        ("Carla Bruni", "Carlo Bruni", False),
        ("Georgia", "the Georgian army", True),
        ("Mexican", "in Mexico", True),
        ("Chinese", "in China", True),
        ("Iraqi", "in Iraq", True),
        ("Beatle", "the Beatles", True),
    ],
)
def test_only_a_place_and_its_people_share_a_root(claim, passage, supported):
    assert is_borne_out(claim, passage) is supported
