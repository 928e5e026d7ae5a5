"""A small line chart as SVG, made on the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT, _EDGE = 96, 24, 3


def sparkline(values: Sequence[float], name: str) -> Markup:
    """Draw values from left to right, with a dot at the last one; ``name`` describes them in words.

    >>> str(sparkline([1.0, 3.0], "rises"))[:76]
    '<svg class="spark" role="img" aria-label="rises" viewBox="0 0 96 24" width="'
    """
    low, high = min(values), max(values)
    step = (_WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    first = _WIDTH - _EDGE - step * (len(values) - 1)
    points = [(first + n * step, _height(value, low, high)) for n, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup(
        '<svg class="spark" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">'
        '<polyline points="{}" fill="none" stroke="currentColor" stroke-width="1.5" '
        'stroke-linejoin="round"/><circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="currentColor"/></svg>'
    ).format(name, _WIDTH, _HEIGHT, _WIDTH, _HEIGHT, line, *points[-1])


def _height(value: float, low: float, high: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return _EDGE + (1 - share) * (_HEIGHT - 2 * _EDGE)
