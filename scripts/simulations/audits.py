"""Verdicts on judges from few labels: false verdicts, labels needed, predictions, and coverage of intervals.

A judge has a sensitivity and a specificity; the rows of a run, their verdicts and the order of the labels are
random. Verdicts are looked up after every label from the tenth, and the first one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from simulations.harness import coverage, percent, section

from sgi.stats import judge_evidence
from sgi.stats.judge_evidence import GOOD_FROM, TRUSTED_ABOVE, VILLE, log_evidence, needed_evidence, youden
from sgi.stats.judge_trust import (
    MIN_LABELS,
    CorrectedShare,
    LabelCounts,
    _estimates,
    corrected_share,
    judge_trust,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from simulations.harness import Codes, Floats

    Flags = NDArray[np.bool_]

MAX_LABELS = 300
EXACT_LABELS = 110
"""Beyond this number, the threshold is that of Ville's inequality, which bounds the rest exactly."""
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.24, 0.27, 0.3, 0.32, 0.34, 0.35, 0.37, 0.4, 0.45, 0.5)


class Judge(NamedTuple):
    """The share of good rows, and the sensitivity and specificity of the judge."""

    good: float
    sensitivity: float
    specificity: float

    @property
    def share_yes(self) -> float:
        """Expected share of verdicts yes."""
        return self.good * self.sensitivity + (1 - self.good) * (1 - self.specificity)

    @property
    def rates(self) -> tuple[float, float]:
        """PPV and NPV."""
        share = self.share_yes
        return self.good * self.sensitivity / share, (1 - self.good) * self.specificity / (1 - share)

    def name(self) -> list[str]:
        """Return the cells of a table."""
        return [percent(self.good), f"{self.sensitivity:g}", f"{self.specificity:g}"]


PAIRS = {
    TRUSTED_ABOVE: ((0.75, 0.75), (1.0, 0.5), (0.5, 1.0), (0.6, 0.9)),
    0.7: ((0.7, 0.7), (1.0, 0.4), (0.4, 1.0)),
    0.85: ((0.85, 0.85),),
    GOOD_FROM: ((0.9, 0.9), (0.95, 0.85), (0.85, 0.95), (1.0, 0.8), (0.8, 1.0)),
    0.95: ((0.95, 0.95),),
}


class Audits(NamedTuple):
    """Numbers of labels at which each audit first says TRUSTED or NOT TRUSTED; beyond the end if never."""

    trusted: Codes
    not_trusted: Codes
    counts: Codes
    shares: Floats


def _run(
    judge: Judge, rows: int | None, generator: np.random.Generator, sets: int
) -> tuple[Flags, Flags, Floats]:
    """Draw runs: the verdicts of the rows in the order of labelling, the labels, and the shares of yes.

    Without ``rows``, the run has many rows, and the share of yes is exact.
    """
    shape = (sets, rows or MAX_LABELS)
    labels = generator.random(shape) < judge.good
    yes = generator.random(shape) < np.where(labels, judge.sensitivity, 1 - judge.specificity)
    return yes, labels, yes.mean(axis=1) if rows else np.full(sets, judge.share_yes)


def _fixed_run(
    judge: Judge, rows: int, generator: np.random.Generator, sets: int
) -> tuple[Flags, Flags, Floats]:
    """Permute the rows of one run whose own balanced accuracy is that of the judge, or a little worse."""
    good = round(judge.good * rows)
    right = int(judge.sensitivity * good + 1e-9), int(judge.specificity * (rows - good) + 1e-9)
    labels = np.arange(rows) < good
    yes = np.where(labels, np.arange(rows) < right[0], np.arange(rows) >= good + right[1])
    order = generator.permuted(np.tile(np.arange(rows), (sets, 1)), axis=1)
    return yes[order], labels[order], np.full(sets, yes.mean())


