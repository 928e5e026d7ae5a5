import pytest

from sgi.kernel import errors
from sgi.kernel.errors import (
    DataError,
    EmbedderError,
    MissingExtraError,
    SgiError,
    UnknownNameError,
    UsageError,
    install_target,
)


def test_the_tree_hangs_together():
    public = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = [kind for kind in public if issubclass(kind, Exception) and not issubclass(kind, Warning)]
    assert all(issubclass(kind, SgiError) for kind in kinds)
    assert {kind.__name__ for kind in kinds if issubclass(kind, EmbedderError)} == {
        "EmbedderError",
        "DimensionError",
        "ModelMissingError",
        "ModelCorruptError",
        "NonFiniteVectorError",
    }
    assert {kind.__name__ for kind in kinds if issubclass(kind, errors.JudgeError)} == {
        "JudgeError",
        "JudgeUnavailableError",
        "JudgeRejectedError",
        "JudgeRefusedError",
        "JudgeMalformedError",
    }
    # Whoever has spent enough wants the run to stop, not one more failed row.
    assert not issubclass(errors.BudgetExceededError, errors.JudgeError)


@pytest.mark.parametrize(("hint", "text"), [("", "It broke."), ("Mend it.", "It broke. Mend it.")])
def test_a_message_ends_with_its_hint(hint, text):
    error = SgiError("It broke.", hint=hint)
    assert (str(error), error.message, error.hint) == (text, "It broke.", hint)


@pytest.mark.parametrize(
    ("near", "text"),
    [
        ((), "Unknown metric 'x'."),
        (("y",), "Unknown metric 'x'. Did you mean 'y'?"),
        (("y", "z"), "Unknown metric 'x'. Did you mean 'y' or 'z'?"),
    ],
)
def test_an_unknown_name_says_what_comes_near(near, text):
    error = UnknownNameError("metric", "x", near, hint="Look.")
    assert str(error) == f"{text} Look."
    assert isinstance(error, UsageError)
    assert (error.kind, error.name, error.suggestions) == ("metric", "x", near)


def test_a_missing_extra_names_the_pip_line():
    error = MissingExtraError("Reading Parquet", "parquet")
    assert f"pip install {install_target('parquet')}" in str(error)
    assert error.extra == "parquet"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "bad"),
        ({"file": "a.csv"}, "a.csv: bad"),
        ({"line": 3}, "row 3: bad"),
        ({"file": "a.csv", "line": 3}, "a.csv:3: bad"),
        (
            {"file": "a", "line": 1, "sample_id": "q\n1", "field": "label"},
            "a:1: id 'q\\n1': field 'label': bad",
        ),
    ],
)
def test_a_data_error_says_where(place, text):
    assert str(DataError("bad", **place)) == text
    assert str(DataError("bad", **place, hint="Mend it.")) == f"{text}. Mend it."


@pytest.mark.parametrize(
    "error",
    [
        UnknownNameError("metric", "sgy", ("sgi",)),
        MissingExtraError("x", "hub"),
        DataError("no", file="a", line=3, field="id"),
    ],
)
def test_errors_cross_between_processes(error):
    import copy
    import pickle

    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert twin.__dict__ == error.__dict__


@pytest.mark.parametrize("message", ["It is so.", "Is it?", "No!", "Read this:"])
def test_a_hint_follows_a_whole_sentence(message):
    assert str(UsageError(message, hint="Mend it.")) == f"{message} Mend it."
    assert str(UsageError("it is so", hint="Mend it.")) == "it is so. Mend it."
