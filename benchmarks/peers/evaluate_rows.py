"""Evaluate rows with `evaluate_batch` of factlens and the weights in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker import serve

if TYPE_CHECKING:
    from collections.abc import Callable


def load(setting: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Evaluate one row to load everything; return the evaluation and the version."""
    from importlib.metadata import version

    from factlens import evaluate_batch

    folder = setting["folder"]
    evaluate_batch(setting["rows"][:1], model=folder)
    return lambda: [score.value for score in evaluate_batch(setting["rows"], model=folder)], {
        "version": version("factlens")
    }


if __name__ == "__main__":
    serve(load)
