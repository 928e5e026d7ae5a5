"""Bias probes and drift of simulated judges: how often an unbiased one is flagged, and a biased one found.

A judge has noise that is equal in all texts: a share of verdicts changes when a request is repeated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import anyio
import numpy as np
from simulations.harness import percent, section

from sgi.analysis.audit.drift import measure_drift
from sgi.analysis.audit.probe_texts import PROBES
from sgi.analysis.audit.probes import FIRST_REPEAT, Scored, run_probes
from sgi.engine.run import Run
from sgi.kernel.metric import Scores
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simulations.harness import Floats

ROWS = 320
QUALITY = 0.6
"""The share of claims that are supported."""
NOISES = (0.0, 0.02, 0.05)
SIZES = (0.1, 0.15, 0.2, 0.25)
FLIPS = (0.1, 0.15, 0.2)
BIASED = ("order", "length", "format", "name", "instruction")
_SEED = 11
_PASS = 0.5


class Metric(NamedTuple):
    """A metric: the claims of a row, whose supported share is its score, and the calls of a scoring."""

    claims: int
    calls: int


METRICS = {
    "pass/fail, 1 call": Metric(1, 1),
    "pass/fail, 2 calls": Metric(1, 2),
    "share of 4 claims, 2 calls": Metric(4, 2),
}
SAMPLES = [
    Sample(id=f"q{row}", question=f"q{row}?", response=f"Answer {row}.", contexts=(f"Answer {row}", "Other"))
    for row in range(ROWS)
]


@dataclass
class Judge:
    """A judge of rows whose claims are supported or not; ``bias`` is added to the second arm of ``probe``.

    ``noise`` is the share of verdicts on claims that a repeated request changes, ``shift`` is added to all
    scores, ``flips`` is the share of rows whose verdicts it has turned for good.
    """

    generator: np.random.Generator
    metric: Metric
    noise: float = 0.0
    probe: str = ""
    bias: float = 0.0
    shift: float = 0.0
    flips: float = 0.0
    truth: Floats = field(init=False)
    known: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Draw which claims are supported."""
        self.truth = self.generator.random((ROWS, self.metric.claims)) < QUALITY
        self.uniform = self.generator.random((ROWS, self.metric.claims))
        self.turned = self.generator.random((ROWS, 1)) < self.flips

    async def __call__(self, samples: Sequence[Sample], repeat: int, /) -> Scored:
        """Return the scores of samples; equal requests get equal replies."""
        calls = 0
        for sample in samples:
            key = self._key(sample, repeat)
            if key not in self.known:
                calls += self.metric.calls - (_arm(sample) == "order")  # the claims are known
                row = int(sample.id[1:])
                self.known[key] = float(self.verdicts(np.array([row]), _arm(sample)).mean())
        values = np.array([self.known[self._key(sample, repeat)] for sample in samples])
        return Scored(Scores.of(values), calls)

    @staticmethod
    def _key(sample: Sample, repeat: int) -> tuple[str, str, int]:
        return sample.id, _arm(sample) or sample.response, repeat

    def verdicts(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]], arm: str = "") -> Floats:
        """Return new verdicts on the claims of rows."""
        shift = self.shift + (self.bias if arm and arm == self.probe else 0.0)
        raised = self.uniform[rows] < shift / (1 - QUALITY)
        verdicts = (self.truth[rows] | raised) ^ self.turned[rows]
        error = (1 - math.sqrt(1 - 2 * self.noise)) / 2
        return np.asarray(verdicts ^ (self.generator.random(verdicts.shape) < error))


def _arm(sample: Sample) -> str:
    """Return the probe whose second arm a sample is; empty for another sample."""
    return _SECOND.get((sample.response, sample.contexts), "")


_ARMS = {
    name: [arms for sample in SAMPLES if (arms := PROBES[name].arms(sample)) is not None] for name in BIASED
}
_SECOND = {(second.response, second.contexts): name for name, rows in _ARMS.items() for _, second in rows}


def flagged(sets: int, metric: Metric, **judge: object) -> list[tuple[dict[str, bool], dict[str, int]]]:
    """Return, for each audit, the flag and the number of rows of each probe."""
    generator = np.random.default_rng(_SEED)
    results = []
    for number in range(sets):
        score = Judge(generator, metric, **judge)  # type: ignore[arg-type]
        names = _names(judge)

        async def audit() -> None:
            found = await run_probes(score, SAMPLES, threshold=_PASS, names=names, seed=number)
            results.append(({one.name: one.flagged for one in found}, {one.name: one.rows for one in found}))

        anyio.run(audit)
    return results
