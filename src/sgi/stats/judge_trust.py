"""Whether a judge with yes/no verdicts can be trusted, from a few labels by people; the corrected share.

The balanced accuracy is BA = (sensitivity + specificity)/2, over the rows that the judge and people call good
or bad. Labels are a random sample, of all rows or of the rows of each verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.stats.intervals import Interval, normal_quantile, percentile_interval, wilson_ends
from sgi.stats.judge_evidence import GOOD_FROM, TRUSTED_ABOVE, VILLE, log_evidence, needed_evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MIN_LABELS = 10
MAX_MORE = 500
"""More further labels than this are not predicted."""
_LEVEL = 0.95
_DRAWS = 4000
_SEED = 20_080


@dataclass(frozen=True)
class LabelCounts:
    """Numbers of labelled rows by the judge's verdict.

    Attributes:
        right_yes: verdict yes, label yes.
        wrong_yes: verdict yes, label no.
        right_no: verdict no, label no.
        wrong_no: verdict no, label yes.
    """

    right_yes: int
    wrong_yes: int
    right_no: int
    wrong_no: int

    @property
    def yes(self) -> int:
        """Labelled rows with the verdict yes."""
        return self.right_yes + self.wrong_yes

    @property
    def no(self) -> int:
        """Labelled rows with the verdict no."""
        return self.right_no + self.wrong_no

    @property
    def labelled(self) -> int:
        """All labelled rows."""
        return self.yes + self.no


@dataclass(frozen=True)
class Estimate:
    """An estimate in [0, 1], with a 95 % interval for one look at the labels."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class JudgeTrust:
    """Verdict on a judge.

    Attributes:
        verdict: TRUSTED (BA is shown to be above 0.75), NOT TRUSTED (shown to be below 0.9) or NEED.
        more: predicted number of further labels for NEED; None otherwise, or if more than 500 are needed.
        reason: one sentence.
        sensitivity: share of the good rows with the verdict yes; None if it cannot be estimated.
        specificity: share of the bad rows with the verdict no; None likewise.
        balanced_accuracy: their mean; None likewise.
        ppv: share of good rows among the verdicts yes; None without such labels.
        npv: share of bad rows among the verdicts no; None without such labels.
        evidence_for: evidence for BA > 0.75, at least 0.
        needed_for: threshold of ``evidence_for`` with this number of labels.
        evidence_against: evidence for BA < 0.9, at least 0; its threshold is 20.
    """

    verdict: Literal["TRUSTED", "NOT TRUSTED", "NEED"]
    more: int | None
    reason: str
    sensitivity: Estimate | None
    specificity: Estimate | None
    balanced_accuracy: Estimate | None
    ppv: Estimate | None
    npv: Estimate | None
    evidence_for: float
    needed_for: float
    evidence_against: float


@dataclass(frozen=True)
class CorrectedShare:
    """Share of good rows, corrected for the errors of the judge; None with a reason if undefined."""

    value: float | None
    interval: Interval | None = None
    reason: str = ""


def judge_trust(counts: LabelCounts, share_yes: float) -> JudgeTrust:
    """Return whether the balanced accuracy (BA) of a judge is shown to be above 0.75, or to be below 0.9.

    At most 5 % of judges with BA ≤ 0.75 are ever TRUSTED, and at most 5 % of judges with BA ≥ 0.9 are ever
    NOT TRUSTED, although the verdict is looked up after each label. The first verdict other than NEED is the
    one that counts: keep it, because later labels can move the evidence below the threshold again.

    Args:
        counts: the labels.
        share_yes: share of the verdicts yes among all rows of the run.

    Raises:
        ValueError: a count is negative, a share outside [0, 1], or a label has a verdict that no row has.

    Source: `log_evidence`, `needed_evidence`.

    >>> trust = judge_trust(LabelCounts(19, 1, 19, 1), 0.5)
    >>> trust.verdict, round(trust.balanced_accuracy.value, 2)
    ('TRUSTED', 0.95)
    """
    _check(counts, share_yes)
    table = _table(counts)
    if 0 < share_yes < 1:
        found, opposed = (float(log_evidence(table, share_yes, against=side)) for side in (False, True))
    else:
        # With BA ≥ 0.9, at most 1 in 5 rows of a class has the wrong verdict.
        found, opposed = -math.inf, math.log(5.0) * (counts.wrong_yes + counts.wrong_no)
    needed = float(needed_evidence(table, share_yes))
    verdict, reason = _verdict(counts, found - math.log(needed), opposed, one_verdict=share_yes in {0, 1})
    more = _further_labels(counts, share_yes) if verdict == "NEED" and 0 < share_yes < 1 else None
    return JudgeTrust(
        verdict,
        more,
        reason,
        **_estimates(counts, share_yes),
        evidence_for=math.exp(min(found, 700.0)),
        needed_for=needed,
        evidence_against=math.exp(min(opposed, 700.0)),
    )


