import pytest

from sgi.analysis.labels import Labels, read_labels
from sgi.kernel.errors import DataError


def read(*values, **options):
    return read_labels("human", values, [f"row {place}" for place in range(len(values))], **options)


@pytest.mark.parametrize(
    ("given", "kind", "values"),
    [
        ((True, False, None), "yes or no", (1.0, 0.0, None)),
        (("Yes", " no ", "TRUE", "false", "1", "0", ""), "yes or no", (1, 0, 1, 0, 1, 0, None)),
        ((True, "no", 1), "yes or no", (1.0, 0.0, 1.0)),
        ((1, 2.5, None, 0), "numbers", (1.0, 2.5, None, 0.0)),
        (("3", "-1e2", ".5", "4."), "numbers", (3.0, -100.0, 0.5, 4.0)),
        (("Correct", "wrong ", "", None), "classes", ("correct", "wrong", None, None)),
        (("yes", "no", "maybe"), "classes", ("yes", "no", "maybe")),
        (("nan", "inf", "1_0", "１"), "classes", ("nan", "inf", "1_0", "１")),
        ((None, ""), "yes or no", (None, None)),
    ],
)
def test_kinds(given, kind, values):
    assert read(*given) == Labels("human", kind, values)


def test_a_scale_makes_numbers_of_0_and_1():
    assert read(0, 1, 1, numbers=True) == Labels("human", "numbers", (0.0, 1.0, 1.0))


@pytest.mark.parametrize("value", [["a"], {"a": 1}, float("nan"), float("inf"), 10**400])
def test_what_cannot_be_a_label_is_named_with_its_row(value):
    with pytest.raises(DataError) as caught:
        read(1, None, value)
    message = str(caught.value)
    assert ("'row 2'" in message, "'human'" in message) == (True, True)
    assert "neither a number nor a text" in message
    assert len(message) < 400


@pytest.mark.parametrize("values", [(3, "n/a"), (1, "good"), ("0.5", "yes", 0.2)])
def test_kinds_do_not_mix(values):
    with pytest.raises(DataError) as caught:
        read(*values)
    assert "'row 1'" in str(caught.value)


def test_true_beside_numbers_is_refused():
    with pytest.raises(DataError):
        read(*[2, True])


def test_words_are_no_numbers_where_a_scale_is_given():
    with pytest.raises(DataError, match="yes"):
        read("yes", "no", numbers=True)


def test_known_marks_the_rows_with_a_label():
    assert read(1, None, 0, None).known_rows.tolist() == [True, False, True, False]
