"""Converts query strings to `RowQuery` and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UsageError
from sgi.store.row_filters import RowQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLANE = ("rc_low", "rc_high", "rq_low", "rq_high")
_LABELS = {"1": True, "0": False}
_SORTS = ("position", "lowest", "highest")


def row_query(values: Mapping[str, str], **fixed: Any) -> RowQuery:
    """Parse query parameters; empty ones are ignored, ``fixed`` overrides fields of the result.

    Parameters: ``q, metric, status, low, high, label, rc_low, rc_high, rq_low, rq_high, by, is, sort, page``.

    Raises:
        UsageError: a parameter is invalid; the message names it.

    >>> row_query({"q": "Paris", "label": "0", "page": "2"}).label
    False
    """
    sort = values.get("sort") or "position"
    if sort not in _SORTS:
        raise UsageError(f"sort must be one of {', '.join(_SORTS)}, not {sort!r}.")
    label = values.get("label") or ""
    if label not in {"", *_LABELS}:
        raise UsageError(f"label must be 1 or 0, not {label!r}.")
    asked: dict[str, Any] = {
        "text": values.get("q") or "",
        "metric": values.get("metric") or None,
        "status": values.get("status") or None,
        "low": _number(values, "low"),
        "high": _number(values, "high"),
        "label": _LABELS.get(label),
        "plane": _plane(values),
        "group": (values["by"], values.get("is", "")) if values.get("by") else None,
        "sort": sort,
        "page": _whole(values, "page", 1),
    }
    return RowQuery(**(asked | fixed))


def parameters(query: RowQuery) -> dict[str, object]:
    """Query parameters of a `RowQuery`, without defaults and without the page.

    >>> parameters(RowQuery(text="Paris", label=True))
    {'q': 'Paris', 'label': '1'}
    """
    by, value = query.group or ("", "")
    plane = dict(zip(_PLANE, query.plane or ("",) * 4, strict=True))
    made: dict[str, object] = {
        "q": query.text,
        "metric": query.metric,
        "status": query.status,
        "low": query.low,
        "high": query.high,
        "label": "" if query.label is None else str(int(query.label)),
        **plane,
        "by": by,
        "is": value,
        "sort": "" if query.sort == "position" else query.sort,
    }
    return {name: value for name, value in made.items() if value not in {None, ""}}


def page_number(values: Mapping[str, str]) -> int:
    """The requested page, from 1."""
    return max(1, _whole(values, "page", 1))


def _plane(values: Mapping[str, str]) -> tuple[float, float, float, float] | None:
    """A rectangle in the angle plane; an open side is beyond all angles."""
    found = [_number(values, name) for name in _PLANE]
    if all(end is None for end in found):
        return None
    low_c, high_c, low_q, high_q = found
    return (_or(low_c, 0.0), _or(high_c, 4.0), _or(low_q, 0.0), _or(high_q, 4.0))


def _or(number: float | None, otherwise: float) -> float:
    return otherwise if number is None else number


def _number(values: Mapping[str, str], name: str) -> float | None:
    text = (values.get(name) or "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise UsageError(f"{name} is not a number: {text[:40]!r}.", hint="Use digits and a decimal point.")
    return number


def _whole(values: Mapping[str, str], name: str, otherwise: int) -> int:
    text = (values.get(name) or "").strip()
    if not text:
        return otherwise
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004 - maximum digits of a page number
        raise UsageError(f"{name} is not a whole number: {text[:40]!r}.", hint="Use digits.")
    return int(text)
