"""Verdicts and warnings of a detector card as sentences. Intervals decide every verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.stats.confounds import CONTENT_PRECISION
from sgi_lab.card.controls import LENGTH, MAX_IMBALANCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.confounds import Baseline
    from sgi.stats.intervals import Interval
    from sgi.stats.ranking import Ranking
    from sgi_lab.card.card import DetectorCard, MatchedControl, ShuffledControl

CHANCE = 0.5
NEAR_CHANCE = 0.7
"""An interval that includes 0.5 and lies within (0.3, 0.7) is near chance, not merely inconclusive."""

BARELY = 0.6
"""An AUROC interval above 0.5 whose upper end is below this shows a weak ranking."""

TOO_GOOD = 0.99
"""An AUROC above this gives a warning about leakage."""

MIN_UNGROUNDED = 50
"""With fewer ungrounded rows, the interval of the false positive rate covers less often than its level."""

_WIDE = 0.15
_LEAK = (
    "Check that no answer is scored against itself or its own reference, that the detector was not fitted on"
    " these rows, that the labels were not derived from the score, and that the ungrounded answers do not"
    " differ in length, style or wording."
)


def warnings(card: DetectorCard) -> Iterator[str]:
    """Warn about signs of leakage or of a confounder."""
    if card.ranking.auroc > TOO_GOOD:
        yield f"AUROC {card.ranking.auroc:.3f} is above {TOO_GOOD}, which suggests leakage. {_LEAK}"
    elif card.ranking.auroc < 1 - TOO_GOOD:
        yield f"AUROC {card.ranking.auroc:.3f} is reversed and close to 0, which suggests leakage. {_LEAK}"
    if card.permuted is not None and not _includes_chance(card.permuted.interval):
        yield (
            f"With permuted labels the AUROC is {number(card.permuted.auroc, card.permuted.interval)}, not"
            " 0.5. Either few labels can be exchanged (groups exchange labels only with groups of the same"
            " size), or the AUROC depends on something other than the labels."
        )
    for one in card.within:
        if one.ranks_labels:
            yield (
                f"The column {one.column} alone predicts the labels (AUROC {one.alone:.3f}, p = {one.p:.3f};"
                f" {one.left_out:.3f} with leave-one-out). Within its {one.values} values the AUROC of the"
                f" score is {_auroc(one.within.ranking)}; over all rows it is {card.ranking.auroc:.3f}."
            )


def notes(card: DetectorCard) -> Iterator[str]:
    """Interpret the numbers, the most important first."""
    yield from _chance(card.ranking)
    yield from _comparisons(card)
    yield from _shuffling_notes(card.ranking, card.shuffled, "With shuffled contexts, the score")
    yield from _matching_notes(card.ranking, card.length_matched, LENGTH, "length")
    yield from _within_length(card.length_within)
    yield from _matching_notes(card.ranking, card.precision_matched, CONTENT_PRECISION, CONTENT_PRECISION)
    share = card.false_positive_rate
    yield (
        f"A threshold that flags 95 % of the ungrounded answers also flags {100 * share.value:.0f} %"
        f"{_percent(share.interval)} of the grounded ones."
    )
    if share.interval is not None and card.ungrounded < MIN_UNGROUNDED:
        yield (
            f"This interval is too narrow: with {card.ungrounded} ungrounded answers, the threshold depends"
            " on one or two of them."
        )
    yield from _probabilities(card)
    yield from _subgroups(card)


def number(value: float, interval: Interval | None) -> str:
    """Format a value to three digits, with its interval if there is one."""
    return f"{value:.3f}" if interval is None else f"{value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def width_words(width: float, unit: str) -> str:
    """Describe how rows were matched.

    >>> width_words(0, "length"), width_words(5, "length")
    ('equal length', 'length within bins of 5')
    """
    return f"equal {unit}" if width == 0 else f"{unit} within bins of {width:g}"


def _auroc(ranking: Ranking) -> str:
    return number(ranking.auroc, ranking.interval)


def _includes_chance(interval: Interval | None) -> bool:
    return interval is None or interval.low <= CHANCE <= interval.high


def _above(one: Ranking, other: Ranking) -> bool:
    """Return whether one interval is entirely above the other, for rankings of different rows."""
    return one.interval is not None and other.interval is not None and one.interval.low > other.interval.high


def _order(one: Ranking, other: Ranking, difference: AurocDifference | None) -> int:
    """Return 1 if the first ranks better on the same rows, −1 if the other does, 0 if neither is shown.

    The interval of the difference decides. Without one, the two intervals must not overlap.
    """
    if difference is not None and difference.interval is not None:
        return (difference.interval.low > 0) - (difference.interval.high < 0)
    return _above(one, other) - _above(other, one)


def _chance(ranking: Ranking) -> Iterator[str]:
    if ranking.interval is None:
        reason = ranking.no_interval or "there are too few rows"
        yield f"The AUROC has no interval ({reason}), so it is not shown to differ from chance."
        return
    low, high = ranking.interval.low, ranking.interval.high
    auroc = f"AUROC {ranking.auroc:.2f} [{low:.2f}, {high:.2f}]"
    if low <= CHANCE <= high:
        more = " More rows would narrow the interval." if high - low > _WIDE else ""
        near = low > 1 - NEAR_CHANCE and high < NEAR_CHANCE
        verdict = "Near chance" if near else "Not shown to differ from chance"
        yield f"{verdict} on these rows: {auroc}; the interval includes 0.5.{more}"
    elif high < CHANCE:
        yield (
            f"The ranking is reversed on these rows: {auroc} is below 0.5. Check that a label of 1 means"
            " grounded and that the direction of the score is right."
        )
    elif high < BARELY:
        yield f"The ranking is weak on these rows: {auroc}; even the upper end is below {BARELY}."


def _comparisons(card: DetectorCard) -> Iterator[str]:
    ranking, baselines = card.ranking, card.baselines
    order = {one.name: _order(ranking, one.ranking, card.differences.get(one.name)) for one in baselines}
    for one in baselines:
        if order[one.name] < 0:
            numbers = f"AUROC {one.ranking.auroc:.2f} against {ranking.auroc:.2f}"
            yield f"{_capital(one.name)} alone ranks better ({numbers}; {one.direction} = grounded)."
    undecided = [one for one in baselines if order[one.name] == 0]
    if undecided:
        yield f"Not shown to rank better than these baselines: {_names(undecided)}."
    if baselines and min(order.values()) > 0:
        yield "The score ranks better than every baseline."
    levels = [one.interval.level for one in card.differences.values() if one.interval is not None]
    if len(levels) > 1:
        yield (
            f"The {len(card.differences)} comparisons with baselines are corrected for multiple testing"
            f" (Bonferroni): each interval is at {100 * levels[0]:.2f} %, so that all hold together at 95 %."
        )
    for one in baselines:
        if one.ranking.interval is not None and one.ranking.interval.high < CHANCE:
            yield f"The ranking of {one.name} is reversed here (AUROC {one.ranking.auroc:.2f})."


def _names(baselines: Sequence[Baseline]) -> str:
    return ", ".join(f"{one.name} ({one.ranking.auroc:.2f})" for one in baselines)


def _capital(name: str) -> str:
    """Capitalise a name at the start of a sentence; leave a formula as it is."""
    return name if "(" in name else f"{name[:1].upper()}{name[1:]}"


def _matching_notes(ranking: Ranking, matched: MatchedControl | None, name: str, unit: str) -> Iterator[str]:
    if matched is None:
        return
    rows = f"{matched.pairs:,} pairs of {width_words(matched.width, unit)}"
    auroc, overall = _auroc(matched.ranking), f"{ranking.auroc:.3f} on all rows"
    alone = next((one.ranking for one in matched.baselines if one.name == name), None)
    if _includes_chance(matched.ranking.interval):
        yield f"On {rows}, the score is not shown to differ from chance: AUROC {auroc}."
    elif alone is not None and _ranks(alone):
        yield f"On {rows}, the AUROC is {auroc}, but {name} may explain part of it."
    elif _above(ranking, matched.ranking):
        yield f"On {rows}, the score separates the classes less well: AUROC {auroc}, compared with {overall}."
    elif _above(matched.ranking, ranking):
        yield f"On {rows}, the score separates the classes better: AUROC {auroc}, compared with {overall}."
    else:
        yield f"On {rows}, the AUROC is {auroc}, not shown to differ from {overall}."
    differences = matched.differences
    better = [
        one
        for one in matched.baselines
        if _order(matched.ranking, one.ranking, differences.get(one.name)) < 0
    ]
    if better:
        yield f"These baselines rank better on those pairs: {_names(better)}."
    yield from _shuffling_notes(
        matched.ranking, matched.shuffled, "With shuffled contexts on those pairs, the score"
    )
    if alone is not None and _ranks(alone):
        yield f"The pairs are not balanced: {name} alone has AUROC {_auroc(alone)} on them."


def _ranks(alone: Ranking) -> bool:
    """Return whether the matched quantity still separates the classes, or may do so."""
    return abs(alone.auroc - CHANCE) > MAX_IMBALANCE or not _includes_chance(alone.interval)


def _within_length(alone: Ranking | None) -> Iterator[str]:
    if alone is not None and _ranks(alone):
        yield f"Deciles of length do not remove its effect: length alone has AUROC {_auroc(alone)} in them."


def _shuffling_notes(ranking: Ranking, shuffled: ShuffledControl, subject: str) -> Iterator[str]:
    if shuffled.ranking is None:
        return
    numbers = f"AUROC {shuffled.ranking.auroc:.2f}, compared with {ranking.auroc:.2f} with the right contexts"
    order = _order(ranking, shuffled.ranking, shuffled.difference)
    if order > 0:
        yield f"{subject} separates the classes less well: {numbers}. It uses the contexts."
    elif order < 0:
        yield f"{subject} separates the classes better: {numbers}. The right contexts make it worse."
    else:
        yield f"{subject} is not shown to rank differently: {numbers}. It is not shown to use the contexts."


def _probabilities(card: DetectorCard) -> Iterator[str]:
    for one in card.calibration:
        if one.gain is not None and (one.gain.interval is None or one.gain.interval.low <= 0):
            yield f"The probabilities ({one.method}) are not shown to be better than the constant base rate."


def _subgroups(card: DetectorCard) -> Iterator[str]:
    count = sum(one.ranking is not None and one.ranking.interval is not None for one in card.subgroups)
    if count > 1:
        yield (
            f"The intervals of the {count} subgroups are at 95 % each, not corrected for multiple"
            " comparisons: about 1 in 20 misses the true value by chance."
        )


def _percent(interval: Interval | None) -> str:
    return "" if interval is None else f" [{100 * interval.low:.0f}, {100 * interval.high:.0f}]"
