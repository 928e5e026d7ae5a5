"""Measure retrieval metrics in values per second, beside pytrec_eval on the same data.

python benchmarks/retrieval.py [--quick]

The core function gets the ranks and grades of all queries as columns. The metrics get samples with ids, which
they match with the gold ids; pytrec_eval gets the same data as dictionaries. Without pytrec-eval-terrier
(``make oracles`` installs it), there is no comparison.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from harness import REPEATS, Figure, benchmark_main, seconds_of, time_alternately
from sgi.kernel.features import Features
from sgi.kernel.sample import Batch, Sample
from sgi.metrics.gold_passages import RetrievedGold
from sgi.metrics.retrieval import (
    HitRate,
    MeanAveragePrecision,
    MeanReciprocalRank,
    Ndcg,
    Precision,
    Recall,
    RPrecision,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUERIES = 5_000
DEPTH = 100
MEASURES = {
    Recall(k=10): "recall.10",
    Precision(k=10): "P.10",
    HitRate(k=10): "success.10",
    MeanReciprocalRank(): "recip_rank",
    Ndcg(k=10): "ndcg_cut.10",
    MeanAveragePrecision(k=100): "map_cut.100",
    RPrecision(): "Rprec",
}
TARGET = 1_000_000


def queries(n: int) -> list[Sample]:
    """Return queries with 100 retrieved and up to 20 relevant passages with grades 1 to 3."""
    generator = np.random.default_rng(5)
    samples = []
    for number in range(n):
        retrieved = generator.choice(1_000, size=DEPTH, replace=False)
        judged = generator.choice(200, size=int(generator.integers(1, 20)), replace=False)
        grades = generator.integers(1, 4, len(judged)).tolist()
        relevance = dict(zip([f"d{name}" for name in judged], grades, strict=True))
        ids = tuple(f"d{name}" for name in retrieved)
        samples.append(Sample(id=f"q{number}", context_ids=ids, relevance=relevance))
    return samples


def trec_eval(samples: list[Sample]) -> Callable[[], object] | None:
    """Return a function that computes the same values with pytrec_eval; None if it is not installed."""
    if find_spec("pytrec_eval") is None:
        return None
    import pytrec_eval

    qrels = {row.id: dict(row.relevance) for row in samples}
    run = {row.id: {name: -float(rank) for rank, name in enumerate(row.context_ids)} for row in samples}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {*MEASURES.values()})
    return lambda: evaluator.evaluate(run)


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the core function, and the metrics beside pytrec_eval."""
    samples = queries(200 if quick else QUERIES)
    batch = Batch.of(samples)
    metrics = [*MEASURES]
    hits = RetrievedGold.of(batch, metrics[0].threshold).hits
    values = len(samples) * len(metrics)
    repeats = 1 if quick else REPEATS

    def core() -> list[object]:
        columns = type(hits)(**{name: getattr(hits, name) for name in hits.__dataclass_fields__})  # no cache
        return [each.values(columns) for each in metrics]

    def from_samples() -> list[object]:
        fresh = Batch.of(samples)
        return [each.score(each.prepare(fresh), Features.of()) for each in metrics]

    peer = trec_eval(samples)
    times = time_alternately(
        {"core": core, "ours": from_samples} | ({} if peer is None else {"peer": peer}), repeats
    )
    name = f"{len(metrics)} retrieval metrics of {len(samples):,} queries × {DEPTH} passages"
    yield Figure(
        f"{name}, from ranks and grades",
        "values/s",
        ours=values / times["core"].median,
        wanted=TARGET,
        repeats={"ours": times["core"].seconds},
    )
    yield Figure(
        f"{name}, from samples to scores with details",
        "values/s",
        ours=values / times["ours"].median,
        peer=None if peer is None else values / times["peer"].median,
        beside="" if peer is None else "pytrec_eval",
        note="pytrec_eval is not installed" if peer is None else "",
        repeats=seconds_of({name: each for name, each in times.items() if name != "core"}),
    )


if __name__ == "__main__":
    benchmark_main(measure)
