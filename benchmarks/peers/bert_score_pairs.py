"""bert-score over pairs, with the weights in a folder, every setting left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from answering import answer

if TYPE_CHECKING:
    from collections.abc import Callable


def load(setting: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """The scorer, and how many threads it takes."""
    from importlib.metadata import version

    import torch
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=setting["folder"], num_layers=setting["layers"], device="cpu")
    given, references = zip(*setting["pairs"], strict=True)

    def score() -> list[list[float]]:
        return [part.tolist() for part in scorer.score(list(given), list(references))]

    return score, {"version": version("bert-score"), "threads": torch.get_num_threads()}


if __name__ == "__main__":
    answer(load)
