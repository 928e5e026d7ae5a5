"""Converts views to JSON values and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from sgi.analysis.compare import Verdict
from sgi.analysis.groups import Group
from sgi.engine.summary import MetricSummary
from sgi.reporting.views.run_header import run_header
from sgi.stats.calibration import Reliability
from sgi.store.run_queries import RunRecord

_NAMES: dict[str, object] = {
    "Group": Group,
    "Mapping": Mapping,
    "MetricSummary": MetricSummary,
    "Reliability": Reliability,
    "Verdict": Verdict,
}
"""Types in annotations of views that their modules import only for type checkers."""


def as_json(view: object) -> Any:  # noqa: PLR0911 - one return per kind of value
    """Convert a view, or a part of one, to JSON values.

    Dataclasses and named tuples become objects, runs their headers, arrays and sets lists (sets sorted), NaN
    and infinities null.

    >>> from sgi.store.row_query import Cell
    >>> as_json({"sgi": Cell(float("nan"), "ok", "")})
    {'sgi': {'value': None, 'status': 'ok', 'reason': ''}}
    """
    match view:
        case None | str() | bool() | int() if not isinstance(view, Enum):
            return view
        case Enum():
            return view.value
        case float():
            return view if math.isfinite(view) else None
        case np.ndarray() | np.generic():
            return as_json(view.tolist())
        case Mapping():
            return {str(as_json(key)): as_json(value) for key, value in view.items()}
        case RunRecord():
            return as_json(run_header(view))
        case set() | frozenset():
            return sorted(map(as_json, view))
        case list() | tuple():
            named = getattr(view, "_asdict", None)
            return [as_json(item) for item in view] if named is None else as_json(named())
    if not is_dataclass(view) or isinstance(view, type):
        raise TypeError(f"{type(view).__name__} cannot be part of a view")
    to_dict = getattr(view, "to_dict", None)  # it adds derived values
    return as_json(
        to_dict() if to_dict else {field.name: getattr(view, field.name) for field in fields(view)}
    )


def from_json(kind: Any, value: Any) -> Any:
    """Restore a value of type ``kind`` from the output of `as_json`.

    Raises:
        KeyError: an entry is missing.
        TypeError, ValueError: a value does not have its type.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        (only,) = (part for part in inner if part is not NoneType)
        return None if value is None else from_json(only, value)
    if origin is tuple:
        kinds = repeat(inner[0]) if inner[-1] is Ellipsis else inner
        return tuple(map(from_json, kinds, value))
    if origin is Mapping:
        return {from_json(inner[0], key): from_json(inner[1], part) for key, part in value.items()}
    if kind is float and isinstance(value, int):
        return float(value)
    if is_dataclass(origin or kind) or hasattr(kind, "_fields"):
        hints = _hints(kind)
        return kind(**{name: from_json(hints[name], value[name]) for name in hints})
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value


@cache
def _hints(kind: object) -> dict[str, object]:
    """Return the types of the fields, with the type arguments of a generic class."""
    inner = get_args(kind)
    hints = get_type_hints(get_origin(kind) or kind, localns=_NAMES)
    return {name: _with_arguments(hint, inner) for name, hint in hints.items()}


def _with_arguments(hint: Any, inner: tuple[object, ...]) -> object:
    if isinstance(hint, TypeVar):
        return inner[0]
    return hint[inner] if getattr(hint, "__parameters__", ()) else hint
