"""Drift: does the judge still give the verdicts that an earlier run stored?"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.analysis.audit.probes import FIRST_REPEAT, MAX_LOST, MIN_ROWS
from sgi.kernel.errors import SgiError, UnknownNameError
from sgi.kernel.metric_column import meets
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import paired_differences
from sgi.stats.permutation_tests import old_reply_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.analysis.audit.probes import ScoreSamples
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn, MetricProvenance
    from sgi.kernel.sample import Sample
    from sgi.stats.intervals import Interval

    Floats = NDArray[np.float64]

ANCHORS = 100
"""The number of rows of the earlier run that are scored again."""
LEVEL = 0.05
"""The share of stable judges that are called drifted, at most."""
NO_CAUSE = "the provider's model may have changed"
NOT_RECORDED = "the earlier run does not record its judge"


@dataclass(frozen=True)
class Drift:
    """Comparison of stored scores with two new ones of the same rows.

    Attributes:
        status: ``ok``, or ``missing`` if the scores could not be compared; then nothing is known.
        reason: why the status is ``missing``.
        rows: the number of anchors with a stored score and two new ones.
        calls: the number of requests to the judge.
        changed: the share of new verdicts that differ from the stored ones.
        interval: its 95 % interval.
        noise: the share of rows whose two new verdicts differ.
        difference: the mean of the new scores minus that of the stored ones.
        difference_interval: its 95 % interval; None if it cannot be computed.
        p: the p-value of no change; see `old_reply_p`.
        drifted: whether p is at most `LEVEL`.
        causes: what differs from the earlier run: judge, prompts, version, models.
        says: the result in one sentence.
    """

    status: Literal["ok", "missing"] = "missing"
    reason: str = ""
    rows: int = 0
    calls: int = 0
    changed: float | None = None
    interval: Interval | None = None
    noise: float | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    p: float | None = None
    drifted: bool = False
    causes: tuple[str, ...] = ()
    says: str = ""

    @classmethod
    def missing(cls, reason: str, *, calls: int = 0) -> Drift:
        """Return the result of a comparison that could not be made."""
        says = f"Whether the judge has changed is not known: {reason.rstrip('.')}."
        return cls(reason=reason, calls=calls, says=says)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON; an interval is a list of two numbers."""
        names = ("interval", "difference_interval")
        intervals = {name: None if (one := getattr(self, name)) is None else [*one] for name in names}
        return asdict(self) | intervals | {"causes": [*self.causes]}


async def measure_drift(
    score: ScoreSamples,
    run: Run,
    metric: str,
    *,
    threshold: float,
    provenance: MetricProvenance | None = None,
    look: int | None = None,
    anchors: int = ANCHORS,
    seed: int = 0,
) -> Drift:
    r"""Score rows of an earlier run twice, and test whether the stored scores are unlike the new ones.

    If the judge is the same, the stored score of a row and its two new ones are exchangeable, however noisy
    the judge is. `old_reply_p` tests this; simulated, a stable judge is called drifted in at most 5 % of
    comparisons (docs/internals/results/probes.md).

    Args:
        score: scores samples with the present judge.
        run: the earlier run, with its texts.
        metric: the canonical string of the metric.
        threshold: the score at which a verdict changes.
        provenance: how the metric is computed now, for the causes; `RunScorer` has it.
        look: the number of this comparison, from 0; its replies are cached. None: a number for each day.
        anchors: the maximum number of rows, one of each cluster.
        seed: draws the rows.

    Returns:
        The comparison; ``missing`` without texts, without such a metric, with fewer than 40 rows, or if the
        judge gives no score for more than a tenth of the rows.
    """
    if run.record.no_texts or run.read_samples is None:
        return Drift.missing(f"the run {run.name} stores no texts")
    try:
        column = run.metric(metric)
    except UnknownNameError:
        return Drift.missing(f"the run {run.name} has no metric {metric}")
    rows = _anchors(column.values, run.clusters, anchors, seed)
    if len(rows) < MIN_ROWS:
        few = f"the run {run.name} has {len(rows)} rows with a score, from different clusters"
        return Drift.missing(f"{few}; {MIN_ROWS} are needed")
    number = datetime.now(UTC).toordinal() if look is None else look
    table, calls, reason = await _asked(score, tuple(run.read_samples(rows)), FIRST_REPEAT + 2 * (number + 1))
    if reason:
        return Drift.missing(reason, calls=calls)
    table = np.column_stack([column.values[rows], table])
    known = np.isfinite(table).all(axis=1)
    return _compared(table[known], column, calls, threshold, _causes(column.provenance, provenance))


async def _asked(score: ScoreSamples, samples: Sequence[Sample], first: int) -> tuple[Floats, int, str]:
    """Return two new scores of each sample, the number of requests, and why there are no scores."""
    table = np.full((len(samples), 2), np.nan)
    calls = 0
    for column in range(2):
        try:
            scored = await score(samples, first + column)
        except SgiError as error:
            return table, calls, str(error)
        table[:, column], calls = scored.scores.values, calls + scored.calls
        reasons = Counter(filter(None, scored.scores.reasons))
        if (lost := reasons.total()) > len(samples) - max(MIN_ROWS, (1 - MAX_LOST) * len(samples)):
            why = reasons.most_common(1)[0][0]
            return table, calls, f"{lost} of {len(samples)} rows have no new score: {why}"
    return table, calls, ""


def _anchors(values: Floats, clusters: NDArray[np.int64], most: int, seed: int) -> list[int]:
    """Return random rows with a value, one of each cluster."""
    order = np.random.default_rng(seed).permutation(len(values))
    order = order[np.isfinite(values[order])]
    _, first = np.unique(clusters[order], return_index=True)
    drawn: list[int] = order[np.sort(first)][:most].tolist()
    return drawn


def _causes(before: MetricProvenance | None, now: MetricProvenance | None) -> tuple[str, ...]:
    if before is None or now is None:
        return (NOT_RECORDED,)
    return tuple(map(str, before.differences(now)))


def _compared(
    table: Floats, column: MetricColumn, calls: int, threshold: float, causes: Sequence[str]
) -> Drift:
    """Compare the stored scores, the first column, with the new ones."""
    old, new = table[:, 0], table[:, 1:]
    passes = meets(table, threshold, higher_is_better=column.higher_is_better)
    changed = (passes[:, 1:] != passes[:, [0]]).mean(axis=1)
    (paired,) = paired_differences(old, new.mean(axis=1), ranges=[column.width])
    p = old_reply_p(table)
    drifted, noise = p <= LEVEL, float((passes[:, 1] != passes[:, 2]).mean())
    share = float(changed.mean())
    found = f"{share:.0%} of the verdicts differ from the stored ones, {noise:.0%} between two new requests"
    causes = (*causes,) or ((NO_CAUSE,) if drifted else ())
    why = f": {'; '.join(causes)}" if causes else ""
    return Drift(
        "ok",
        rows=len(table),
        calls=calls,
        changed=share,
        interval=interval_or_none(mean_interval(changed, low=0.0, high=1.0)),
        noise=noise,
        difference=paired.difference,
        difference_interval=paired.interval,
        p=p,
        drifted=drifted,
        causes=causes,
        says=f"The judge has changed: {found}{why}."
        if drifted
        else f"No change of the judge is shown: {found}.",
    )