def audits(yes: Flags, labels: Flags, shares: Floats, most: int) -> Audits:
    """Return the verdicts of all audits after each label."""
    cells = np.stack([yes & labels, yes & ~labels, ~yes & ~labels, ~yes & labels], axis=-1)
    counts = cells[:, :most].cumsum(axis=1)
    first = np.full((2, len(yes)), most + 1)
    for n in range(MIN_LABELS, counts.shape[1] + 1):
        now = counts[:, n - 1]
        good = now[:, 0] + now[:, 3]
        both = (good > 0) & (good < n) & (shares > 0) & (shares < 1)
        for side in (0, 1):
            (rows,) = np.nonzero(both & (first[side] > most))
            ppv, npv = (now[rows, i] / np.maximum(now[rows, i] + now[rows, i + 1], 1) for i in (0, 2))
            estimate = youden(ppv, npv, shares[rows])
            # Within the null hypothesis, there is no evidence against it.
            rows = rows[estimate > 2 * TRUSTED_ABOVE - 1 if side == 0 else estimate < 2 * GOOD_FROM - 1]
            if not len(rows):
                continue
            # One share for all audits is much faster.
            share = shares[rows] if np.ptp(shares) else shares[0]
            found = log_evidence(now[rows], share, against=side == 1)
            needed = needed_evidence(now[rows], share) if side == 0 else VILLE
            first[side, rows[found >= np.log(needed)]] = n
    return Audits(first[0], first[1], counts, shares)


