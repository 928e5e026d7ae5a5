"""Checks that a Python target is defined by a module in a folder that the user trusts.

A settings file may name ``module:function``, which reaches any function of any installed package, such as
``os:system``. So the module must be a source file below the working folder, and the code of the function too.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from sgi.kernel.errors import UsageError


def require_module_in(folder: Path, where: str) -> None:
    """Raise a UsageError if an import of the target's module may run code outside of a folder.

    The module and its packages must be source files in the folder, and not already loaded from elsewhere.
    This function finds their files by name and imports nothing.
    """
    name = where.partition(":")[0]
    file = source_file(folder, name)
    if file is None:
        raise _refusal(where, folder, f"the folder has no module {name!r}")
    top = name.partition(".")[0]
    module = sys.modules[top] if top in sys.modules else PathFinder.find_spec(top, [str(folder), *sys.path])
    locations = _locations(module)
    if not locations or not all(_is_inside(location, folder.resolve()) for location in locations):
        raise _refusal(where, folder, f"{top!r} is also a module elsewhere")


def require_code_in(folder: Path, where: str, function: Any) -> None:
    """Raise a UsageError unless the code of the target's function is in a module in the folder.

    If a decorator sets ``__wrapped__``, the wrapped function is checked. Imported functions, builtins and
    partials are refused.
    """
    code = _python_function(function)
    if code is None:
        raise _refusal(where, folder, "it is not a Python function")
    file = source_file(folder, str(code.__module__))
    if file is None or Path(code.__code__.co_filename).resolve() != file:
        raise _refusal(where, folder, f"it is defined in {code.__module__!r}, outside of the folder")


def source_file(folder: Path, module: str) -> Path | None:
    """Return the source file of a module in a folder; None if it is missing, or a link to another folder.

    >>> source_file(Path("/nonexistent"), "os") is None
    True
    """
    root = folder.resolve()
    place = root
    *packages, last = module.split(".")
    for package in packages:
        place = place / package
        init = place / "__init__.py"
        if not place.is_dir() or (init.exists() and not _is_inside(init, root)):
            return None
    for file in (place / last / "__init__.py", place / f"{last}.py"):
        if file.is_file():
            return file.resolve() if _is_inside(file, root) else None
    return None


def _is_inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)


def _locations(module: Any) -> list[Path]:
    """Return the file of a module or spec, or the folders of a package without one; empty for a builtin."""
    file = getattr(module, "origin", None) or getattr(module, "__file__", None)
    folders = getattr(module, "submodule_search_locations", None) or getattr(module, "__path__", None)
    return [Path(place) for place in ([file] if file else folders or [])]


def _python_function(value: Any) -> FunctionType | None:
    """Return the Python function that a call of ``value`` runs; None if it runs another kind of callable."""
    for _ in range(sys.getrecursionlimit()):
        if isinstance(value, functools.partial):
            value = value.func
        elif isinstance(value, MethodType):
            value = value.__func__
        elif hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        elif isinstance(value, FunctionType):
            return value
        elif isinstance(call := getattr(type(value), "__call__", None), FunctionType):  # noqa: B004
            value = call
        else:
            return None
    return None


def _refusal(where: str, folder: Path, reason: str) -> UsageError:
    message = f"The target {where} comes from a file, so its code must be in the working folder {folder};"
    return UsageError(f"{message} {reason}.", hint=f"If you trust it, name the target yourself: {where}.")
