"""What the service adds to embedding: milliseconds a pair to evaluate and to save, as a run grows.

python benchmarks/service.py [--quick]
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness import Figure, benchmark_main
from sgi.service.service import DEFAULT_METRICS, RAGEvalService

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = 1000
WANTED = 5.0
"""Milliseconds a pair, saving included."""


class Instant:
    """An embedding client that costs nothing, so that all that is measured is ours."""

    def __init__(self) -> None:
        self.calls = 0
        self._vectors: list[list[float]] = np.random.default_rng(0).normal(size=(2, 1536)).tolist()

    def embed_texts(self, texts: list[str]) -> list[list[float]]:
        """The same vectors for all texts."""
        self.calls += 1
        return self._vectors[: len(texts)]


async def evaluate(folder: Path, pairs: int, metrics: tuple[str, ...]) -> dict[str, list[float]]:
    """Milliseconds of each step of each pair."""
    model = Instant()
    took: dict[str, list[float]] = {"evaluate": [], "save": [], "both": []}
    answer = "Emma was written by Jane Austen, an English novelist, and it was first published in 1815."
    reference = "Jane Austen wrote the novel Emma, which appeared in December 1815."
    place = folder / f"{len(metrics)}.db"
    async with RAGEvalService(database=place, metrics=metrics, embedder=model, cache=False) as service:
        await service.generate_and_evaluate("warm-up", reference, answer=answer)
        for pair in range(pairs):
            began = time.perf_counter()
            evaluation = await service.generate_and_evaluate(
                f"Who wrote Emma? {pair}", f"{reference} {pair}", answer=answer
            )
            evaluated = time.perf_counter()
            service.save_evaluation_to_db("bench", str(pair), evaluation)
            saved = time.perf_counter()
            for name, seconds in (
                ("evaluate", evaluated - began),
                ("save", saved - evaluated),
                ("both", saved - began),
            ):
                took[name].append(seconds * 1000)
    if model.calls != pairs + 1:
        raise SystemExit(f"{model.calls} calls of the embedder for {pairs + 1} pairs")
    return took


def measure(*, quick: bool) -> Iterator[Figure]:
    """Medians with one metric and with all that are there by default."""
    pairs = 30 if quick else PAIRS
    with tempfile.TemporaryDirectory() as folder:
        for metrics in (("semantic_similarity",), DEFAULT_METRICS):
            took = asyncio.run(evaluate(Path(folder), pairs, metrics))
            name = f"{len(metrics)} metrics" if metrics[1:] else metrics[0]
            yield Figure(
                f"RAGEvalService, a pair evaluated and saved, {name}",
                "ms",
                ours=statistics.median(took["both"]),
                wanted=WANTED,
                higher_is_better=False,
                note=told(took),
            )


def told(took: dict[str, list[float]]) -> str:
    """Where the time goes, and how saving changes as a run grows."""
    tenth = max(1, len(took["save"]) // 10)
    growth = statistics.median(took["save"][-tenth:]) / statistics.median(took["save"][:tenth])
    middle = {name: statistics.median(found) for name, found in took.items()}
    late = statistics.quantiles(took["both"], n=20)[-1]
    return (
        f"embedding free; {middle['evaluate']:.1f} ms evaluating, {middle['save']:.1f} saving; "
        f"95 % within {late:.1f}; saving into the last tenth takes {growth:.2f} × the first"
    )


if __name__ == "__main__":
    benchmark_main(measure)
