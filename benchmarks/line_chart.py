"""A small line chart as SVG without script.

It has the text colour of the page, so it is readable in the light and in the dark mode.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from table import number

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT = 560, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 12, 28
_PAD = 0.15
"""Free space above and below the values, as a share of their range."""


def line_chart(
    values: Sequence[float], labels: Sequence[str], *, name: str, bound: float | None = None
) -> str:
    """Draw values from left to right with equal distances, and a dashed line at the bound.

    It is one line of HTML. ``name`` describes the chart in words.
    """
    shown = [*values, *([] if bound is None else [bound])]
    low, high = min(shown), max(shown)
    pad = (high - low or abs(high)) * _PAD
    low, high = low - pad, high + pad

    def x(index: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (index + 0.5) / len(values)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    points = [(x(index), y(value)) for index, value in enumerate(values)]
    line = " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
    parts = [f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"/>']
    if bound is not None:
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(bound):.1f}" y2="{y(bound):.1f}" '
            'stroke="currentColor" stroke-dasharray="5 4"/>'
        )
    ends = sorted({min(shown), max(shown)})
    parts += [_text(_LEFT - 8, y(value) + 4, f"{number(value)} ×", "end") for value in ends]
    for (left, top), label in zip(points, labels, strict=True):
        parts.append(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3.5" fill="currentColor"/>')
        parts.append(_text(left, _HEIGHT - 8, label, "middle"))
    return (
        f'<svg role="img" aria-label="{escape(name)}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'style="width: 100%; max-width: {_WIDTH}px">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" fill="currentColor">'
        f"{escape(text)}</text>"
    )
