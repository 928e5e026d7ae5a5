"""Formats latency, tokens and cost with their unit, as plain decimals."""

from __future__ import annotations

from sgi.kernel.metric import DOLLARS

_MAX_DECIMALS = 12  # smaller differences are rounding errors
_SMALL_DIGITS = 3
_CENTS = 2
_FEW = 100


def format_amount(value: float | None, unit: str, *, sign: str = "-") -> str:
    """Format a number of milliseconds, tokens or dollars with its unit; None is unknown.

    Amounts below 1 have three significant digits. ``sign="+"`` shows the sign of positive numbers.

    >>> format_amount(12340.3, "ms"), format_amount(-0.00041, "ms"), format_amount(0.0000154, "$")
    ('12,340 ms', '-0.00041 ms', '$0.0000154')
    >>> format_amount(12345, "$"), format_amount(0.5, "$", sign="+"), format_amount(-3.25, "tokens")
    ('$12,345.00', '+$0.50', '-3.2 tokens')
    """
    if value is None:
        return "unknown"
    rounded = round(value, _MAX_DECIMALS)
    before = "-" if rounded < 0 else "+" if sign == "+" else ""
    text = _digits(abs(rounded), unit)
    return f"{before}${text}" if unit == DOLLARS else f"{before}{text} {unit}"


def _digits(size: float, unit: str) -> str:
    is_money = unit == DOLLARS
    if not size:
        return "0"
    if not size < 1:
        return f"{size:,.{_CENTS if is_money else 1 if size < _FEW else 0}f}"
    exponent = int(f"{size:.{_SMALL_DIGITS - 1}e}".partition("e")[2])  # after rounding
    decimals = min(_SMALL_DIGITS - 1 - exponent, _MAX_DECIMALS)
    whole, _, rest = f"{size:.{decimals}f}".partition(".")
    rest = rest.rstrip("0")
    rest = rest.ljust(_CENTS, "0") if is_money else rest
    return f"{whole}.{rest}" if rest else whole
