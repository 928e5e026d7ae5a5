"""Checks that a Python target is defined by a module in a folder that the user trusts.

A settings file may name ``module:function``. The name alone can reach any function of any installed package,
``os:system`` among them. So its module must be a source file below the working folder, and so must the code
of the function, however the module came by it.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def require_module_in(folder: Path, where: str) -> None:
    """Raise unless importing the module of a target runs code of a folder alone.

    Nothing is imported: the file of the module, and of each package around it, is looked up by its name.

    Nothing is imported: the files of the module and its packages are found by name.

    Raises:
        UsageError: the module is not a source file in the folder, or is already loaded from elsewhere.
    """
    name = where.partition(":")[0]
    file = source_file(folder, name)
    if file is None:
        raise _refusal(where, folder, f"there is no module {name!r} in the folder")
    top = name.partition(".")[0]
    places = _places(sys.modules[top] if top in sys.modules else _unload(folder, top))
    if not places or not all(_is_inside(place, folder.resolve()) for place in places):
        raise _refusal(where, folder, f"{top!r} is also a module elsewhere")


def require_code_in(folder: Path, where: str, function: Any) -> None:
    """Raise a UsageError unless the code of a target is in a module of a folder.

    Decorators that set ``__wrapped__`` are followed. Imported functions, builtins and partials are refused.
    """
    code = _python_function(function)
    if code is None:
        raise _refusal(where, folder, "it is not a Python function")
    file = source_file(folder, str(code.__module__))
    if file is None or Path(code.__code__.co_filename).resolve() != file:
        raise _refusal(where, folder, f"it is defined in {code.__module__!r}, outside of the folder")


def source_file(folder: Path, module: str) -> Path | None:
    """The source file of a module below a folder; None if it is missing, or a link leads out of the folder.

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


def _unload(folder: Path, name: str) -> ModuleSpec | None:
    """What an import would find, without running it."""
    return PathFinder.find_spec(name, [str(folder), *sys.path])


def _places(found: Any) -> list[Path]:
    """The file of a module or of its spec; the folders of a package without a file; none of a builtin."""
    file = getattr(found, "origin", None) or getattr(found, "__file__", None)
    folders = getattr(found, "submodule_search_locations", None) or getattr(found, "__path__", None)
    return [Path(place) for place in ([file] if file else folders or [])]


def _python_function(found: Any) -> FunctionType | None:
    """The Python function that runs when ``found`` is called; None where there is none."""
    for _ in range(sys.getrecursionlimit()):
        if isinstance(found, functools.partial):
            found = found.func
        elif isinstance(found, MethodType):
            found = found.__func__
        elif hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        elif isinstance(found, FunctionType):
            return found
        elif isinstance(call := getattr(type(found), "__call__", None), FunctionType):  # noqa: B004
            found = call
        else:
            return None
    return None


def _refusal(where: str, folder: Path, reason: str) -> UsageError:
    return UsageError(
        f"The target {where} is named in a file, so it must be defined in the working folder {folder}; "
        f"{reason}.",
        hint=f"If you trust it, name it yourself: --target {where}.",
    )
