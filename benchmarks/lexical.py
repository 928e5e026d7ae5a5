"""ROUGE-L and BLEU over real answer pairs, as ratios to rouge-score and sacrebleu.

python benchmarks/lexical.py [--quick]
"""

from __future__ import annotations

import json
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from harness import REPEATS, Figure, benchmark_main, seconds_of, time_alternately
from material import data_file
from sgi.kernel.features import Features
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Pair = tuple[str, str]
    Peer = Callable[[Sequence[Pair]], list[float]]

FILES = ("evouna", "halueval_qa", "truthfulqa", "stsb")
PAIRS = 10_000
ROWS = 256  # as the engine cuts them
TARGET = 20.0


def pairs(folder: Path) -> Iterator[Pair]:
    """Responses beside their references, from the published data."""
    for name in FILES:
        with (folder / f"{name}.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                given = row.get("response", row.get("hallucinated_answer"))
                reference = row.get("reference", row.get("right_answer"))
                if given and reference:
                    yield given, reference


def long_pairs(folder: Path) -> Iterator[Pair]:
    """Answers of several sentences beside the passages they were made from."""
    with (folder / "ragtruth_qa_test.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield row["response"], " ".join(row["context"])


def batch_of(some: Sequence[Pair]) -> Batch:
    return Batch.of([Sample(id=str(at), response=r, reference=g) for at, (r, g) in enumerate(some)])


def ours(name: str, batches: Sequence[Batch]) -> NDArray[np.float64]:
    scorer = metric(name)
    # New batches each time: the tokens of a batch are computed once.
    made = [scorer.score(Batch(batch.samples), Features()).values for batch in batches]
    return np.nan_to_num(np.concatenate(made))


def rouge_score(some: Sequence[Pair]) -> list[float]:
    scorer = RougeScorer(["rougeL"])
    return [scorer.score(reference, given)["rougeL"].fmeasure for given, reference in some]


def sacrebleu(some: Sequence[Pair]) -> list[float]:
    scorer = BLEU(effective_order=True)
    return [scorer.sentence_score(given, [reference]).score / 100 for given, reference in some]


def measure(*, quick: bool) -> Iterator[Figure]:
    """By turns in one process; both on one core."""
    folder = data_file().parent
    short = list(islice(pairs(folder), 300 if quick else PAIRS))
    long = list(islice(long_pairs(folder), 50 if quick else None))
    works: tuple[tuple[str, str, list[Pair], Peer, float | None], ...] = (
        ("rouge_l", "answer pairs", short, rouge_score, TARGET),
        ("rouge_l", "long answers beside their passages", long, rouge_score, None),
        ("bleu", "answer pairs", short, sacrebleu, None),
    )
    for name, what, found, peer, wanted in works:
        batches = [batch_of(found[start : start + ROWS]) for start in range(0, len(found), ROWS)]
        apart = np.abs(ours(name, batches) - peer(found)).max()
        work: dict[str, Callable[[], object]] = {
            "ours": partial(ours, name, batches),
            "peer": partial(peer, found),
        }
        times = time_alternately(work, 1 if quick else REPEATS)
        yield Figure(
            f"{name}, {len(found):,} {what}",
            "pairs/s",
            ours=len(found) / times["ours"].median,
            peer=len(found) / times["peer"].median,
            beside=peer.__name__.replace("_", "-"),
            wanted=wanted,
            note=f"apart by {apart:.1e} at most",
            repeats=seconds_of(times),
        )


if __name__ == "__main__":
    benchmark_main(measure)
