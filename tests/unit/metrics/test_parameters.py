from typing import Literal

import pytest

from sgi.metrics.parameters import check_choice, checked_weights


def test_a_choice_is_one_of_those_there_are():
    check_choice("scale", "a", Literal["a", "b"])
    for wrong in ("c", "A", "", None, 1, ("a",), ["a"]):
        with pytest.raises(ValueError, match="scale must be one of a, b, not"):
            check_choice("scale", wrong, Literal["a", "b"])


def test_weights_become_floats():
    assert checked_weights([1, 0.5], ("x", "y")) == (1.0, 0.5)
    assert all(type(weight) is float for weight in checked_weights((2, 0), ("x", "y")))


@pytest.mark.parametrize(
    "weights", [(), (1,), (1, 2, 3), (0, 0), (1, -0.1), (1, float("nan")), (1, None), {1, 2}, "12"]
)
def test_other_weights_are_told(weights):
    with pytest.raises(ValueError, match="weights must be 2 numbers from 0, for x, y, not all 0"):
        checked_weights(weights, ("x", "y"))
