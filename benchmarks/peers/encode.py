"""Encode texts with sentence-transformers, the weights in a folder and default settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker import serve

if TYPE_CHECKING:
    from collections.abc import Callable


def load(setting: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Return the encoder, its version and its number of threads."""
    import sentence_transformers
    import torch

    model = sentence_transformers.SentenceTransformer(setting["folder"], device="cpu")
    about = {"version": sentence_transformers.__version__, "threads": torch.get_num_threads()}
    return lambda: model.encode(setting["texts"]).tolist(), about


if __name__ == "__main__":
    serve(load)
