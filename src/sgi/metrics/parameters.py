"""Checks of the parameters of metrics."""

from __future__ import annotations

import math
from typing import Any, get_args


def check_choice(name: str, value: object, choices: Any) -> None:
    """Check that a parameter is one of the values of a Literal.

    Raises:
        ValueError: it is not; the message names the choices.
    """
    values = get_args(choices)
    if value not in values:
        raise ValueError(f"{name} is one of {', '.join(values)}, not {value!r}")


def checked_weights(weights: object, parts: tuple[str, ...]) -> tuple[float, ...]:
    """Return the weights as floats.

    Raises:
        ValueError: the weights are not one number for each part, from 0, at least one above 0.
    """
    if (
        not isinstance(weights, (list, tuple))
        or len(weights) != len(parts)
        or not all(type(weight) in (int, float) and 0 <= weight < math.inf for weight in weights)
        or not any(weights)
    ):
        raise ValueError(
            f"weights are {len(parts)} numbers from 0, for {', '.join(parts)}, not all 0; not {weights!r}"
        )
    return tuple(map(float, weights))
