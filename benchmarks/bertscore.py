"""Compare BERTScore with the package bert-score on the same weights and pairs.

    python benchmarks/bertscore.py [--quick]

Both use the weights of the embedded model and all cores. SGI is `sgi.evaluate` without a cache, so its time
includes planning, tokenizing, embedding, matching and accounting.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import sgi
from harness import Figure, benchmark_main, rate_figure, time_alternately
from material import pairs, rows
from peer_processes import start_peer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

METRICS = ("bertscore_precision", "bertscore_recall", "bertscore")
PAIRS = 300
LAYERS = 6
TARGET = 3.0
REPEATS = 5


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure pairs of two answers, and as many pairs of a right answer and its passage."""
    count = PAIRS // 10 if quick else PAIRS // 2
    answers = [*pairs(count), *((row["right_answer"], row["knowledge"]) for row in rows(count))]
    data = [{"response": response, "reference": reference} for response, reference in answers]
    evaluate = partial(sgi.evaluate, data, METRICS, cache=False)
    work: dict[str, Callable[[], object]] = {"ours": evaluate}
    with ExitStack() as stack:
        other, note = start_peer(
            stack, "encoders", "bert_score", same_weights=True, pairs=answers, layers=LAYERS
        )
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, 1 if quick else REPEATS)
        if other is not None:
            result = evaluate()
            ours = np.stack([result[name].values for name in METRICS])
            note += f"; greatest difference {np.abs(ours - np.asarray(other.result())).max():.1e}"
    yield rate_figure(
        f"BERTScore, {len(data):,} pairs",
        "pairs/s",
        times,
        len(data),
        beside="bert-score",
        wanted=TARGET,
        note=note,
    )


if __name__ == "__main__":
    benchmark_main(measure)
