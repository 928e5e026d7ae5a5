"""Checks of the parameters of metrics."""

from __future__ import annotations

import math
from typing import get_args


def check_choice(name: str, value: object, choices: object) -> None:
    """Raise an error if a parameter is not one of the values of a Literal type.

    Raises:
        ValueError: the value is not allowed; the message lists the allowed values.
    """
    values = get_args(choices)
    if value not in values:
        raise ValueError(f"{name} must be one of {', '.join(values)}, not {value!r}")


def checked_weights(weights: object, parts: tuple[str, ...]) -> tuple[float, ...]:
    """Return the weights as floats.

    Raises:
        ValueError: there is not one weight for each part, a weight is negative or infinite, or all are 0.
    """
    if (
        not isinstance(weights, (list, tuple))
        or len(weights) != len(parts)
        or not all(type(weight) in (int, float) and 0 <= weight < math.inf for weight in weights)
        or not any(weights)
    ):
        raise ValueError(
            f"weights must be {len(parts)} numbers from 0, for {', '.join(parts)}, not all 0; not {weights!r}"
        )
    return tuple(map(float, weights))


def check_share(name: str, value: object) -> float:
    """Return a parameter as a float.

    Raises:
        ValueError: it is not a number from 0 to 1.
    """
    if type(value) not in (int, float) or not 0 <= value <= 1:  # type: ignore[operator]
        raise ValueError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)  # type: ignore[arg-type]