def _table(counts: LabelCounts) -> Floats:
    return np.array([counts.right_yes, counts.wrong_yes, counts.right_no, counts.wrong_no], dtype=np.float64)


def _check(counts: LabelCounts, share_yes: float) -> None:
    if _table(counts).min() < 0:
        raise ValueError(f"Counts of labels must be at least 0, not {counts}.")
    if not 0.0 <= share_yes <= 1.0:
        raise ValueError(f"The share of verdicts must be in [0, 1], not {share_yes}.")
    if (share_yes == 0 and counts.yes) or (share_yes == 1 and counts.no):
        raise ValueError(f"A label has a verdict that no row has: {counts}, share of yes {share_yes}.")


def _verdict(
    counts: LabelCounts, surplus: float, opposed: float, *, one_verdict: bool
) -> tuple[Literal["TRUSTED", "NOT TRUSTED", "NEED"], str]:
    if counts.labelled < MIN_LABELS:
        some = {0: "There are no labels", 1: "There is only 1 label"}.get(
            counts.labelled, f"There are only {counts.labelled} labels"
        )
        return "NEED", f"{some}; at least {MIN_LABELS} are needed."
    good = counts.right_yes + counts.wrong_no
    if good in {0, counts.labelled}:
        return "NEED", f"All labels are {'yes' if good else 'no'}; labels of both classes are needed."
    if surplus >= 0:
        return "TRUSTED", f"The balanced accuracy is shown to be above {TRUSTED_ABOVE}."
    if opposed >= math.log(VILLE):
        return "NOT TRUSTED", f"The balanced accuracy is shown to be below {GOOD_FROM}."
    if one_verdict:
        return "NEED", f"The judge gives every row the verdict {'yes' if counts.yes else 'no'}."
    return "NEED", f"The balanced accuracy is not yet shown to be above {TRUSTED_ABOVE} or below {GOOD_FROM}."


def _further_labels(counts: LabelCounts, share_yes: float) -> int | None:
    """Predict the further labels of random rows for a verdict; one label shrinks the rates towards 0.9."""
    table = _table(counts)
    ppv, npv = (counts.right_yes + 0.9) / (counts.yes + 1), (counts.right_no + 0.9) / (counts.no + 1)
    steps = np.concatenate([np.arange(1, 41), np.arange(42, 121, 2), np.arange(130, MAX_MORE + 1, 10)])
    per_label = np.array(
        [share_yes * ppv, share_yes * (1 - ppv), (1 - share_yes) * npv, (1 - share_yes) * (1 - npv)]
    )
    later = table + steps[:, None] * per_label
    decided = (log_evidence(later, share_yes) >= np.log(needed_evidence(later, share_yes))) | (
        log_evidence(later, share_yes, against=True) >= math.log(VILLE)
    )
    enough = np.flatnonzero(decided & (steps + counts.labelled >= MIN_LABELS))
    return int(steps[enough[0]]) if len(enough) else None


def _draws(counts: LabelCounts) -> tuple[Floats, Floats, np.random.Generator]:
    """Draw PPV and NPV from their posterior distributions with Jeffreys' prior, Beta(½, ½)."""
    generator = np.random.default_rng(_SEED)
    ppv = generator.beta(counts.right_yes + 0.5, counts.wrong_yes + 0.5, _DRAWS)
    return ppv, generator.beta(counts.right_no + 0.5, counts.wrong_no + 0.5, _DRAWS), generator


def _rates(ppv: Floats, npv: Floats, share: float | Floats) -> tuple[Floats, Floats]:
    """Return sensitivity and specificity."""
    good = share * ppv + (1 - share) * (1 - npv)
    return share * ppv / good, (1 - share) * npv / (1 - good)


def _with_draws(value: float, draws: Floats) -> Estimate:
    interval = percentile_interval(draws, _LEVEL, "posterior")
    low, high = min(interval.low, value), max(interval.high, value)
    return Estimate(value, Interval(low, high, _LEVEL, interval.method))


def _of_share(right: int, total: int) -> Estimate | None:
    if not total:
        return None
    ends = wilson_ends(right / total, total, normal_quantile(_LEVEL))
    return Estimate(right / total, Interval(*ends, _LEVEL, "Wilson"))


