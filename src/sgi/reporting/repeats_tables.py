"""Tables of repeated answers, shared by the terminal, Markdown and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.reporting.formatting import NOTHING, format_scaled, number, span
from sgi.reporting.table import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.repeats import Repeats
    from sgi.stats.repeats import VarianceComponents

_NUMBERS_OF_ANSWERS = (1, 2, 3, 5, 10)
_SHOWN_VALUES = 10


def repeats_tables(repeats: Repeats) -> Iterator[Table]:
    """Yield the pass rates, the components of variance and the flaky questions; empty tables are left out."""
    if repeats.rates:
        rows = (
            (
                f"{one.k}",
                format_scaled(one.at_least_one, is_share=True),
                span(one.at_least_one_interval, is_share=True),
                format_scaled(one.all_pass, is_share=True),
                span(one.all_pass_interval, is_share=True),
                f"{one.questions:,}",
            )
            for one in repeats.rates
        )
        columns = ("k", "pass@k", "95 % interval", "pass^k", "95 % interval", "questions")
        yield Table(columns, rows, title="pass@k: one of k answers passes; pass^k: all of k pass")
    if repeats.components is not None:
        yield _components(repeats.components)
        yield _precision(repeats.components)
    if repeats.examples:
        yield _flaky(repeats)


def _components(components: VarianceComponents) -> Table:
    share = components.within_share
    rows = [
        ("between questions", number(components.between), _share(None if share is None else 1 - share), ""),
        (
            "between answers to one question",
            number(components.within),
            _share(share),
            Cell(span(components.interval, is_share=True), tooltip=components.no_interval),
        ),
    ]
    return Table(("variance", "value", "share", "95 % interval"), rows, title="Components of variance")


def _share(share: float | None) -> str:
    return format_scaled(share, is_share=True)


def _precision(components: VarianceComponents) -> Table:
    rows = (
        (f"{repeats}", number(components.standard_error(components.questions, repeats)))
        for repeats in _NUMBERS_OF_ANSWERS
    )
    title = f"Expected standard error of the mean over {components.questions:,} questions"
    return Table(("answers per question", "standard error"), rows, title=title)


def _flaky(repeats: Repeats) -> Table:
    rows = (
        (
            one.ids[0],
            NOTHING if one.passed is None else f"{one.passed} of {len(one.values)}",
            " ".join(number(value, digits=3) for value in one.values[:_SHOWN_VALUES])
            + (" …" if len(one.values) > _SHOWN_VALUES else ""),
        )
        for one in repeats.examples
    )
    title = f"Questions whose answers differ most; {repeats.flaky:,} are flaky"
    return Table(("first row", "passed", "values"), rows, title=title, left=["values"])
