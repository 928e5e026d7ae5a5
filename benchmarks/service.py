"""What the service adds to embedding: milliseconds a pair to evaluate and to save, as a run grows.

python benchmarks/service.py [PAIRS]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sgi.engine.application.service import DEFAULT_METRICS, RAGEvalService

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


async def measure(folder: Path, pairs: int, metrics: tuple[str, ...]) -> dict[str, list[float]]:
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
            made = await service.generate_and_evaluate(
                f"Who wrote Emma? {pair}", f"{reference} {pair}", answer=answer
            )
            evaluated = time.perf_counter()
            service.save_evaluation_to_db("bench", str(pair), made)
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


def main() -> None:
    """Measure and print medians; the last column is what part of the allowance was used."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    with tempfile.TemporaryDirectory() as folder:
        for metrics in (("semantic_similarity",), DEFAULT_METRICS):
            show(metrics, asyncio.run(measure(Path(folder), pairs, metrics)))


def show(metrics: tuple[str, ...], took: dict[str, list[float]]) -> None:
    """Medians, and how saving changes as a run grows."""
    title = f"{len(metrics)} metrics" if metrics[1:] else metrics[0]
    print(f"{title:<22}{'median':>10}{'95 %':>10}{'of 5 ms':>10}")
    for name, found in took.items():
        middle, most = statistics.median(found), statistics.quantiles(found, n=20)[-1]
        print(f"{name:<22}{middle:>7.2f} ms{most:>7.2f} ms{middle / WANTED:>10.2f}")
    tenth = max(1, len(took["save"]) // 10)
    growth = statistics.median(took["save"][-tenth:]) / statistics.median(took["save"][:tenth])
    print(f"saving into the last tenth of the run, over the first: {growth:.2f} x")


if __name__ == "__main__":
    main()
