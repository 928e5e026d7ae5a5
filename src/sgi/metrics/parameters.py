"""Checks of the parameters that metrics are made with; each error says what would be right."""

from __future__ import annotations

import math
from typing import Any, get_args


def check_choice(name: str, value: object, choices: Any) -> None:
    """The value is one of a Literal's.

    Raises:
        ValueError: it is not; names those there are.

    >>> from typing import Literal
    >>> check_choice("scale", "cosine", Literal["cosine", "affine"])
    """
    values = get_args(choices)
    if value not in values:
        raise ValueError(f"{name} is one of {', '.join(values)}, not {value!r}")


def checked_weights(weights: object, parts: tuple[str, ...]) -> tuple[float, ...]:
    """The weights as floats, one for each part.

    Raises:
        ValueError: they are not as many numbers from 0 on, one at least above 0.

    >>> checked_weights((1, 0), ("correctness", "consistency"))
    (1.0, 0.0)
    """
    if (
        not isinstance(weights, (list, tuple))
        or len(weights) != len(parts)
        or not all(type(weight) in (int, float) and 0 <= weight < math.inf for weight in weights)
        or not any(weights)
    ):
        raise ValueError(
            f"weights are {len(parts)} numbers from 0 on, for {', '.join(parts)}, not all 0; not {weights!r}"
        )
    return tuple(map(float, weights))
