"""The built-in metrics: frozen dataclasses that apply a pure function to the columns of a batch.

``sgi.metrics.RougeL(beta=1.2)`` equals ``sgi.metric("rouge_l(beta=1.2)")``. A class is imported at first use.

>>> from sgi import metrics
>>> metrics.RougeL(beta=1.2).canonical
'rouge_l(beta=1.2)'
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sgi.kernel.registry import BUILT_IN

_CLASSES = {name: module for module, _, name in (place.partition(":") for place in BUILT_IN.values())}

__all__ = sorted(_CLASSES)  # noqa: PLE0605 - a list of names


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        value = getattr(import_module(_CLASSES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sgi.metrics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
