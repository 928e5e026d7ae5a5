"""Good answers to fit a guard on."""

from __future__ import annotations

from typing import Any


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
