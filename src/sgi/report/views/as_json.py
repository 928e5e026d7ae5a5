"""Any view as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np


def as_json(view: Any) -> Any:  # noqa: PLR0911 - one line a kind of value
    """A view, or any part of one, as JSON values.

    Dataclasses and named tuples become objects, arrays and sets lists (sets sorted), and a number that JSON
    does not have becomes null.

    >>> from sgi.report.views.rows import Cell
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
        case set() | frozenset():
            return sorted(map(as_json, view))
        case list() | tuple():
            named = getattr(view, "_asdict", None)
            return [as_json(item) for item in view] if named is None else as_json(named())
    if not is_dataclass(view) or isinstance(view, type):
        raise TypeError(f"{type(view).__name__} is no part of a view")
    told = getattr(view, "to_dict", None)  # with what follows from its fields
    return as_json(told() if told else {field.name: getattr(view, field.name) for field in fields(view)})
