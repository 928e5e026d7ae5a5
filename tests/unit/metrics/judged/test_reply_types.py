import pytest
from pydantic import TypeAdapter, ValidationError

from sgi.metrics.judged.reply_types import Binary, Flag, Percentage, Quarters, Rating, Reason, Statement

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
