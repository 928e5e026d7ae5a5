"""Tables and sentences of pairwise comparisons by a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.reporting.formatting import NOTHING, format_scaled, number, probability, span
from sgi.reporting.table import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.duel.duel_result import AaTest, CriterionDuel, PairResult
    from sgi.stats.intervals import Interval

_EQUAL = 0.5
_UNANSWERED = ("failed", "missing")


def duel_tables(part: CriterionDuel) -> Iterator[Table]:
    """Yield the table of pairs of one criterion and, for more than two systems, the ranking."""
    unanswered = [name for name in _UNANSWERED if any(pair.counts[name] for pair in part.pairs)]
    columns = ("won", "lost", "tie", "order-dependent", *unanswered)
    numbers = ("win rate", "at equal length", "95 % interval", "p (Holm)", "length")
    rows = (_pair_cells(pair, columns) for pair in part.pairs)
    title = f"{part.criterion}: win rate of the first system"
    yield Table(("duel", *columns, *numbers), rows, title=title)
    if len(part.systems) > 2:  # noqa: PLR2004 - a pair needs no ranking
        ranking = (
            (
                one.system,
                number(one.strength, sign="+"),
                Cell(span(one.interval), tooltip=part.no_strengths),
                f"{one.wins:,}",
                f"{one.losses:,}",
            )
            for one in part.systems
        )
        title = f"{part.criterion}: log odds of a preference to an average system, at equal length"
        yield Table(
            ("system", "strength at equal length", "95 % interval", "won", "lost"), ranking, title=title
        )


def _pair_cells(pair: PairResult, columns: tuple[str, ...]) -> tuple[str, ...]:
    counts = {"won": "first", "lost": "second"}
    ratio = NOTHING if pair.length_ratio is None else f"{pair.length_ratio:.2f} times"
    return (
        f"{pair.first} against {pair.second}",
        *(f"{pair.counts[counts.get(name, name)]:,}" for name in columns),
        Cell(format_scaled(pair.win_rate, is_share=True), tooltip=span(pair.interval, is_share=True)),
        Cell(format_scaled(pair.at_equal_length, is_share=True), css="strong"),
        Cell(span(pair.at_equal_length_interval, is_share=True), tooltip=pair.no_estimate),
        probability(pair.adjusted_p),
        ratio,
    )


def duel_lines(part: CriterionDuel) -> Iterator[str]:
    """Yield sentences on the A/A test, the order, the lengths, and pairs without an estimate."""
    yield from _aa_lines(part.aa)
    if part.shown_first is not None:
        shown = _with_interval(part.shown_first, part.shown_first_interval)
        yield (
            f"Order: between systems, the response shown first is preferred in {shown} of the replies other "
            "than ties; without a bias it is 50 %."
        )
    if part.twice_as_long is not None:
        shown = _with_interval(part.twice_as_long, part.twice_as_long_interval)
        yield (
            f"Length: by the model, a response that is twice as long and otherwise equal is preferred in "
            f"{shown}; without an effect of the length it is 50 %."
        )
    for pair in part.pairs:
        if pair.at_equal_length is None and pair.win_rate is not None:
            rate = _with_interval(pair.win_rate, pair.interval)
            yield f"{pair.first} against {pair.second}: {rate} is not adjusted for order and length."


def _aa_lines(aa: AaTest | None) -> Iterator[str]:
    failed = f" {aa.failed:,} more have no usable reply." if aa and aa.failed else ""
    if aa is None or aa.shown_first is None:
        yield "A/A: no test was made." if aa is None else f"A/A: no question has usable replies.{failed}"
        return
    shown = _with_interval(aa.shown_first, aa.interval)
    yield (
        f"A/A: a system is compared with itself on {aa.questions:,} of the questions, on {aa.same:,} of them "
        f"by one text twice.{failed} The response shown first is preferred in {shown} "
        "of the replies (a tie counts as half); without a bias it is 50 %."
    )
    if aa.after is not None:
        deviation = format_scaled(aa.shown_first - _EQUAL, is_share=True, unit="points", sign="+")
        after = format_scaled(aa.after, is_share=True, unit="points", sign="+")
        ends = f" {span(aa.after_interval, is_share=True)}" if aa.after_interval else ""
        yield f"A/A deviation: {deviation}; after correction for order and length: {after}{ends}."
    if aa.interval is not None and not aa.interval.low <= _EQUAL <= aa.interval.high:
        side = "first" if aa.shown_first > _EQUAL else "second"
        yield f"The judge prefers the response shown {side} even where no system can be better."


def _with_interval(share: float, interval: Interval | None) -> str:
    ends = f" {span(interval, is_share=True)}" if interval else ""
    return f"{format_scaled(share, is_share=True)}{ends}"
