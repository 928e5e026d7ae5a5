"""What the change since the run before says, of runs whose true difference is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from simulations.harness import percent, section

from sgi.analysis.changes import metric_changes
from sgi.engine.run import Run
from sgi.kernel.metric_column import MetricColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulations.harness import Floats

QUESTIONS = 60
VERDICTS = ("better", "worse", "no difference found", "not comparable")
CASES = {
    "the same questions, true difference 0": (0.0, 0.03, True),
    "the same questions, true difference -6 points": (-0.06, 0.03, True),
    "the same questions, each exactly 6 points lower": (-0.06, 0.0, True),
    "other questions, true difference 0": (0.0, 0.03, False),
    "other questions, 20 points harder": (-0.2, 0.03, False),
}
"""The true difference, the noise of a row, and whether the questions are the same."""


def changes(difference: float, noise: float, same: bool, sets: int) -> dict[str, float]:
    """Return the share of each verdict."""
    generator = np.random.default_rng(6)
    counts = dict.fromkeys(VERDICTS, 0)
    for _ in range(sets):
        before, other = (generator.beta(4, 2, QUESTIONS) * 0.7 + 0.25 for _ in range(2))
        after = (before if same else other) + difference + generator.normal(0, noise, QUESTIONS)
        runs = (_run(before), _run(np.clip(after, 0, 1), first=0 if same else QUESTIONS))
        change = metric_changes(*runs)["rouge_l"]
        counts["not comparable" if change.obstacle else str(change.verdict)] += 1
    return {verdict: count / sets for verdict, count in counts.items()}


def _run(values: Floats, *, first: int = 0) -> Run:
    codes = np.zeros(QUESTIONS, dtype=np.int8)
    ids = tuple(f"q{first + row}" for row in range(QUESTIONS))
    return Run.of("run", ids, [MetricColumn("rouge_l", values, codes, 0.0, 1.0)])


def tables(sets: int) -> Iterator[str]:
    """Yield the table."""
    rows = ([name, *map(percent, changes(*case, sets).values())] for name, case in CASES.items())
    yield section(f"Change since the run before, {QUESTIONS} questions", ("runs", *VERDICTS), rows)
