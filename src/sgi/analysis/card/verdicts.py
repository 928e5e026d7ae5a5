"""The verdicts of a detector card in plain words. Every verdict is decided from intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.card.controls import BALANCED, LENGTH, OVERLAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.card.card import DetectorCard, Matched, Shuffled
    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.intervals import Interval
    from sgi.stats.ranking import Ranking

CHANCE = 0.5
NEAR_CHANCE = 0.7
"""What holds 0.5 and ends below this (and as far above the other side) is near chance, not merely unknown."""

BARELY = 0.6
"""An interval of AUROC that lies above 0.5 and ends below this ranks, but barely."""

TOO_GOOD = 0.99
"""An AUROC above this is a leak until shown otherwise."""

ENOUGH_SOUGHT = 50
"""With fewer ungrounded rows intervals of false positives hold the truth less often than they say."""

_WIDE = 0.15
_LEAK = (
    "Check that no answer is scored against itself or its own reference, that no row stands in what the"
    " detector was fitted on, that the labels were not made from the score, and that the ungrounded answers"
    " were not made in a way that length, style or wording gives away."
)


def warnings(card: DetectorCard) -> Iterator[str]:
    """Signs of a leak or of a confounder."""
    if card.ranking.auroc > TOO_GOOD:
        yield f"AUROC {card.ranking.auroc:.3f} is above {TOO_GOOD}: look for a leak. {_LEAK}"
    elif card.ranking.auroc < 1 - TOO_GOOD:
        yield f"AUROC {card.ranking.auroc:.3f}: the wrong way round, and too well. Look for a leak. {_LEAK}"
    if card.permuted is not None and not _holds(card.permuted.interval, CHANCE):
        yield (
            f"With shuffled labels AUROC is {number(card.permuted.auroc, card.permuted.interval)}, not 0.5:"
            " either few labels can change places, groups of rows exchanging theirs only with groups of the"
            " same size, or something other than the labels decides."
        )
    for one in card.within:
        if one.ranks_labels:
            yield (
                f"The column {one.column} ranks the labels by itself (AUROC {one.alone:.3f}, p = {one.p:.3f};"
                f" {one.left_out:.3f} where each row's own label is left out). Within its {one.values} values"
                f" the score has AUROC {_ranked(one.within.ranking)}; over all rows {card.ranking.auroc:.3f}."
            )


def notes(card: DetectorCard) -> Iterator[str]:
    """What the numbers say, the heaviest first."""
    yield from _chance(card.ranking)
    yield from _beside(card)
    yield from _shuffled(card.ranking, card.shuffled, "Contexts shuffled, it")
    yield from _matched(card.ranking, card.length_matched, LENGTH, "length")
    yield from _within_length(card.length_within)
    yield from _matched(card.ranking, card.overlap_matched, OVERLAP, "overlap with the contexts")
    share = card.false_positive_rate
    yield (
        f"To flag 95 % of the ungrounded answers, {100 * share.value:.0f} % of the grounded ones are flagged"
        f" too{_percent(share.interval)}."
    )
    if share.interval is not None and card.ungrounded < ENOUGH_SOUGHT:
        yield (
            f"That interval is too narrow: with {card.ungrounded} ungrounded answers, where 95 % of them lie"
            " hangs on one or two."
        )
    yield from _believed(card)
    yield from _subgroups(card)


def number(value: float, interval: Interval | None) -> str:
    """A value to three digits, with its interval if there is one.

    >>> number(0.8, None)
    '0.800'
    """
    return f"{value:.3f}" if interval is None else f"{value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def width_words(width: float, unit: str) -> str:
    """How rows were matched.

    >>> width_words(0, "length"), width_words(5, "length")
    ('equal length', 'length within bins of 5')
    """
    return f"equal {unit}" if width == 0 else f"{unit} within bins of {width:g}"


def _ranked(found: Ranking) -> str:
    return number(found.auroc, found.interval)


def _holds(interval: Interval | None, value: float) -> bool:
    return interval is None or interval.low <= value <= interval.high


def _above(one: Ranking, other: Ranking) -> bool:
    """Whether one interval lies wholly above the other: rankings of different rows."""
    return one.interval is not None and other.interval is not None and one.interval.low > other.interval.high


def _order(one: Ranking, other: Ranking, difference: AurocDifference | None) -> int:
    """1 where the first is shown to rank better over the same rows, −1 where the other is, else 0.

    The interval of the difference decides. Where there is none, the two intervals must not overlap.
    """
    if difference is not None and difference.interval is not None:
        return (difference.interval.low > 0) - (difference.interval.high < 0)
    return _above(one, other) - _above(other, one)


def _chance(found: Ranking) -> Iterator[str]:
    if found.interval is None:
        reason = found.no_interval or "there are too few rows"
        yield f"AUROC has no interval ({reason}), so it is not shown to differ from chance."
        return
    low, high = found.interval.low, found.interval.high
    shown = f"[{low:.2f}, {high:.2f}]"
    if low <= CHANCE <= high:
        more = " More rows would narrow it." if high - low > _WIDE else ""
        verdict = "Near chance" if low > 1 - NEAR_CHANCE and high < NEAR_CHANCE else "Not shown to rank"
        yield f"{verdict} on these rows: AUROC {found.auroc:.2f}, and its interval {shown} holds 0.5.{more}"
    elif high < CHANCE:
        yield (
            f"It ranks the wrong way round on these rows: AUROC {found.auroc:.2f} {shown}, below 0.5. Is a"
            " label of 1 grounded, and is the direction of the score right?"
        )
    elif high < BARELY:
        yield (
            f"It barely ranks these rows: AUROC {found.auroc:.2f}, and even the upper end of its interval"
            f" {shown} lies below {BARELY}."
        )


def _beside(card: DetectorCard) -> Iterator[str]:
    """How the score ranks beside each trivial one over the same rows."""
    found, given = card.ranking, card.baselines
    order = {one.name: _order(found, one.ranking, card.differences.get(one.name)) for one in given}
    for one in given:
        if order[one.name] < 0:
            told = f"{one.ranking.auroc:.2f} over {found.auroc:.2f}; {one.direction} = grounded"
            yield f"{_capital(one.name)} alone ranks better ({told})."
    level = [one for one in given if order[one.name] == 0]
    if level:
        told = ", ".join(f"{one.name} ({one.ranking.auroc:.2f})" for one in level)
        yield f"It is not shown to rank better than these alone: {told}."
    if given and min(order.values()) > 0:
        yield "It ranks better than each of the trivial scores."
    levels = [found.interval.level for found in card.differences.values() if found.interval is not None]
    if len(levels) > 1:
        yield (
            f"The {len(card.differences)} comparisons with trivial scores are corrected for their number:"
            f" each uses an interval at {100 * levels[0]:.2f} %, so that all hold together at 95 %."
        )
    for one in given:
        if one.ranking.interval is not None and one.ranking.interval.high < CHANCE:
            yield f"{_capital(one.name)} ranks the wrong way round here ({one.ranking.auroc:.2f})."


def _capital(name: str) -> str:
    """A name at the head of a sentence; one that is a formula stays as it is.

    >>> _capital("length"), _capital("cos(r,q)")
    ('Length', 'cos(r,q)')
    """
    return name if "(" in name else f"{name[:1].upper()}{name[1:]}"


def _matched(found: Ranking, made: Matched | None, name: str, unit: str) -> Iterator[str]:
    if made is None:
        return
    rows = f"{made.pairs:,} pairs of {width_words(made.width, unit)}"
    told = _ranked(made.ranking)
    alone = next((one.ranking for one in made.baselines if one.name == name), None)
    if _holds(made.ranking.interval, CHANCE):
        yield f"On {rows} it is not shown to rank at all: AUROC {told}."
    elif alone is not None and _differ(alone):
        yield f"On {rows} its AUROC is {told}, but part of that may be {name} still."
    elif _above(found, made.ranking):
        yield f"On {rows} it ranks less well: AUROC {told}, where all rows give {found.auroc:.3f}."
    elif _above(made.ranking, found):
        yield f"On {rows} it ranks better: AUROC {told}, where all rows give {found.auroc:.3f}."
    else:
        yield f"On {rows} its AUROC is {told}, not shown to differ from the {found.auroc:.3f} of all rows."
    better = [
        one for one in made.baselines if _order(made.ranking, one.ranking, made.differences.get(one.name)) < 0
    ]
    if better:
        told = ", ".join(f"{one.name} ({one.ranking.auroc:.2f})" for one in better)
        yield f"Better than it on those pairs: {told}."
    yield from _shuffled(made.ranking, made.shuffled, "Contexts shuffled, on those pairs it")
    if alone is not None and _differ(alone):
        yield f"The pairs still differ: {name} alone ranks them at {_ranked(alone)}."


def _differ(alone: Ranking) -> bool:
    """Whether what rows were matched by still tells the classes apart, or may well do."""
    return abs(alone.auroc - CHANCE) > BALANCED or not _holds(alone.interval, CHANCE)


def _within_length(alone: Ranking | None) -> Iterator[str]:
    """Tenths of length are broad: what length still ranks in them."""
    if alone is not None and _differ(alone):
        yield f"Tenths of length do not hold it still: within them length alone ranks at {_ranked(alone)}."


def _shuffled(found: Ranking, made: Shuffled, subject: str) -> Iterator[str]:
    """Whether the contexts are of any use to the score."""
    if made.ranking is None:
        return
    told = f"AUROC {made.ranking.auroc:.2f} with them, {found.auroc:.2f} with its own"
    order = _order(found, made.ranking, made.difference)
    if order > 0:
        yield f"{subject} ranks less well: {told}. It uses them."
    elif order < 0:
        yield f"{subject} ranks better: {told}. There its contexts cost it."
    else:
        yield f"{subject} is not shown to rank otherwise: {told}. It is not shown to use them."


def _believed(card: DetectorCard) -> Iterator[str]:
    """Whether a probability made of the score says more than the base rate."""
    for made in card.calibration:
        if made.gain is None:
            continue
        if made.gain.interval is None or made.gain.interval.low <= 0:
            yield f"The probabilities ({made.method}) are not shown to be better than the constant base rate."


def _subgroups(card: DetectorCard) -> Iterator[str]:
    """What many intervals side by side do not say."""
    count = sum(one.ranking is not None and one.ranking.interval is not None for one in card.subgroups)
    if count > 1:
        yield (
            f"The intervals of the {count} subgroups are at 95 % each, not corrected for their number: one of"
            " twenty misses by chance, so a subgroup that stands out is a question, not yet a finding."
        )


def _percent(interval: Interval | None) -> str:
    return "" if interval is None else f" [{100 * interval.low:.0f}, {100 * interval.high:.0f}]"
