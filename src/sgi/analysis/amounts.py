"""Formats latency, tokens and cost with their unit, and other numbers of metrics, as plain decimals."""

from __future__ import annotations

import math
from decimal import Decimal

from sgi.kernel.metric import COST_UNITS, DOLLARS

_MAX_DECIMALS = 12  # smaller differences are rounding errors
_DIGITS, _COST_DIGITS = 4, 3
_CENTS = 2
_FEW = 100
_ALL_DECIMALS = 20


def format_amount(value: float | None, unit: str, *, sign: str = "-") -> str:
    """Format a number of milliseconds, tokens or dollars with its unit; None is unknown.

    Amounts below 1 have three significant digits. A number with another unit has four, and no unit.
    ``sign="+"`` shows the sign of positive numbers.

    >>> format_amount(12340.3, "ms"), format_amount(-0.00041, "ms"), format_amount(0.0000154, "$")
    ('12,340 ms', '-0.00041 ms', '$0.0000154')
    >>> format_amount(12345, "$"), format_amount(0.5, "$", sign="+"), format_amount(-3.25, "tokens")
    ('$12,345.00', '+$0.50', '-3.2 tokens')
    """
    if value is None:
        return "unknown"
    rounded = round(value, _MAX_DECIMALS)
    size = abs(rounded)
    text = f"{size:,.{_decimals(size, unit)}f}"
    if size < 1 or unit not in COST_UNITS:
        text = _without_zeros(text, unit)
    return _with_unit(text, unit, "-" if rounded < 0 else "+" if sign == "+" else "")


def format_value(value: float | None, unit: str) -> str:
    """Format a value for a table: latency, tokens and cost as amounts, other values with four decimals.

    >>> format_value(734.652, "ms"), format_value(0.5, "score"), format_value(None, "ms")
    ('735 ms', '0.5000', '–')
    """
    if value is None:
        return "–"
    return format_amount(value, unit) if unit in COST_UNITS else f"{value:.4f}"


def format_exactly(value: float, unit: str) -> str:
    """Format a number with all its digits.

    >>> format_exactly(1e6, "tokens"), format_exactly(1e-5, "$"), format_exactly(0.8, "")
    ('1,000,000 tokens', '$0.00001', '0.8')
    """
    text = f"{Decimal(repr(abs(float(value)))):,f}"
    return _with_unit(_without_zeros(text, unit), unit, "-" if value < 0 else "")


def format_beside(value: float, limit: float, unit: str) -> str:
    """Format a number like `format_amount`, with enough digits to show that it differs from a limit.

    >>> format_beside(2103.4, 2000, "ms"), format_beside(2000.04, 2000, "ms"), format_beside(0.79999, 0.8, "")
    ('2,103 ms', '2,000.04 ms', '0.79999')
    """
    first = _decimals(abs(value), unit)
    for decimals in range(first, _ALL_DECIMALS):
        text = f"{abs(value):,.{decimals}f}"
        shown = math.copysign(float(text.replace(",", "")), value)
        if (shown < limit, shown > limit) == (value < limit, value > limit):
            if decimals == first:
                return format_amount(value, unit)
            return _with_unit(_without_zeros(text, unit), unit, "-" if value < 0 else "")
    return format_exactly(value, unit)


def _decimals(size: float, unit: str) -> int:
    if size >= 1 and unit in COST_UNITS:
        return _CENTS if unit == DOLLARS else int(size < _FEW)
    if not math.isfinite(size):
        return 0
    digits = _COST_DIGITS if unit in COST_UNITS else _DIGITS
    exponent = int(f"{size:.{digits - 1}e}".partition("e")[2])  # after rounding
    return min(max(digits - 1 - exponent, 0), _MAX_DECIMALS)


def _without_zeros(text: str, unit: str) -> str:
    """Remove zeros at the end of the decimals; dollars keep cents."""
    whole, _, rest = text.partition(".")
    rest = rest.rstrip("0")
    if unit == DOLLARS and (rest or whole != "0"):
        rest = rest.ljust(_CENTS, "0")
    return f"{whole}.{rest}" if rest else whole


def _with_unit(text: str, unit: str, before: str) -> str:
    if unit == DOLLARS:
        return f"{before}${text}"
    return f"{before}{text} {unit}" if unit in COST_UNITS else f"{before}{text}"
