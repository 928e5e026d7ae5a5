"""Tables of repeated answers, shared by the terminal, Markdown and notebooks."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from sgi.analysis.repeats import NOT_SEPARABLE
from sgi.reporting.formatting import NOTHING, format_scaled, number, span
from sgi.reporting.table import Cell, Table
from sgi.stats.variance_components import ANSWER, JUDGE, QUESTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.repeats import Repeats
    from sgi.stats.variance_components import VarianceComponents

_NUMBERS_OF_ANSWERS = (1, 3, 10)
_NUMBERS_OF_JUDGEMENTS = (1, 3)
_SOURCES = {
    (QUESTION,): "between questions",
    (ANSWER,): "between answers to one question",
    (JUDGE,): "between judgements of one answer",
    (ANSWER, JUDGE): "between answers to one question, judged once each",
    (QUESTION, ANSWER): "between questions with one answer each",
}
"""A combination names what the data cannot tell apart."""
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


def flaky_line(repeats: Repeats) -> str:
    """Return the number of flaky questions, with the reasons, as a text."""
    reasons = ", ".join(
        f"{count:,} {name}" if name == NOT_SEPARABLE else f"{count:,} because of the {name}"
        for name, count in repeats.flaky_because.items()
    )
    return f"flaky questions: {repeats.flaky:,}" + (f" ({reasons})" if reasons else "")


def _components(components: VarianceComponents) -> Table:
    rows = (
        (
            _SOURCES[one.sources],
            number(one.variance),
            format_scaled(one.share, is_share=True),
            Cell(span(one.interval, is_share=True), tooltip=one.no_interval),
        )
        for one in components.components
    )
    return Table(("variance", "value", "share", "95 % interval"), rows, title="Components of variance")


def _precision(components: VarianceComponents) -> Table:
    errors = (
        (questions, answers, judgements, components.standard_error(questions, answers, judgements))
        for questions, answers, judgements in product(
            (components.questions, 2 * components.questions), _NUMBERS_OF_ANSWERS, _NUMBERS_OF_JUDGEMENTS
        )
        if judgements == 1 or any(JUDGE in one.sources for one in components.components)
    )
    rows = (
        (f"{questions:,}", f"{answers}", f"{judgements}", number(error))
        for questions, answers, judgements, error in errors
        if error is not None
    )
    columns = ("questions", "answers to each", "judgements of each", "standard error")
    return Table(columns, rows, title="Expected standard error of the mean")


def _flaky(repeats: Repeats) -> Table:
    rows = (
        (
            one.ids[0],
            NOTHING if one.passed is None else f"{one.passed} of {len(one.values)}",
            " and ".join(one.because),
            " ".join(number(value, digits=3) for value in one.values[:_SHOWN_VALUES])
            + (" …" if len(one.values) > _SHOWN_VALUES else ""),
        )
        for one in repeats.examples
    )
    title = f"Questions whose values differ most; {flaky_line(repeats)}"
    return Table(("first row", "passed", "because of", "values"), rows, title=title, left=["values"])
