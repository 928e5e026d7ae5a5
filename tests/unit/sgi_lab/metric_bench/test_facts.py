import re

import pytest

from sgi.kernel.sample import Sample
from sgi_lab.metric_bench.catalogue import PERTURBATIONS
from sgi_lab.metric_bench.numbers import plain, values_of
from sgi_lab.metric_bench.perturbation import Others


def changed(name, sample, others, seed=0):
    result = PERTURBATIONS[name].apply(sample, others, seed=seed)
    return None if result is None else result.response


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The tower has 674 steps.", r"The tower has [1-9]\d\d steps\."),
        ("It cost $1,250.50 then.", r"It cost \$[1-9],\d{3}\.\d\d then\."),
        ("A share of 12.5% fell.", r"A share of [1-9]\d\.\d% fell\."),
        ("10 of the 10 men left.", r"([1-9]\d) of the \1 men left\."),
    ],
)
def test_a_number_becomes_a_strange_one_of_its_form(row, others, text, form):
    for seed in range(5):
        result = changed("number_swap", row(text), others, seed)
        assert result != text
        assert re.fullmatch(form, result)
        old, new = values_of([text]), values_of([result])
        assert (new - old).isdisjoint(values_of(row(text).contexts))


@pytest.mark.parametrize(
    "text",
    [
        *("It opened in 1889.", "See passage 3 and passage 12.", "1. Wash it.\n2. Dry it."),
        *("Version 1.2.3 of file7 is at 10:30.", "No number stands here."),
    ],
)
def test_years_list_numbers_and_citations_are_no_numbers_to_swap(row, others, text):
    assert changed("number_swap", row(text), others) is None


def test_a_number_that_every_other_stands_beside_is_left(row, others):
    digits = " ".join(str(digit) for digit in range(10))
    assert changed("number_swap", row("It has 7 doors.", digits), others) is None


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("It is 5 km away.", "It is 5 miles away."),
        ("It is five miles away.", "It is five kilometers away."),
        ("He weighs 80 kg.", "He weighs 80 lb."),
        ("It took 3 days.", "It took 3 weeks."),
        ("It costs $30 a year.", "It costs €30 a year."),
        ("Bake at 400°F.", "Bake at 400°C."),
        ("About 7% of all.", "About 7‰ of all."),
        ("Sold 2 Million copies.", "Sold 2 Billion copies."),
    ],
)
def test_a_unit_becomes_another(row, others, text, result):
    assert changed("unit_swap", row(text), others) == result


def test_a_unit_that_the_passages_hold_as_well_is_left(row, others):
    assert changed("unit_swap", row("It is 5 km away.", "It is 5 km, or 5 miles, away."), others) is None


def test_a_unit_needs_a_number(row, others):
    assert changed("unit_swap", row("It took days, and many miles."), others) is None


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("The pass is open.", "The pass is not open."),
        ("The pass is not open.", "The pass is open."),
        ("The pass isn't open.", "The pass is open."),
        ("He cannot swim.", "He can swim."),
        ("He can't swim.", "He can swim."),
        ("It does not stay.", "It does stay."),
        ("It has been sold.", "It has not been sold."),
    ],
)
def test_a_statement_is_negated(row, others, text, result):
    assert changed("negation", row(text), others) == result


@pytest.mark.parametrize(
    "text",
    ["Millard Fillmore", "Is it open?", "Ask whether it is open.", "It has two doors.", "The will of May."],
)
def test_what_states_nothing_with_an_auxiliary_is_not_negated(row, others, text):
    assert changed("negation", row(text), others) is None


def test_a_name_becomes_one_of_another_row_throughout(row, others):
    text = "Ada Stone built it. The mill of Ada Stone burnt."
    result = changed("entity_swap", row(text), others)
    assert result in {text.replace("Ada Stone", new) for new in ("Olga Brandt", "Cape Morwen", "Tom Hale")}


def test_a_sentence_opener_is_no_name(row, others):
    assert changed("entity_swap", row("Install bird netting."), others) is None


