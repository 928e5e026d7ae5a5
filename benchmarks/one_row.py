"""Measure one row in three minutes: the Scorer beside the bare model, and POST /score under load.

python benchmarks/one_row.py [--quick]

Each row is new: none of its texts is in the cache of vectors.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sgi
from harness import Figure, benchmark_main
from serving import CLIENTS, RATE, processor, read_triples, resident, send, serving
from sgi.engine.features import FeatureRequest
from sgi.engine.open_resources import load_embedder
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.protocols import Embedder

METRICS: tuple[tuple[str, ...], ...] = (("sgi",), ("grounding",), ("grounding", "sgi"))
ROWS, WARM_ROWS = 150, 50
OVERHEAD = 2.0
"""Target: milliseconds of one row outside the model."""
RATE_SECONDS, JOINED_SECONDS = 15.0, 6.0
"""Duration of the load at a constant rate, and of that of concurrent clients."""


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the Scorer, then the server."""
    rows = read_triples(400 if quick else None)
    for names in METRICS:
        yield from measure_scorer(names, rows[: (20 if quick else ROWS) + WARM_ROWS])
    seconds = (2.0, 2.0) if quick else (RATE_SECONDS, JOINED_SECONDS)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "sgi.db") as (url, pid):
        for names, part in zip(METRICS, np.array_split(np.arange(len(rows)), len(METRICS)), strict=True):
            yield from measure_load(url, pid, [rows[index] for index in part], names, seconds)


def measure_scorer(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> Iterator[Figure]:
    """Compare `Scorer.score` of a row with the embedder alone, given the same new texts; they alternate."""
    model = load_embedder("minilm")
    bare, whole, differences = [], [], []
    used = {"bare": 0.0, "whole": 0.0}
    with sgi.Scorer(list(names)) as scorer:

        def time_model(texts: list[str]) -> float:
            start, cpu = time.perf_counter(), time.process_time()
            embed(model, texts)
            used["bare"] += time.process_time() - cpu
            return time.perf_counter() - start

        def time_row(row: dict[str, Any]) -> float:
            start, cpu = time.perf_counter(), time.process_time()
            scores = scorer.score(row)
            used["whole"] += time.process_time() - cpu
            if any(score.status == "failed" for score in scores.values()):
                raise SystemExit(f"a score failed: {scores}")
            return time.perf_counter() - start

        for number, row in enumerate(rows):
            texts = new_texts(names, row)
            if number == WARM_ROWS:
                used.update(bare=0.0, whole=0.0)
            if number % 2:
                alone, all_of_it = time_model(texts), time_row(row)
            else:
                all_of_it, alone = time_row(row), time_model(texts)
            if number >= WARM_ROWS:
                bare.append(alone * 1000)
                whole.append(all_of_it * 1000)
                differences.append((all_of_it - alone) * 1000)
    share = 1000 / len(bare)
    medians = f"row {statistics.median(whole):.1f} ms, model alone {statistics.median(bare):.1f} ms"
    yield Figure(
        f"Scorer, one row, {', '.join(names)}: time outside the model",
        "ms",
        statistics.median(differences),
        wanted=OVERHEAD,
        higher_is_better=False,
        note=f"{medians}; processor time "
        f"{used['whole'] * share:.1f} and {used['bare'] * share:.1f} ms, difference "
        f"{(used['whole'] - used['bare']) * share:.1f} ms",
        repeats={"row": whole, "model": bare},
    )


def new_texts(names: Sequence[str], row: dict[str, Any]) -> list[str]:
    """Return the distinct texts that the metrics embed for a row."""
    batch = Batch((Sample(id="1", **row),))
    metrics = [metric(name) for name in names]
    requests = (FeatureRequest.of(each, each.prepare(batch), ("minilm",)) for each in metrics)
    return list(dict.fromkeys(itertools.chain.from_iterable(request.texts for request in requests)))


def embed(model: Embedder, texts: list[str]) -> None:
    """Compute the vectors; some rows need none."""
    if texts:
        model.embed(texts)


def measure_load(
    url: str, pid: int, rows: Sequence[dict[str, Any]], names: Sequence[str], seconds: tuple[float, float]
) -> Iterator[Figure]:
    """Measure POST /score: latency at a constant rate, then the rate with concurrent clients."""
    what = f"POST /score, {', '.join(names)}"
    due = int(RATE * seconds[0])
    send(url, rows[:20], 20, None, metrics=names)  # warm-up
    load = send(url, rows[20 : 20 + due], due, RATE, metrics=names)
    for share, target in ((50, 25), (99, 60)):
        yield Figure(
            f"{what}: p{share} at {RATE} per second",
            "ms",
            load.percentile(share),
            wanted=target,
            higher_is_better=False,
            note=f"{load.errors} errors of {len(load.milliseconds)}",
            repeats={"ours": sorted(load.milliseconds)},
        )
    memory, before = resident(pid), processor(pid)
    new_rows = rows[20 + due :]  # ends early if there are no more
    load = send(url, new_rows, len(new_rows), None, seconds[1], metrics=names)
    count = len(load.milliseconds)
    yield Figure(
        f"{what}: rate of {CLIENTS} concurrent clients",
        "requests/s",
        count / load.seconds,
        wanted=60,
        note=f"p99 {load.percentile(99):.0f} ms, {load.errors} errors of {count}; "
        f"{(processor(pid) - before) / count * 1000:.1f} ms of processor time per request; "
        f"memory {memory:.0f} to {resident(pid):.0f} MB",
    )


if __name__ == "__main__":
    benchmark_main(measure)
