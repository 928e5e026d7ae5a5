"""factlens evaluates rows with its `evaluate_batch`, on the weights in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from answering import answer

if TYPE_CHECKING:
    from collections.abc import Callable


def load(setting: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Everything loaded: one row was evaluated."""
    from importlib.metadata import version

    from factlens import evaluate_batch

    folder = setting["folder"]
    evaluate_batch(setting["rows"][:1], model=folder)
    return lambda: [score.value for score in evaluate_batch(setting["rows"], model=folder)], {
        "version": version("factlens")
    }


if __name__ == "__main__":
    answer(load)
