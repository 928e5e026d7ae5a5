"""Bias probes: does a score depend on what must not matter, such as the order of the passages?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from sgi.analysis.audit.probe_texts import PROBES
from sgi.engine.run_options import MAX_REPEAT
from sgi.kernel.errors import SgiError, UnknownNameError
from sgi.kernel.metric_column import meets
from sgi.stats.intervals import interval_or_none, normal_quantile
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import holm, paired_differences
from sgi.stats.permutation_tests import binomial_tail, sign_flip_p

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sgi.analysis.audit.probe_texts import Arms, ProbeText
    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Sample
    from sgi.stats.intervals import Interval

    Floats = NDArray[np.float64]

ERROR = 0.05
"""The share of unbiased judges that any probe flags, at most."""
SIZE = 0.1
"""The difference that the number of rows is chosen for, as a share of the metric's scale."""
RELEVANT = 0.02
"""The least difference that is flagged, as a share of the scale: any text moves a continuous score a bit."""
TOLERANCE = 0.05
"""The share of verdicts that may change when a request is repeated."""
MIN_ROWS = 40
"""With fewer rows a probe would find only large biases; these rows are also its pilot."""
MAX_CALLS = 300
"""The maximum number of requests to the judge by one probe."""
MAX_LOST = 0.1
"""The share of rows that may have no value in an arm."""
FIRST_REPEAT = MAX_REPEAT + 1
"""The number of the judgement that probes ask for: no run has it, so no reply is an old one of the cache."""

_POWER = 0.95
_REPEAT_ROWS = 150
_FIRST, _CHUNK = 5, 25


class Scored(NamedTuple):
    """The scores of samples, and the number of requests to the judge that they took."""

    scores: Scores
    calls: int


class ScoreSamples(Protocol):
    """Scores samples; each number of ``repeat`` gets its own replies of the judge.

    `sgi.analysis.audit.run_scorer.open_scorer_of_run` makes one for a stored run.
    """

    async def __call__(self, samples: Sequence[Sample], repeat: int, /) -> Scored:
        """Return a score for each sample, in order."""


@dataclass(frozen=True)
class Probe:
    """Result of a probe.

    Attributes:
        name: a name of `PROBES`.
        status: ``ok``; ``undefined`` if no row has what the probe changes; or ``missing`` if the probe could
            not be run, so that nothing is known.
        reason: why the status is not ``ok``.
        rows: the number of rows with a value in both arms.
        calls: the number of requests to the judge.
        difference: the mean of the second arm minus the first arm, in units of the metric.
        interval: its 95 % interval; None if it cannot be computed.
        flips: the share of rows whose verdict differs between the arms.
        flips_interval: its 95 % interval.
        p: the p-value of no effect; for ``repeat``, of at most `TOLERANCE` flips.
        p_holm: p with Holm's correction for the probes that were run.
        flagged: whether p_holm is at most `ERROR` and the difference is at least `RELEVANT`.
        detectable: the difference that 95 % of such probes find, also if it turns some rows wholly and leaves
            the others; a shift of all rows is found sooner. For ``repeat``, the share of flips.
        says: the result in one sentence.
    """

    name: str
    status: Literal["ok", "undefined", "missing"] = "missing"
    reason: str = ""
    rows: int = 0
    calls: int = 0
    difference: float | None = None
    interval: Interval | None = None
    flips: float | None = None
    flips_interval: Interval | None = None
    p: float | None = None
    p_holm: float | None = None
    flagged: bool = False
    detectable: float | None = None
    says: str = ""

    @classmethod
    def missing(cls, name: str, reason: str, *, rows: int = 0, calls: int = 0) -> Probe:
        """Return the result of a probe that could not be run."""
        says = f"{PROBES[name].subject}: not tested, since {reason}."
        return cls(name, reason=reason, rows=rows, calls=calls, says=says)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON; an interval is a list of two numbers."""
        intervals = {name: getattr(self, name) for name in ("interval", "flips_interval")}
        return asdict(self) | {name: None if each is None else [*each] for name, each in intervals.items()}


@dataclass
class _Pairs:
    """The values of both arms of the rows that were asked about; NaN where there is none."""

    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    calls: int = 0

    @property
    def asked(self) -> int:
        return len(self.before)

    def table(self) -> Floats:
        """Return the pairs with both values, shape (2, n)."""
        both = np.array([self.before, self.after])
        return both[:, np.isfinite(both).all(axis=0)]

    def add(self, first: Scored, second: Scored) -> None:
        self.before += first.scores.values.tolist()
        self.after += second.scores.values.tolist()
        self.reasons.update(filter(None, (*first.scores.reasons, *second.scores.reasons)))
        self.calls += first.calls + second.calls

    def problem(self) -> str:
        """Return why the pairs cannot be used; empty if they can."""
        pairs = self.table().shape[1]
        lost = self.asked - pairs
        if lost > MAX_LOST * self.asked:
            why = self.reasons.most_common(1)[0][0]
            return f"{lost} of {self.asked} rows have no value in an arm: {why.rstrip('.')}"
        return f"{pairs} rows are too few; {MIN_ROWS} are needed" if pairs < MIN_ROWS else ""


@dataclass
class _Audit:
    """What the probes of an audit share; ``rate`` is the largest number of calls per row so far."""

    score: ScoreSamples
    is_pass: Callable[[Floats], NDArray[np.bool_]]
    width: float
    tests: int
    max_calls: int
    rate: float = 0.0

    async def pairs(self, name: str, rows: Sequence[Arms]) -> _Pairs:
        """Ask about as many rows as the probe needs and its calls allow."""
        pairs = _Pairs()
        while size := self._next(name, pairs, len(rows)):
            some = rows[pairs.asked : pairs.asked + size]
            first = await self.score([arms[0] for arms in some], FIRST_REPEAT)
            second = await self.score([arms[1] for arms in some], FIRST_REPEAT + (name == "repeat"))
            pairs.add(first, second)
            self.rate = max(self.rate, 2 * max(first.calls, second.calls) / size)
            if not pairs.table().size or pairs.calls / pairs.asked * MIN_ROWS > self.max_calls:
                break
        return pairs

    def _next(self, name: str, pairs: _Pairs, rows: int) -> int:
        if pairs.asked < MIN_ROWS:
            needed: float = MIN_ROWS
        elif name == "repeat":  # a number that depends on the flips would make their p too small
            needed = _REPEAT_ROWS
        else:
            needed = _rows_needed(pairs.table(), self.width, self.tests)
        left = self.max_calls - pairs.calls
        affordable = left / self.rate if self.rate else math.inf
        chunk = _CHUNK if pairs.asked else _FIRST
        return max(0, int(min(chunk, affordable, min(needed, rows, self.max_calls) - pairs.asked)))

    def result(self, name: str, pairs: _Pairs) -> Probe:
        """Return the result without Holm's correction."""
        before, after = pairs.table()
        (paired,) = paired_differences(before, after, ranges=[self.width])
        flipped = self.is_pass(before) != self.is_pass(after)
        count, n = int(flipped.sum()), len(flipped)
        return Probe(
            name,
            status="ok",
            rows=n,
            calls=pairs.calls,
            difference=paired.difference,
            interval=paired.interval,
            flips=count / n,
            flips_interval=interval_or_none(mean_interval(flipped, low=0.0, high=1.0)),
            p=binomial_tail(count, n, TOLERANCE) if name == "repeat" else sign_flip_p(after - before),
            detectable=_detectable_flips(n, self.tests)
            if name == "repeat"
            else _detectable(after - before, self.width, self.tests),
        )


