"""Time citation recall and precision, beside `grounding`, on RAGTruth answers with planted citations.

python benchmarks/citations.py [--quick]

The vectors are computed before the measurement. Each statement cites one or two of three passages, and each
repetition analyses all texts again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from harness import Figure, benchmark_main, time_alternately
from material import data_file
from sgi.kernel.features import Features
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import VectorTable
from sgi.testing import HashEmbedder
from sgi.text.citation_markers import find_markers
from sgi.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BATCH = 32
CHARACTERS = 1_000_000


def cited_rows(count: int) -> list[Sample]:
    """Return the first answers; statement n cites passage n mod 3, every second one also the next."""
    path = data_file().parent / "ragtruth_qa_test.jsonl"
    samples = []
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()[:count]):
        passages = row["context"] if isinstance(row["context"], list) else [row["context"]]
        parts = []
        for number, (start, end) in enumerate(sentence_spans(row["response"])):
            places = [number, number + 1] if number % 2 else [number]
            markers = "".join(f"[{place % len(passages) + 1}]" for place in places)
            parts.append(f"{row['response'][start:end]} {markers}")
        samples.append(
            Sample(id=row["id"], question=row["question"], contexts=passages, response=" ".join(parts))
        )
    return samples


def score(samples: Sequence[Sample], names: Sequence[str], vectors: VectorTable) -> None:
    """Score all rows in batches; nothing is cached from an earlier call."""
    metrics = [metric(name) for name in names]
    for start in range(0, len(samples), BATCH):
        batch = Batch.of([sample.model_copy() for sample in samples[start : start + BATCH]])
        for each in metrics:
            prepared = each.prepare(batch)
            each.score(prepared, Features.of(vectors))


def vectors_of(samples: Sequence[Sample], names: Sequence[str]) -> VectorTable:
    """Return vectors of all texts that the metrics compare."""
    batch = Batch.of(samples)
    texts: dict[str, None] = {}
    for name in names:
        each = metric(name)
        if each.vector_needs is not None:
            texts |= dict.fromkeys(each.vector_needs.texts(each.prepare(batch)))
    return VectorTable.of("hash", [*texts], HashEmbedder().embed([*texts]).astype(np.float32))


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure citation metrics and `grounding` alternately, and the search for markers alone."""
    samples = cited_rows(10 if quick else 200)
    both = ["citation_recall", "citation_precision"]
    vectors = vectors_of(samples, [*both, "grounding"])
    text = " ".join(sample.response for sample in samples)
    text = (text * (CHARACTERS // len(text) + 1))[: 10_000 if quick else CHARACTERS]
    times = time_alternately(
        {
            "citations": lambda: score(samples, both, vectors),
            "grounding": lambda: score(samples, ["grounding"], vectors),
            "markers": lambda: find_markers(text),
        },
        1 if quick else 5,
    )
    statements = sum(len(sentence_spans(sample.response)) for sample in samples)
    yield Figure(
        f"citation recall and precision, {len(samples)} answers, {statements} statements",
        "ms per answer",
        1_000 * times["citations"].median / len(samples),
        1_000 * times["grounding"].median / len(samples),
        beside="grounding",
        higher_is_better=False,
        note="without the embedder",
        repeats={"ours": times["citations"].seconds, "peer": times["grounding"].seconds},
    )
    yield Figure(
        f"search for markers, {len(text):,} characters",
        "characters/s",
        len(text) / times["markers"].median,
        repeats={"ours": [len(text) / seconds for seconds in times["markers"].seconds]},
    )


if __name__ == "__main__":
    benchmark_main(measure)