def _estimates(counts: LabelCounts, share: float) -> dict[str, Estimate | None]:
    ppv, npv = _of_share(counts.right_yes, counts.yes), _of_share(counts.right_no, counts.no)
    rates: dict[str, Estimate | None] = dict.fromkeys(("sensitivity", "specificity", "balanced_accuracy"))
    good = counts.right_yes + counts.wrong_no
    if ppv and npv and 0 < good < counts.labelled and 0 < share < 1:
        values = [float(rate) for rate in _rates(np.array(ppv.value), np.array(npv.value), share)]
        all_ppv, all_npv, _ = _draws(counts)
        drawn = _rates(all_ppv, all_npv, share)
        rates["sensitivity"], rates["specificity"] = map(_with_draws, values, drawn)
        rates["balanced_accuracy"] = _with_draws(sum(values) / 2, (drawn[0] + drawn[1]) / 2)
    return {**rates, "ppv": ppv, "npv": npv}


def _drawn_shares(generator: np.random.Generator, share: float, rows: int) -> Floats:
    return generator.beta(share * rows + 0.5, (1 - share) * rows + 0.5, _DRAWS)


def corrected_share(
    counts: LabelCounts,
    share_yes: float,
    *,
    other_share: float | None = None,
    rows: int | None = None,
    audited_rows: int | None = None,
) -> CorrectedShare:
    r"""Return the share of good rows of the audited run, or of another run of the same judge.

    .. math:: \pi = r \cdot PPV + (1 - r)(1 - NPV), \quad
        \pi_2 = \frac{r_2 + \text{specificity} - 1}{\text{sensitivity} + \text{specificity} - 1}

    The other run has the share r₂ = ``other_share`` of verdicts yes among ``rows`` rows; its π₂ is clipped to
    [0, 1]. It assumes that sensitivity and specificity are the same in both runs, as shares of populations;
    with ``audited_rows``, ``share_yes`` is as uncertain as in a sample of so many rows. Intervals are
    percentiles of posterior draws with Jeffreys' priors.

    Raises:
        ValueError: as for `judge_trust`; or only one of ``other_share`` and ``rows`` is given.

    Source: Rogan and Gladen (1978), Am. J. Epidemiol. 107; Lang and Reiczigel (2014), Prev. Vet. Med. 113.

    >>> counts = LabelCounts(36, 4, 38, 2)
    >>> round(corrected_share(counts, 0.5).value, 3)
    0.475
    >>> round(corrected_share(counts, 0.5, other_share=0.3, rows=500).value, 3)
    0.24
    """
    _check(counts, share_yes)
    if (other_share is None) != (rows is None):
        raise ValueError("`other_share` and `rows` must be given together.")
    if (not counts.yes and share_yes > 0) or (not counts.no and share_yes < 1):
        return CorrectedShare(None, reason="Rows of one verdict have no labels.")
    ppv, npv, generator = _draws(counts)
    right = counts.right_yes / max(counts.yes, 1), counts.right_no / max(counts.no, 1)
    if other_share is None or rows is None:
        value = share_yes * right[0] + (1 - share_yes) * (1 - right[1])
        made = _with_draws(value, share_yes * ppv + (1 - share_yes) * (1 - npv))
        return CorrectedShare(made.value, made.interval)
    if not 0.0 <= other_share <= 1.0 or rows < 1:
        raise ValueError(f"The other run must have rows and a share in [0, 1], not {rows}, {other_share}.")
    undefined = (
        "Sensitivity + specificity − 1 is not clearly above 0: the verdicts say little about the rows."
    )
    good = counts.right_yes + counts.wrong_no
    if not 0 < share_yes < 1 or good in {0, counts.labelled}:
        return CorrectedShare(None, reason=undefined)
    audited = _drawn_shares(generator, share_yes, audited_rows) if audited_rows else share_yes
    sensitivity, specificity = _rates(ppv, npv, audited)
    j = sensitivity + specificity - 1
    if np.quantile(j, (1 - _LEVEL) / 2) <= 0:
        return CorrectedShare(None, reason=undefined)
    one, two = (float(rate) for rate in _rates(np.array(right[0]), np.array(right[1]), share_yes))
    value = min(1.0, max(0.0, (other_share + two - 1) / (one + two - 1)))
    yes = _drawn_shares(generator, other_share, rows)
    drawn = np.clip(np.divide(yes + specificity - 1, j, out=np.ones(_DRAWS), where=j > 0), 0.0, 1.0)
    made = _with_draws(value, drawn)
    return CorrectedShare(made.value, made.interval)