async def run_probes(
    score: ScoreSamples,
    samples: Sequence[Sample],
    *,
    threshold: float,
    higher_is_better: bool = True,
    names: Sequence[str] = tuple(PROBES),
    clusters: ArrayLike | None = None,
    width: float | None = 1.0,
    max_calls: int = MAX_CALLS,
    seed: int = 0,
) -> tuple[Probe, ...]:
    r"""Score changed rows, and test whether the changes shift the scores.

    Each probe compares two arms of the same rows (see `PROBES`), one row of each cluster, in a random order.
    Both arms are asked now, so a judge that changed since the run is not taken for a biased one.

    * p: `sign_flip_p` of the differences of scores; for ``repeat``, the binomial tail of the number of
      changed verdicts, for a share of `TOLERANCE`. So an unbiased judge, also one with noise that is equal
      in both arms, is flagged by any probe in at most 5 % of audits (Holm); simulations are in
      docs/internals/results/probes.md.
    * rows: at least `MIN_ROWS`; then as many as a difference of `SIZE` needs for a power of 95 %, from the
      absolute differences so far, if ``max_calls`` allows them. The signs do not matter for this number, so p
      stays valid. ``repeat`` uses up to 150 rows.

    Args:
        score: scores samples.
        samples: the rows of a run; draw them yourself from a very large run.
        threshold: the score at which a verdict changes.
        higher_is_better: whether a verdict passes at or above the threshold, or at or below it.
        names: the probes to run.
        clusters: the cluster of each row, shape (n,); None: each row is its own.
        width: the width of the metric's scale; None if it has no ends.
        max_calls: the maximum number of requests by each probe, and the maximum number of rows.
        seed: draws the rows.

    Returns:
        A result for each name. A probe that cannot be run has the status ``missing``.

    Raises:
        UnknownNameError: there is no such probe.
    """
    for name in names:
        if name not in PROBES:
            raise UnknownNameError("probe", name, hint=f"Probes: {', '.join(PROBES)}.")
    is_pass = partial(meets, threshold=threshold, higher_is_better=higher_is_better)
    audit = _Audit(score, is_pass, width or 1.0, len(names), max_calls)
    codes = np.arange(len(samples)) if clusters is None else np.asarray(clusters)
    results = [
        await _probe(audit, name, _drawn(PROBES[name], samples, codes, max_calls, seed)) for name in names
    ]
    adjusted = holm([result.p for result in results])
    return tuple(
        _judged(result, p, audit.width) if result.status == "ok" else result
        for result, p in zip(results, adjusted, strict=True)
    )


