"""Rows with answers that the checks flag, that have a low score, or that are right."""

from typing import Any

PASSAGES = ["The Eiffel Tower is 330 m tall.", "The company of Gustave Eiffel built the tower in Paris."]
ANSWERS = {
    "right": ("The Eiffel Tower is 330 m tall.", True),
    "low": ("Penguins enjoy warm chocolate pudding with friends.", False),
    "absent": ("The company of Gustave Eiffel built the tower with 57 cranes.", False),
    "contradicted": ("The Eiffel Tower is 312 m tall.", False),
}


def rows_to_check(copies: int = 1) -> list[dict[str, Any]]:
    """Return labelled rows, the worst last; ids are their kinds, or their kinds and numbers."""
    return [
        {
            "id": kind if copies == 1 else f"{kind}-{number}",
            "question": f"What is known of tower {number}?",
            "contexts": PASSAGES,
            "response": response,
            "label": label,
        }
        for number in range(copies)
        for kind, (response, label) in ANSWERS.items()
    ]
