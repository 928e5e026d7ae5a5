"""The overview of a run as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from sgi.kernel.names import metric_label
from sgi.reporting.formatting import one_line
from sgi.reporting.terminal_style import FAINT, HEADING, SIGNS, style_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.reporting.overview import Change, Overview

_LONGEST = 400


def overview_lines(overview: Overview) -> Iterator[Text]:
    """Yield the sentence, then two lines for each number: its value, and what it does not say."""
    yield Text(one_line(overview.sentence, longest=_LONGEST), style=HEADING)
    cards = overview.cards
    names = [one_line(metric_label(card.metric)) if card.metric else "" for card in cards]
    title, name, number = (
        max(map(len, texts), default=0)
        for texts in ([card.title for card in cards], names, [card.value for card in cards])
    )
    for card, metric in zip(cards, names, strict=True):
        line = Text(f"  {card.title:<{title}}  {metric:<{name}}  ")
        line.append(f"{card.value:>{number}}", style=HEADING)
        yield line.append(f"  {card.interval}").append_text(_change(card.change))
        if card.caution:
            yield Text(f"  {'':<{title}}  {card.caution}", style=FAINT)


def _change(change: Change | None) -> Text:
    if change is None:
        return Text()
    sign = f"{SIGNS[change.direction]} " if change.direction in SIGNS else ""
    text = f"  {sign}{change.direction}: {change.difference} since {one_line(change.label)}"
    return Text(text, style=style_of(change.direction))