def _drawn(
    text: ProbeText, samples: Sequence[Sample], codes: NDArray[Any], most: int, seed: int
) -> list[Arms]:
    """Return the arms of one usable row of each cluster; all probes have the same order of clusters."""
    generator = np.random.default_rng(seed)
    names, numbers = np.unique(codes, return_inverse=True)
    rank = generator.permutation(len(names))[numbers]
    drawn: dict[int, Arms] = {}
    for row in np.lexsort((generator.random(len(samples)), rank)).tolist():
        place = int(rank[row])
        if place not in drawn and (arms := text.arms(samples[row])) is not None:
            drawn[place] = arms
            if len(drawn) == most:
                break
    return [*drawn.values()]


async def _probe(audit: _Audit, name: str, rows: Sequence[Arms]) -> Probe:
    if not rows:
        reason = f"the run has no {PROBES[name].rows}"
        return Probe(
            name, "undefined", reason, says=f"{PROBES[name].subject}: does not apply, since {reason}."
        )
    if len(rows) < MIN_ROWS:
        few = f"the run has {len(rows)} {PROBES[name].rows}; {MIN_ROWS} from different clusters are needed"
        return Probe.missing(name, few)
    try:
        pairs = await audit.pairs(name, rows)
    except SgiError as error:
        return Probe.missing(name, str(error).rstrip("."))
    if not (reason := pairs.problem()):
        return audit.result(name, pairs)
    if pairs.asked < MIN_ROWS and pairs.table().size:
        calls = math.ceil(pairs.calls / pairs.asked * MIN_ROWS)
        reason = f"{MIN_ROWS} rows need about {calls} requests to the judge; the limit is {audit.max_calls}"
    return Probe.missing(name, reason, rows=pairs.table().shape[1], calls=pairs.calls)


def _judged(probe: Probe, p_holm: float | None, width: float) -> Probe:
    """Add Holm's correction, and what follows from it."""
    least = 0.0 if probe.name == "repeat" else RELEVANT * width
    shown = p_holm is not None and p_holm <= ERROR
    flagged = shown and abs(probe.difference or 0.0) >= least
    says = (
        _of_flips(probe, shown=shown) if probe.name == "repeat" else _of_difference(probe, least, shown=shown)
    )
    return replace(probe, p_holm=p_holm, flagged=flagged, says=says)


def _of_flips(probe: Probe, *, shown: bool) -> str:
    ends = probe.flips_interval
    interval = f" [{ends.low:.0%}, {ends.high:.0%}]" if ends else ""
    changed = f"{PROBES[probe.name].subject} changes {probe.flips or 0.0:.0%} of the verdicts{interval}"
    found = "" if shown else f", and {probe.detectable or 0.0:.0%} would be found"
    return f"{changed}; {TOLERANCE:.0%} are tolerated{found}."


def _of_difference(probe: Probe, least: float, *, shown: bool) -> str:
    subject, ends, difference = PROBES[probe.name].subject, probe.interval, probe.difference or 0.0
    if not shown:
        found = f"an effect of {probe.detectable or 0.0:.2g} would be found"
        return f"{subject}: no effect is shown by {probe.rows} rows; {found}."
    interval = ""
    if ends:
        low, high = (ends.low, ends.high) if difference > 0 else (-ends.high, -ends.low)
        interval = f" [{low:.2f}, {high:.2f}]"
    verb = "raises" if difference > 0 else "lowers"
    small = "" if abs(difference) >= least else f", less than {least:.2g}, so it is not flagged"
    return f"{subject} {verb} the score by {abs(difference):.2f}{interval}{small}."


def _quantiles(tests: int) -> float:
    """Return the squared sum of the quantiles of the level and the power."""
    return (normal_quantile(1 - ERROR / tests) + normal_quantile(2 * _POWER - 1)) ** 2


def _rows_needed(pairs: Floats, width: float, tests: int) -> int:
    """Return the rows with which a difference of `SIZE` is found, also if it turns a tenth of them wholly.

    n = z²·(noise + size·width)/size², with the mean square of the differences so far as the noise.
    """
    noise, size = float(np.mean((pairs[1] - pairs[0]) ** 2)), SIZE * width
    return math.ceil(_quantiles(tests) * (noise + size * width) / size**2)


def _detectable(gaps: Floats, width: float, tests: int) -> float:
    """Return the difference s with n·s² = z²·(noise + s·width − s²), at most the width of the scale."""
    noise, z, n = float(np.mean(gaps**2)), _quantiles(tests), len(gaps)
    root = math.sqrt((z * width) ** 2 + 4 * (n + z) * z * noise)
    return min(width, (z * width + root) / (2 * (n + z)))


def _detectable_flips(n: int, tests: int) -> float:
    """Return the least share of flips, in percent points, that is found with a power of 95 %."""
    least = next(k for k in range(n + 2) if binomial_tail(k, n, TOLERANCE) <= ERROR / tests)
    shares = (k / 100 for k in range(101))
    return next(share for share in shares if binomial_tail(least, n, share) >= _POWER)
