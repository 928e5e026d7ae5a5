"""Score pairs with bert-score, the weights in a folder and default settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker import serve

if TYPE_CHECKING:
    from collections.abc import Callable


def load(setting: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Return the scorer, its version and its number of threads."""
    from importlib.metadata import version

    import torch
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=setting["folder"], num_layers=setting["layers"], device="cpu")
    responses, references = zip(*setting["pairs"], strict=True)

    def score() -> list[list[float]]:
        return [part.tolist() for part in scorer.score(list(responses), list(references))]

    return score, {"version": version("bert-score"), "threads": torch.get_num_threads()}


if __name__ == "__main__":
    serve(load)
