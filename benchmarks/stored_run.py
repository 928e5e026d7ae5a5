"""Write runs with random values into a database, with the recorder of real runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.accumulator import Accumulator
from sgi.engine.score import BatchScores
from sgi.engine.summarise import summarise
from sgi.kernel.metric import Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.store.database import open_database
from sgi.store.run_writer import RunStart, create_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BATCH = 256
NAMES = ("sgi", "semantic_similarity", "content_f1")
TEN_NAMES = (
    *NAMES,
    "rouge_l",
    "squad_token_f1",
    "squad_em",
    "bleu",
    "faithfulness",
    "context_recall",
    "factual_accuracy",
)
_GRADES = ("A", "B", "C", "D", "F")
_UNDEFINED_EVERY = 37
"""Every 37th row of a metric without details has no value."""


def fill(database_url: str | Path, rows: int, name: str, names: Sequence[str] = NAMES) -> None:
    """Store a finished run with labels, groups and a summary.

    Args:
        database_url: path or URL, as for ``open_database``.
        rows: number of rows.
        name: name of the run and of its data.
        names: names of its metrics.
    """
    metrics = [metric(name) for name in names]
    generator = np.random.default_rng(0)
    with open_database(database_url) as database:
        start = RunStart(name, name, rows, {}, name, "", {}, metrics, name=name)
        recorder = create_run(database, start)
        accumulator = Accumulator()
        for first in range(0, rows, BATCH):
            samples = [random_sample(number) for number in range(first, min(first + BATCH, rows))]
            scores = {name: random_scores(name, len(samples), generator) for name in names}
            recorder.commit(first, samples, scores, truncated={}, failures={})
            accumulator.add(Batch.of(samples), BatchScores(scores))
        recorder.finish(summarise(accumulator, metrics, "drawn").to_dict())


def random_sample(number: int) -> Sample:
    """Return a row with a passage of about a hundred words."""
    return Sample(
        id=f"row-{number}",
        question=f"What is known of the river number {number}?",
        contexts=(f"River {number} rises in the hills and flows to the sea. " * 10,),
        response=f"River {number} flows to the sea.",
        reference=f"It is river {number}, which flows to the sea.",
        label=number % 3 > 0,
        metadata={"kind": ("short", "long", "none")[number % 7 % 3]},
    )


def random_scores(name: str, rows: int, generator: np.random.Generator) -> Scores:
    """Return random scores; SGI has its two angles, and factual accuracy has a grade."""
    values = generator.random(rows)
    if name == "sgi":
        angles = generator.uniform(0.3, 1.4, (rows, 2)).tolist()
        details = [{"theta_rc": rc, "theta_rq": rq} for rc, rq in angles]
        return Scores.of(np.array([rq / rc for rc, rq in angles]), details=details)
    if name == "factual_accuracy":
        return Scores.of(values, details=[{"grade": _GRADES[int(value * 5)]} for value in values])
    if name == "squad_em":
        return Scores.of(np.round(values))
    return Scores.of(values, undefined={"the reference is blank": np.arange(rows) % _UNDEFINED_EVERY == 1})
