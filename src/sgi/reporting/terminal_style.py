"""Styles of results in a terminal: the style of each verdict, bars and sparklines.

Colour only repeats what a word or a sign says. Commands use these names and no styles of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

HEADING = "bold"
FAINT = "dim"
GOOD, WARNING, BAD = "green", "yellow", "red"
BAR = "cyan"

_STYLES = {
    "strong": HEADING,
    "faint": FAINT,
    "trend": BAR,
    "good": GOOD,
    "warning": WARNING,
    "bad": BAD,
}
_VERDICTS = {
    "good": {"better", "finished", "ok", "passed", "right", "supported"},
    "warning": {"absent", "missing", "needless", "partly supported", "stopped", "undefined", "unfinished"},
    "bad": {"contradicted", "damaged", "failed", "invalid", "unsupported", "worse", "wrong"}
    | {"not cited", "not supported"},
    "faint": {"unchecked"},
}
_STYLE_OF = {word: _STYLES[tone] for tone, words in _VERDICTS.items() for word in words} | _STYLES
_BAR_WIDTH = 8
_SPARKS = "▁▂▃▄▅▆▇█"


def style_of(word: str) -> str:
    """Return the style of a verdict, a state or a CSS class of a cell; empty for an unknown one.

    >>> style_of("better"), style_of("strong"), style_of("no difference found")
    ('green', 'bold', '')
    """
    return _STYLE_OF.get(word, "")


def bar(share: float) -> Text:
    """Return a bar of fixed width for a share in [0, 1].

    >>> bar(0.5).plain, bar(0.0).plain, bar(0.07).plain
    ('━━━━────', '────────', '╸───────')
    """
    from rich.text import Text

    halves = round(min(1.0, max(0.0, share)) * 2 * _BAR_WIDTH)
    filled = "━" * (halves // 2) + "╸" * (halves % 2)
    return Text.assemble((filled, BAR), ("─" * (_BAR_WIDTH - len(filled)), FAINT))


def sparkline(values: Iterable[float]) -> str:
    """Return one character per value, from the lowest to the highest of them.

    >>> sparkline([0.5, 0.75, 1.0]), sparkline([2, 2])
    ('▁▅█', '▄▄')
    """
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    if low == high:
        return "▄" * len(numbers)
    steps = len(_SPARKS) - 1
    return "".join(_SPARKS[int((value - low) / (high - low) * steps + 0.5)] for value in numbers)
