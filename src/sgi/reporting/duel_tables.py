"""Tables of a duel, shared by the terminal, Markdown and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.reporting.formatting import format_scaled, number, probability, span
from sgi.reporting.table import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.duel.duel import Duel

_TWO = 2


def duel_tables(duel: Duel) -> Iterator[Table]:
    """Yield the table of pairs and, for more than two systems, the ranking."""
    rows = (
        (
            f"{pair.first} against {pair.second}",
            Cell(format_scaled(pair.win_rate, is_share=True), css="strong"),
            Cell(span(pair.interval, is_share=True), tooltip=pair.no_interval),
            probability(pair.p),
            probability(pair.adjusted_p),
            *(f"{pair.counts[name]:,}" for name in ("first", "second", "tie", "order-dependent")),
            f"{pair.counts['failed']:,}",
            f"{pair.counts['missing']:,}",
        )
        for pair in duel.pairs
    )
    numbers = ("win rate", "95 % interval", "p", "p (Holm)", "won", "lost", "tie", "order-dependent")
    yield Table(("duel", *numbers, "failed", "missing"), rows, title="Win rate of the first system")
    if len(duel.systems) > _TWO:
        ranking = (
            (
                one.system,
                number(one.strength, sign="+"),
                span(one.interval),
                f"{one.wins:,}",
                f"{one.losses:,}",
            )
            for one in duel.systems
        )
        columns = ("system", "strength", "95 % interval", "won", "lost")
        yield Table(
            columns, ranking, title="Bradley–Terry strengths: log-odds of a win against an average system"
        )
