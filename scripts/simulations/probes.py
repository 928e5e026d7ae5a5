"""Bias probes and drift of simulated judges: how often an unbiased one is flagged, and a biased one found.

A judge has noise that is equal in all texts: a share of its verdicts changes when a request is repeated. A
metric scores a row by the supported share of its claims; with one claim it is pass/fail.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import numpy as np
from simulations.harness import percent, section

from sgi.analysis.audit.drift import measure_drift
from sgi.analysis.audit.probe_texts import PROBES
from sgi.analysis.audit.probes import Scored, run_probes
from sgi.engine.run import Run
from sgi.kernel.metric import Scores
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from simulations.harness import Floats

    Bools = NDArray[np.bool_]

ROWS = 320
QUALITY = 0.6
"""The share of claims that are supported."""
PASS = 0.5
NOISES = (0.02, 0.05)
SIZES = (0.1, 0.15, 0.2, 0.25)
FLIPS = (0.1, 0.15, 0.2)
PLANTED = "instruction"
"""The probe with a planted bias: it shares no request with others, so it has the fewest rows."""
_SEED = 11


class Metric(NamedTuple):
    """A metric: the number of claims of a row, and of the calls for its score."""

    claims: int
    calls: int


METRICS = {
    "pass/fail, 1 call": Metric(1, 1),
    "pass/fail, 2 calls": Metric(1, 2),
    "share of 4 claims, 2 calls": Metric(4, 2),
}
SAMPLES = [
    Sample(
        id=f"q{row}", question=f"q{row}?", response=f"Answer {row}.", contexts=("No", f"Answer {row}", "Yes")
    )
    for row in range(ROWS)
]
_ARMS = {name: {sample.id: text.arms(sample) for sample in SAMPLES} for name, text in PROBES.items()}
_SECOND = {
    (arms[1].response, arms[1].contexts): name
    for name, rows in _ARMS.items()
    for arms in rows.values()
    if arms is not None and name != "repeat"
}
"""The probe of each text of a second arm."""
_SECOND |= {(sample.response, sample.contexts): "" for sample in SAMPLES}


@dataclass
class Judge:
    """A judge: ``noise`` is the share of verdicts on claims that a repeated request changes.

    Attributes:
        probe: the probe whose second arm raises the share of supported claims, by ``bias``.
        shift: what is added to the share of supported claims in all texts.
        flips: the share of rows whose verdicts are turned in all texts.
    """

    generator: np.random.Generator
    metric: Metric
    noise: float = 0.0
    probe: str = "none"
    bias: float = 0.0
    shift: float = 0.0
    flips: float = 0.0
    known: dict[tuple[str, str, int], float] = field(default_factory=dict)
    truth: Bools = field(init=False)
    ranks: Floats = field(init=False)
    turns: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Draw which claims are supported."""
        shape = ROWS, self.metric.claims
        self.truth = self.generator.random(shape) < QUALITY
        self.ranks, self.turns = self.generator.random(shape), self.generator.random((ROWS, 1))

    async def __call__(self, samples: Sequence[Sample], repeat: int, /) -> Scored:
        """Return the scores of samples; equal requests have equal replies."""
        arms = [_SECOND.get((sample.response, sample.contexts)) for sample in samples]
        keys = [
            (sample.id, sample.response if arm is None else arm, repeat)
            for sample, arm in zip(samples, arms, strict=True)
        ]
        new = [place for place, key in enumerate(keys) if key not in self.known]
        biased = np.array([arms[place] == self.probe for place in new], dtype=bool)
        verdicts = self.verdicts([int(samples[place].id[1:]) for place in new], biased)
        scores = verdicts.mean(axis=1).tolist()
        self.known |= {keys[place]: score for place, score in zip(new, scores, strict=True)}
        calls = self.metric.calls * len(new)
        if self.metric.calls > 1:  # both arms of `order` have the same claims
            calls -= sum(arms[place] == "order" for place in new)
        return Scored(Scores.of(np.array([self.known[key] for key in keys])), calls)

    def verdicts(self, rows: Sequence[int], biased: Bools | None = None) -> Bools:
        """Return new verdicts on the claims of rows; ``biased`` rows have the bias."""
        extra = 0.0 if biased is None else self.bias * biased[:, None]
        raised = self.ranks[rows] < (max(self.shift, 0.0) + extra) / (1 - QUALITY)
        lowered = self.ranks[rows] < max(-self.shift, 0.0) / QUALITY
        truth = (self.truth[rows] | raised) & ~lowered
        truth = truth ^ (self.turns[rows] < self.flips)
        error = (1 - math.sqrt(1 - 2 * self.noise)) / 2
        return np.asarray(truth ^ (self.generator.random(truth.shape) < error))