def exact(share: float, part: float, most: int, points: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Compute the probability of TRUSTED with up to ``most`` labels, and a bound of that of TRUSTED ever.

    ``points`` are PPV and NPV. The order of the verdicts is fixed, with this part of yes. The distribution of
    the counts is carried from label to label. If the threshold is 20 beyond, and the likelihood ratio of the
    alternative and the point is M, then TRUSTED follows with a probability of at most M/20.
    """
    yes = np.floor(part * np.arange(most + 1) + 0.5).astype(int)
    p, q = (each[:, None, None] for each in points)
    alive, called = np.ones((len(p), 1, 1)), np.zeros(len(p))
    counts = np.zeros((1, 1, 4))
    for n in range(1, most + 1):
        rate, axis = (p, 1) if yes[n] > yes[n - 1] else (q, 2)
        right, wrong = (
            [(0, 0), *((1 - end, end) if i == axis else (0, 0) for i in (1, 2))] for end in (0, 1)
        )
        alive = np.pad(alive * rate, right) + np.pad(alive * (1 - rate), wrong)
        grid = np.meshgrid(np.arange(yes[n] + 1), np.arange(n - yes[n] + 1), indexing="ij")
        counts = np.stack([grid[0], yes[n] - grid[0], grid[1], n - yes[n] - grid[1]], axis=-1)
        if n >= MIN_LABELS:
            good = counts[..., 0] + counts[..., 3]
            enough = log_evidence(counts, share) >= np.log(needed_evidence(counts, share))
            stops = enough & (good > 0) & (good < n)
            called += (alive * stops).sum(axis=(1, 2))
            alive = alive * ~stops
    mixed = judge_evidence._log_alternative(counts * 1.0, np.array([share]), judge_evidence._FOR.alternative)
    logs = judge_evidence._logs(p, q)
    ratio = np.exp(np.minimum(mixed - sum(counts[..., i] * log for i, log in enumerate(logs)), np.log(VILLE)))
    return called, called + (alive * ratio / VILLE).sum(axis=(1, 2))


def _exact(_: int) -> Iterator[list[str]]:
    for share in SHARES:
        logs = judge_evidence._log_curve(np.array([share]), judge_evidence._FOR.null)
        points = np.exp(logs[0][::4]), np.exp(logs[2][::4])
        found = [
            exact(share, part, EXACT_LABELS, points)[1].max()
            for part in (max(0.01, share - 0.09), share, (share + 0.5) / 2, 0.5)
        ]
        yield [percent(share), *map(percent, found)]


def _power(_: int) -> Iterator[list[str]]:
    for sensitivity, specificity in (*PAIRS[GOOD_FROM], *PAIRS[0.95]):
        for good in (0.3, 0.4, 0.5):
            judge = Judge(good, sensitivity, specificity)
            points = np.array([judge.rates[0]]), np.array([judge.rates[1]])
            found = [exact(judge.share_yes, part, 80, points)[0][0] for part in (judge.share_yes, 0.5)]
            yield [*judge.name(), *map(percent, found)]


def _labels(numbers: Codes, share: float) -> str:
    found = np.quantile(numbers, share, method="higher")
    return f"> {MAX_LABELS}" if found > MAX_LABELS else str(int(found))


def _verdicts(sets: int) -> Iterator[list[str]]:
    for accuracy, pairs in PAIRS.items():
        for pair in pairs:
            for good in (0.05, 0.1, 0.2, 0.3, 0.5, *((0.7,) if pair[0] != pair[1] else ())):
                judge = Judge(good, *pair)
                found = audits(*_run(judge, None, np.random.default_rng(0), sets), MAX_LABELS)
                against = found.not_trusted < found.trusted
                shares = [
                    np.mean(called & (numbers <= most))
                    for called, numbers in ((~against, found.trusted), (against, found.not_trusted))
                    for most in (80, 150, MAX_LABELS)
                ]
                ever = np.mean(found.trusted <= MAX_LABELS)
                numbers = np.minimum(found.trusted, found.not_trusted)
                ends = [_labels(numbers, share) for share in (0.5, 0.9)]
                yield [f"{accuracy:g}", *judge.name(), *map(percent, (ever, *shares)), *ends]


SMALL = (
    *(Judge(good, *pair) for pair in PAIRS[TRUSTED_ABOVE] for good in (0.3, 0.5, 0.7)),
    *(Judge(good, *pair) for pair in PAIRS[GOOD_FROM] for good in (0.3, 0.5)),
)


def _runs(sets: int) -> Iterator[list[str]]:
    for judge in SMALL:
        cells = []
        for draw in (_run, _fixed_run):
            for rows in (100, 300, 2000):
                found = audits(*draw(judge, rows, np.random.default_rng(0), sets), 110)
                if judge.sensitivity + judge.specificity < 2 * GOOD_FROM - 1e-9:
                    cells.append(percent(float(np.mean(found.trusted <= 110))))
                else:
                    wrong = np.mean((found.not_trusted < found.trusted) & (found.not_trusted <= 110))
                    cells.append(f"{percent(float(np.mean(found.trusted <= 80)))} ({percent(float(wrong))})")
        yield [*judge.name(), *cells]


def _predictions(sets: int) -> Iterator[list[str]]:
    for judge in (
        Judge(0.5, *pair) for pair in ((0.95, 0.95), (0.9, 0.9), (0.85, 0.85), (0.75, 0.75), (0.6, 0.6))
    ):
        drawn = audits(*_run(judge, None, np.random.default_rng(0), sets), MAX_LABELS)
        ends = np.minimum(drawn.trusted, drawn.not_trusted)
        for looked in (20, 40):
            ratios = []
            for end, counts in zip(ends, drawn.counts[:, looked - 1], strict=True):
                trust = judge_trust(LabelCounts(*counts.tolist()), judge.share_yes) if end > looked else None
                # Without a verdict so far, it is unknown whether a later prediction holds.
                if trust and trust.more and (end <= MAX_LABELS or looked + trust.more <= MAX_LABELS):
                    ratios.append((end - looked) / trust.more)
            held = float(np.mean(np.array(ratios) <= 1))
            quarter, half, most = np.quantile(ratios, (0.25, 0.5, 0.75))
            shown = f"{half:.2f} ({quarter:.2f} to {most:.2f})"
            yield [*judge.name(), str(looked), str(len(ratios)), percent(held), shown]


def _coverages(sets: int) -> Iterator[list[str]]:
    others = {"0.3 → 0.6": (0.3, 0.6), "0.5 → 0.5": (0.5, 0.5), "0.6 → 0.1": (0.6, 0.1)}
    for name, (good, other) in others.items():
        for pair in ((0.9, 0.9), (1.0, 0.8), (0.75, 0.75), (0.6, 0.9)):
            for rows, labelled in ((300, 40), (300, 80), (2000, 80)):
                yield [
                    name,
                    *map(str, (*pair, rows, labelled)),
                    *_covered(Judge(good, *pair), other, rows, labelled, sets),
                ]


def _covered(judge: Judge, other: float, rows: int, labelled: int, sets: int) -> Iterator[str]:
    generator = np.random.default_rng(0)
    yes, labels, shares = _run(judge, rows, generator, sets)
    counts = audits(yes[:, :labelled], labels[:, :labelled], shares, labelled).counts[:, -1]
    audited = [LabelCounts(*each.tolist()) for each in counts]
    # `judge_trust` would also predict a number of labels.
    trust = [_estimates(*each) for each in zip(audited, shares.tolist(), strict=True)]
    accuracy = (judge.sensitivity + judge.specificity) / 2
    for field, truth in (
        ("sensitivity", judge.sensitivity),
        ("specificity", judge.specificity),
        ("balanced_accuracy", accuracy),
    ):
        yield percent(coverage([getattr(one[field], "interval", None) for one in trust], truth).covered)
    good, right = labels.sum(axis=1), ((yes & labels).sum(axis=1), (~yes & ~labels).sum(axis=1))
    in_runs = (right[0] / good + right[1] / (rows - good)) / 2
    held = [
        one["balanced_accuracy"] is not None
        and one["balanced_accuracy"].interval.low <= truth <= one["balanced_accuracy"].interval.high
        for one, truth in zip(trust, in_runs, strict=True)
    ]
    yield percent(float(np.mean(held)))
    own = [corrected_share(*each) for each in zip(audited, shares.tolist(), strict=True)]
    truths = labels.mean(axis=1)
    yield percent(float(np.mean([_holds(one, truth) for one, truth in zip(own, truths, strict=True)])))
    second = generator.binomial(rows, judge._replace(good=other).share_yes, sets) / rows
    made = [
        corrected_share(one, share, other_share=found, rows=rows, audited_rows=rows)
        for one, share, found in zip(audited, shares.tolist(), second.tolist(), strict=True)
    ]
    defined = [one for one in made if one.interval is not None]
    yield percent(float(np.mean([_holds(one, other) for one in defined])))
    yield percent(1 - len(defined) / sets)


def _holds(share: CorrectedShare, truth: float) -> bool:
    return share.interval is not None and share.interval.low <= truth <= share.interval.high


def tables(sets: int) -> Iterator[str]:
    """Yield the tables."""
    orders = ("0.09 less", "as in the run", "between", "half yes")
    yield section("TRUSTED with BA = 0.75, exact bound", ("verdicts yes in the run", *orders), _exact(sets))
    judge = ("good rows", "sensitivity", "specificity")
    ways = ("random rows", "equal numbers by verdict")
    yield section("TRUSTED with up to 80 labels, exact", (*judge, *ways), _power(sets))
    called = [f"{word} by {most}" for word in ("TRUSTED", "NOT TRUSTED") for most in (80, 150, MAX_LABELS)]
    columns = ("BA", *judge, "ever TRUSTED", *called, "labels, median", "labels, 90 %")
    yield section("Verdicts", columns, _verdicts(sets))
    runs = [f"{whose}, {rows} rows" for whose in ("population", "run") for rows in (100, 300, 2000)]
    yield section("Runs of few rows", (*judge, *runs), _runs(sets))
    columns = (*judge, "labels", "audits", "verdict in the predicted number", "needed / predicted")
    yield section("Predicted numbers of labels", columns, _predictions(sets))
    columns = ("good rows", "sensitivity", "specificity", "rows", "labels", "sensitivity covered")
    more = (
        "specificity covered",
        "BA covered",
        "BA of the run",
        "own share",
        "share of the other run",
        "undefined",
    )
    yield section("Coverage of the intervals", (*columns, *more), _coverages(sets))
