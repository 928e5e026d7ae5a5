"""sentence-transformers encodes texts with the weights in a folder, every setting left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from answering import answer

if TYPE_CHECKING:
    from collections.abc import Callable


def load(setting: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """The model, and how many threads it takes."""
    import sentence_transformers
    import torch

    model = sentence_transformers.SentenceTransformer(setting["folder"], device="cpu")
    about = {"version": sentence_transformers.__version__, "threads": torch.get_num_threads()}
    return lambda: model.encode(setting["texts"]).tolist(), about


if __name__ == "__main__":
    answer(load)
