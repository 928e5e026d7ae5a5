"""The overview of a run as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from sgi.kernel.names import metric_label
from sgi.reporting.answers_to_check import reason_to_check
from sgi.reporting.formatting import beginning, one_line
from sgi.reporting.terminal_style import FAINT, HEADING, SIGNS, style_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sgi.reporting.overview import Change, Overview
    from sgi.reporting.views.row_view import LowestRows, SampleView

_LONGEST = 400


def overview_lines(overview: Overview, rows: Iterable[Text] = ()) -> Iterator[Text]:
    """Yield the sentence, rows, what supports the sentence, and the changes since the earlier run."""
    yield Text(one_line(overview.sentence, longest=_LONGEST), style=HEADING)
    yield from rows
    yield from (Text(one_line(line, longest=_LONGEST)) for line in overview.evidence)
    yield from (_change(card.metric, card.change) for card in overview.cards if card.change is not None)


def row_lines(
    lowest: LowestRows[SampleView],
    value_text: Callable[[float | None], str],
    width: int,
    *,
    questions: bool = False,
) -> Iterator[Text]:
    """Yield the rows, each with its id, value and label, then why it is one to check, cut to the width."""
    for sample in lowest.samples:
        head = Text("  ").append(one_line(sample.id, longest=width // 2), style=HEADING)
        head.append(f"  {metric_label(lowest.metric)} {value_text(sample.scores[lowest.metric].value)}")
        yield head if sample.label is None else head.append(f"  label {int(sample.label)}")
        if questions and sample.question:
            yield Text(f"    {one_line(beginning(sample.question), longest=width - 4)}", style=FAINT)
        yield Text(f"    {one_line(reason_to_check(sample, lowest.metric), longest=width - 4)}")


def _change(metric: str, change: Change) -> Text:
    sign = f"{SIGNS[change.verdict]} " if change.verdict in SIGNS else ""
    text = Text(one_line(f"{metric_label(metric)} since {one_line(change.label)}: ", longest=_LONGEST))
    return text.append(f"{sign}{change.text}", style_of(change.verdict))
