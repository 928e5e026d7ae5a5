"""Good answers to fit a guard on, and a fitted guard."""

from __future__ import annotations

from functools import cache
from typing import Any

from sgi.service.guard_file import GuardFile, fit_guard


def good_rows(count: int) -> list[dict[str, Any]]:
    """Return good answers to different questions, of different lengths."""
    return [
        {
            "id": str(number),
            "question": f"How tall is tower {number}?",
            "contexts": [f"Tower {number} is {number + 100} m tall. It stands in Paris, by the river."],
            "response": f"Tower {number} is {number + 100} m tall." + " It stands in Paris." * (number % 3),
        }
        for number in range(count)
    ]


@cache
def _fitted() -> GuardFile:
    return fit_guard(good_rows(60)).file


def fitted_guard(limit: float | None = None) -> GuardFile:
    """Return a guard that was fitted on good answers; with another limit, if one is given."""
    return _fitted() if limit is None else _fitted().model_copy(update={"limit": limit})
