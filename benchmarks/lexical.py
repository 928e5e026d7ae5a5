"""Compare ROUGE-L and BLEU with rouge-score, sacrebleu and other toolkits on real answer pairs.

    python benchmarks/lexical.py [--quick]

For the toolkits, SGI is measured as `sgi.evaluate` with rows, statuses and summary. Their metrics are called
directly, without the overhead of their frameworks. Unlike SGI, they stem words.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

import sgi
from harness import Figure, benchmark_main, processor_time, rate_figure, time_alternately
from material import FROM_SAMPLE, SAMPLE, data_file, long_rows, rows
from peer_processes import start_peer
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Pair = tuple[str, str]
    Peer = Callable[[Sequence[Pair]], list[float]]

FILES = ("evouna", "halueval_qa", "truthfulqa", "stsb")
PAIRS = 10_000
REPEATS = 9
ROUNDS = 3
"""SGI needs only some milliseconds, so one measurement has several rounds."""
LONG_PAIRS = 306  # all rows of RAGTruth QA
ROWS = 256  # the batch size of the engine
TARGET = 20.0
TOOLKITS = ("ragas", "deepeval")
TOOLKIT_PAIRS = 1_000


def pairs(folder: Path) -> Iterator[Pair]:
    """Yield responses and their references from the published data, or repeat those of the bundled sample."""
    if not (folder / f"{FILES[0]}.jsonl").exists():
        sample = [(row["hallucinated_answer"], row["right_answer"]) for row in rows(file=SAMPLE)]
        yield from islice(cycle(sample), PAIRS)
        return
    for name in FILES:
        with (folder / f"{name}.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                response = row.get("response", row.get("hallucinated_answer"))
                reference = row.get("reference", row.get("right_answer"))
                if response and reference:
                    yield response, reference


def long_pairs() -> Iterator[Pair]:
    """Yield answers of several sentences and their passages."""
    for row in long_rows(LONG_PAIRS):
        yield row["response"], " ".join(row.get("context") or row["contexts"])


def batch_of(some: Sequence[Pair]) -> Batch:
    return Batch.of([Sample(id=str(index), response=r, reference=g) for index, (r, g) in enumerate(some)])


def ours(name: str, batches: Sequence[Batch]) -> NDArray[np.float64]:
    scorer = metric(name)
    # A batch caches its tokens, so each repetition needs new batches.
    values = [scorer.score(Batch(batch.samples), Features()).values for batch in batches]
    return np.nan_to_num(np.concatenate(values))


def rouge_score(some: Sequence[Pair]) -> list[float]:
    scorer = RougeScorer(["rougeL"])
    return [scorer.score(reference, response)["rougeL"].fmeasure for response, reference in some]


def sacrebleu(some: Sequence[Pair]) -> list[float]:
    scorer = BLEU(effective_order=True)
    return [scorer.sentence_score(response, [reference]).score / 100 for response, reference in some]


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the processor time alternately in one process, each on one core."""
    folder = data_file().parent
    origin = "" if (folder / f"{FILES[0]}.jsonl").exists() else FROM_SAMPLE
    short = list(islice(pairs(folder), 300 if quick else PAIRS))
    long = list(islice(long_pairs(), 50 if quick else None))
    cases: tuple[tuple[str, str, list[Pair], Peer, float | None], ...] = (
        ("rouge_l", "answer pairs", short, rouge_score, TARGET),
        ("rouge_l", "long answers and their passages", long, rouge_score, None),
        ("bleu", "answer pairs", short, sacrebleu, None),
    )
    for name, kind, some, peer, target in cases:
        batches = [batch_of(some[start : start + ROWS]) for start in range(0, len(some), ROWS)]
        difference = np.abs(ours(name, batches) - peer(some)).max()
        work: dict[str, Callable[[], object]] = {
            "ours": processor_time(partial(ours, name, batches), rounds=1 if quick else ROUNDS),
            "peer": processor_time(partial(peer, some)),
        }
        times = time_alternately(work, 1 if quick else REPEATS)
        yield rate_figure(
            f"{name}, {len(some):,} {kind}{origin}",
            "pairs/s",
            times,
            len(some),
            beside=peer.__name__.replace("_", "-"),
            wanted=target,
            note=f"greatest difference {difference:.1e}",
        )
    for toolkit in TOOLKITS:
        yield measure_toolkit(toolkit, short[: 100 if quick else TOOLKIT_PAIRS], 1 if quick else 5)


def measure_toolkit(toolkit: str, some: Sequence[Pair], repeats: int) -> Figure:
    """Compare `sgi.evaluate` with the metric of a toolkit."""
    data = [{"response": response, "reference": reference} for response, reference in some]
    work: dict[str, Callable[[], object]] = {"ours": partial(sgi.evaluate, data, "rouge_l")}
    with ExitStack() as stack:
        other, note = start_peer(stack, toolkit, toolkit, pairs=some)
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, repeats)
    name = f"ROUGE-L by sgi.evaluate, {len(data):,} answer pairs"
    return rate_figure(name, "pairs/s", times, len(data), beside=toolkit, note=note)


if __name__ == "__main__":
    benchmark_main(measure)