def test_a_name_that_the_passages_do_not_hold_is_left(row, others):
    assert changed("entity_swap", row("It was Ada Stone.", "Nobody knows."), others) is None


def test_no_name_is_taken_that_the_row_holds(row):
    lender = Sample(
        id="l", question="?", contexts=("Then Ada Stone met Bea Moor.",), response="So Ada Stone left."
    )
    known = row("It was Cleo Finch.", "It was Cleo Finch, said Ada Stone, not Bea Moor.")
    assert changed("entity_swap", known, Others([lender])) is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("It opened in 1889.", r"It opened in 1(8[89]|9)\d{1,2}\."),
        ("It opened on 4 March.", r"It opened on \d{1,2} March\."),
        ("It opened on March 4.", r"It opened on March \d{1,2}\."),
    ],
)
def test_a_date_is_shifted_to_one_the_passages_do_not_hold(row, others, text, form):
    for seed in range(4):
        result = changed("date_shift", row(text), others, seed)
        assert result != text
        assert re.fullmatch(form, result)
        assert plain(re.search(r"\d+", result)[0]) != plain(re.search(r"\d+", text)[0])


def test_a_month_beside_a_year_may_be_shifted(row, others):
    result = {changed("date_shift", row("It came in March 1950."), others, seed) for seed in range(12)}
    assert any("March" not in text for text in result)
    assert any("1950" not in text for text in result)


def test_an_amount_is_no_year(row, others):
    assert changed("date_shift", row("It cost $1950 and weighed 1,950 kg."), others) is None


def test_a_drawn_value_that_the_passages_imply_is_drawn_again(row, others):
    held = " ".join(f"{digit} km." for digit in range(1, 10) if digit != 4)
    sample = row("It is 7 km off.", f"It is 7 km off. {held} Or 4000 m.")
    assert {changed("number_swap", sample, others, seed) for seed in range(8)} <= {None, "It is 0 km off."}


def test_a_number_of_the_question_is_no_error(row, others):
    asked = " ".join(str(digit) for digit in range(10) if digit != 7)
    assert changed("number_swap", row("It has 7 doors.", "7 doors.", question=asked), others) is None


def test_a_citation_keeps_its_number_where_another_of_the_same_value_is_swapped(row, others):
    text = "It has 2 doors, says passage 2.\n2. It has 2 doors."
    result = changed("number_swap", row(text), others)
    assert re.fullmatch(r"It has (\d) doors, says passage 2\.\n2\. It has \1 doors\.", result)
    assert result != text


@pytest.mark.parametrize(
    "text", ["He runs 1500 metres.", "It is 1200 m high.", "They paid 1800 dollars.", "It turned 1500 times."]
)
def test_a_measure_of_four_digits_is_no_year(row, others, text):
    assert changed("date_shift", row(text), others) is None


@pytest.mark.parametrize(
    "text",
    [
        "Here are the steps: wash it.",
        "The steps are as follows: wash it.",
        "If it is open, go in.",
        "Go in, even if they are not there.",
    ],
)
def test_openers_of_lists_and_conditions_are_not_negated(row, others, text):
    assert changed("negation", row(text), others) is None


@pytest.mark.parametrize("name", ["number_swap", "unit_swap", "date_shift", "entity_swap"])
@pytest.mark.parametrize(
    "text",
    [" ".join(map(str, range(10_000, 14_000))), "$1" * 50_000, "A " * 50_000, "Ada met Bea in 1900, " * 200],
    ids=["numbers", "money", "capitals", "names"],
)
def test_of_an_endless_sentence_nothing_is_split_again(row, others, name, text, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "sgi_lab.metric_bench.changed_facts.is_still_supported", lambda *given: asked.append(given) or True
    )
    assert changed(name, row(text), others) is None
    assert asked == []


def test_a_row_whose_every_draw_is_implied_is_given_up(row, others, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "sgi_lab.metric_bench.changed_facts.is_still_supported", lambda *given: asked.append(given) or True
    )
    text = " ".join(f"It has {number} doors." for number in range(100, 400))
    assert changed("number_swap", row(text), others) is None
    assert len(asked) == 20