class Audits(NamedTuple):
    """The share of audits that flag each probe and that flag any, and the rows of each probe on average."""

    flags: Counter[str]
    any_flag: float
    rows: dict[str, float]


def audits(sets: int, metric: Metric, **judge: Any) -> Audits:
    """Run audits of judges with these properties."""
    generator = np.random.default_rng(_SEED)
    flags, rows, flagged = Counter[str](), Counter[str](), 0
    for number in range(sets):
        score = Judge(generator, metric, **judge)
        probes = anyio.run(partial(run_probes, score, SAMPLES, threshold=PASS, seed=number))
        flags.update(probe.name for probe in probes if probe.flagged)
        flagged += any(probe.flagged for probe in probes)
        rows.update({probe.name: probe.rows for probe in probes})
    return Audits(flags, flagged / sets, {name: count / sets for name, count in rows.items()})


def drifted(sets: int, metric: Metric, noise: float, **change: float) -> float:
    """Return the share of judges that are called drifted after a change."""
    generator = np.random.default_rng(_SEED)
    found = 0
    for number in range(sets):
        judge = Judge(generator, metric, noise)
        stored = judge.verdicts(range(ROWS)).mean(axis=1)
        column = MetricColumn("score", stored, np.zeros(ROWS, np.int8), 0.0, 1.0)
        run = Run.of("run", (sample.id for sample in SAMPLES), [column], samples=SAMPLES)
        vars(judge).update(change)
        compare = partial(measure_drift, judge, run, "score", threshold=PASS, look=0, seed=number)
        found += anyio.run(compare).drifted
    return found / sets


def _clean(sets: int) -> Iterator[list[str]]:
    for name, metric in METRICS.items():
        for noise in NOISES:
            result = audits(sets, metric, noise=noise)
            rows = ", ".join(f"{count:.0f}" for count in result.rows.values())
            yield [name, percent(noise), percent(result.any_flag), rows]


def _biased(sets: int) -> Iterator[list[str]]:
    for name, metric in METRICS.items():
        for noise in NOISES:
            found = [audits(sets, metric, noise=noise, probe=PLANTED, bias=size) for size in SIZES]
            rows = min(one.rows[PLANTED] for one in found)
            yield [
                name,
                percent(noise),
                f"{rows:.0f}",
                *(percent(one.flags[PLANTED] / sets) for one in found),
            ]


def _repeats(sets: int) -> Iterator[list[str]]:
    for name, metric in METRICS.items():
        if metric.claims == 1:
            found = [audits(sets, metric, noise=flips).flags["repeat"] / sets for flips in FLIPS]
            yield [name, *map(percent, found)]


def _drifts(sets: int) -> Iterator[list[str]]:
    for name in ("pass/fail, 1 call", "share of 4 claims, 2 calls"):
        for noise in (0.0, *NOISES):
            turned = 0.1 / (1 - 2 * noise)  # so that 10 points more than the noise differ
            changes: tuple[dict[str, float], ...] = {}, {"shift": -0.1}, {"flips": turned}
            found = [drifted(sets, METRICS[name], noise, **change) for change in changes]
            yield [name.partition(",")[0], percent(noise), *map(percent, found)]


def tables(sets: int) -> Iterator[str]:
    """Yield the tables; those of power have a third of the data sets."""
    for name, text in PROBES.items():  # the texts are made once
        PROBES[name] = replace(text, arms=lambda sample, rows=_ARMS[name]: rows[sample.id])
    found = [f"{size * 100:.0f} points" for size in SIZES]
    yield section(
        "Unbiased judges: audits in which any probe is flagged",
        ("metric", "verdicts that a repeat changes", "flagged", f"rows of {', '.join(PROBES)}"),
        _clean(sets),
    )
    yield section(
        f"Biased judges: the bias of `{PLANTED}` is found", ("metric", "noise", "rows", *found), _biased(sets)
    )
    shares = [f"{flips:.0%} change" for flips in FLIPS]
    yield section(
        "Judges whose verdicts change when a request is repeated", ("metric", *shares), _repeats(sets)
    )
    yield section(
        "Judges that are called drifted, 100 anchors",
        ("metric", "noise", "no change", "10 points lower", "10 points more verdicts differ"),
        _drifts(sets),
    )
