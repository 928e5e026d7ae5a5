import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sgi.kernel.prompts import estimated_tokens
from sgi.kernel.sample import Sample
from sgi.metrics.judged.reply_types import (
    Binary,
    Flag,
    Percentage,
    Quarters,
    Rating,
    Reason,
    Statement,
    pieces,
    portions,
    question_section,
    reference_section,
)

WRONG_NUMBERS = ["-1", "true", "false", "1.0", "0.0", '"1"', '"yes"', "null", "[1]", "{}", "1e0", "NaN"]


def read(kind, text):
    return TypeAdapter(kind).validate_json(text, strict=True)


@pytest.mark.parametrize(
    ("kind", "known", "beyond"),
    [(Binary, 2, "2"), (Rating, 4, "4"), (Quarters, 5, "5"), (Percentage, 101, "101")],
)
def test_a_vocabulary_is_exactly_its_whole_numbers(kind, known, beyond):
    assert [read(kind, str(number)) for number in range(known)] == list(range(known))
    for text in [beyond, *WRONG_NUMBERS]:
        with pytest.raises(ValidationError):
            read(kind, text)


@pytest.mark.parametrize("text", ["0", "1", '"true"', "null"])
def test_a_flag_is_true_or_false_alone(text):
    assert read(Flag, "true") is True
    assert read(Flag, "false") is False
    with pytest.raises(ValidationError):
        read(Flag, text)


@pytest.mark.parametrize("kind", [Reason, Statement])
def test_texts_are_squeezed_and_neither_blank_nor_endless(kind):
    assert read(kind, '"  The\\n\\tAnke \\u00a0 sails. "') == "The Anke sails."
    for text in ['""', '" \\n "', "1", "null", '"' + "x" * 5000 + '"']:
        with pytest.raises(ValidationError):
            read(kind, text)


def test_schemas_say_the_vocabulary():
    assert TypeAdapter(Binary).json_schema()["enum"] == [0, 1]
    assert TypeAdapter(Rating).json_schema()["enum"] == [0, 1, 2, 3]
    assert TypeAdapter(Percentage).json_schema() == {"maximum": 100, "minimum": 0, "type": "integer"}


TEXTS = st.text(st.characters(), max_size=200) | st.text("ab. \n!。é🗼", max_size=200)


@given(TEXTS, st.integers(-1, 30))
def test_pieces_are_the_whole_text_and_fit(text, budget):
    portion_list = pieces(text, budget)
    assert "".join(portion_list) == (text if text.strip() else "")
    assert all(piece and estimated_tokens(piece) <= max(1, budget) for piece in portion_list)


@given(st.lists(TEXTS, max_size=8), st.integers(1, 30), st.none() | st.integers(1, 4))
def test_portions_lose_nothing_keep_the_order_and_fit(passages, budget, most):
    portion_list = portions(passages, budget, most=most)
    together = [""] * len(passages)
    for portion in portion_list:
        assert portion.texts
        assert sum(map(estimated_tokens, portion.texts)) <= budget
        assert most is None or len(portion.texts) <= most
        for number, text in zip(portion.numbers, portion.texts, strict=True):
            together[number - 1] += text
    assert together == [passage if passage.strip() else "" for passage in passages]
    numbers = [number for portion in portion_list for number in portion.numbers]
    assert numbers == sorted(numbers)


@given(st.lists(TEXTS, max_size=8), st.integers(1, 30))
def test_no_two_neighbouring_portions_would_fit_into_one(passages, budget):
    sizes = [sum(map(estimated_tokens, portion.texts)) for portion in portions(passages, budget)]
    firsts = [estimated_tokens(portion.texts[0]) for portion in portions(passages, budget)]
    assert all(size + first > budget for size, first in zip(sizes, firsts[1:], strict=False))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Aaaa bbbb.\n\nCcc ddd. Eee", "Aaaa bbbb.\n\n"),
        ("Aaaa bbbb. Ccc ddd eee fff", "Aaaa bbbb. "),
        ("Aaaa bbbb cccc dddd eee", "Aaaa bbbb cccc "),
        ("東京は日本。大阪も日本である。", "東京は日本。"),
        ("x" * 40, "x" * 16),
    ],
)
def test_a_text_is_divided_at_the_best_boundary(text, first):
    assert pieces(text, 5 if "東" in text else 4)[0] == first


def test_a_hundred_thousand_characters_are_divided_in_no_time():
    text = "word " * 20_000
    portion_list = pieces(text, 100)
    assert "".join(portion_list) == text
    assert 250 <= len(portion_list) <= 260


def test_blank_texts_have_no_section():
    sample = Sample(id="1", question="\n", reference=[" ", "a", "b"])
    assert question_section(sample) == {}
    assert reference_section(sample) == {"accepted_answers": ("a", "b")}
    assert reference_section(Sample(id="1")) == {}
