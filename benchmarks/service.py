"""Measure the milliseconds per pair to evaluate and to save with the service, without embedding.

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
TARGET = 5.0
"""Milliseconds per pair, with saving."""


class InstantEmbedder:
    """An embedding client that takes no time."""

    def __init__(self) -> None:
        self.calls = 0
        self._vectors: list[list[float]] = np.random.default_rng(0).normal(size=(2, 1536)).tolist()

    def embed_texts(self, texts: list[str]) -> list[list[float]]:
        """Return the same vectors for all texts."""
        self.calls += 1
        return self._vectors[: len(texts)]


async def evaluate(folder: Path, pairs: int, metrics: tuple[str, ...]) -> dict[str, list[float]]:
    """Return the milliseconds of each step of each pair."""
    model = InstantEmbedder()
    times: dict[str, list[float]] = {"evaluate": [], "save": [], "both": []}
    answer = "Emma was written by Jane Austen, an English novelist, and it was first published in 1815."
    reference = "Jane Austen wrote the novel Emma, which appeared in December 1815."
    path = folder / f"{len(metrics)}.db"
    async with RAGEvalService(database=path, metrics=metrics, embedder=model, cache=False) as service:
        await service.generate_and_evaluate("warm-up", reference, answer=answer)
        for pair in range(pairs):
            start = time.perf_counter()
            evaluation = await service.generate_and_evaluate(
                f"Who wrote Emma? {pair}", f"{reference} {pair}", answer=answer
            )
            evaluated = time.perf_counter()
            service.save_evaluation_to_db("bench", str(pair), evaluation)
            saved = time.perf_counter()
            for name, seconds in (
                ("evaluate", evaluated - start),
                ("save", saved - evaluated),
                ("both", saved - start),
            ):
                times[name].append(seconds * 1000)
    if model.calls != pairs + 1:
        raise SystemExit(f"{model.calls} calls of the embedder for {pairs + 1} pairs")
    return times


def measure(*, quick: bool) -> Iterator[Figure]:
    """Yield medians with one metric, and with the default metrics."""
    pairs = 30 if quick else PAIRS
    with tempfile.TemporaryDirectory() as folder:
        for metrics in (("semantic_similarity",), DEFAULT_METRICS):
            times = asyncio.run(evaluate(Path(folder), pairs, metrics))
            name = f"{len(metrics)} metrics" if metrics[1:] else metrics[0]
            yield Figure(
                f"RAGEvalService, one pair evaluated and saved, {name}",
                "ms",
                ours=statistics.median(times["both"]),
                wanted=TARGET,
                higher_is_better=False,
                note=describe(times),
            )


def describe(times: dict[str, list[float]]) -> str:
    """Describe the time of each step, and how the time to save grows with the run."""
    tenth = max(1, len(times["save"]) // 10)
    growth = statistics.median(times["save"][-tenth:]) / statistics.median(times["save"][:tenth])
    medians = {name: statistics.median(values) for name, values in times.items()}
    p95 = statistics.quantiles(times["both"], n=20)[-1]
    return (
        f"without embedding; {medians['evaluate']:.1f} ms to evaluate, {medians['save']:.1f} to save; "
        f"p95 {p95:.1f}; saving the last tenth takes {growth:.2f} × the time of the first"
    )


if __name__ == "__main__":
    benchmark_main(measure)
