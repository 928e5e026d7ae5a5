"""A Python function as target: ``module:function``, sync or async, called with the question alone."""

from __future__ import annotations

import asyncio
import contextvars
import difflib
import functools
import inspect
import socket
import sys
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from threading import Thread
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import TargetError, UnknownNameError, UsageError
from sgi.kernel.short_text import quote
from sgi.target.reply import reply_of
from sgi.target.target_limits import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sgi.kernel.protocols import Reply


_DISCONNECTED = (ConnectionError, TimeoutError, socket.gaierror, socket.herror)


class PythonTarget:
    """A Python function that answers questions.

    A sync function runs in a thread, an async one on the event loop. Its exceptions become a TargetError with
    type and message, except interrupts and cancellations.

    Args:
        where: ``module:function``, the name of the function in messages.
        function: takes the question; `sgi.target.reply.reply_of` describes its result.

    >>> asyncio.run(PythonTarget("rag:echo", lambda question: question).answer("Who?")).response
    'Who?'
    """

    def __init__(self, where: str, function: Callable[[str], object]) -> None:
        self.fingerprint = f"python:{where}"
        self._where = where
        self._function = function
        call = getattr(function, "__call__", None)  # noqa: B004 - an object's method may be async
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def answer(self, question: str, /) -> Reply:
        """Call the function; raise TargetError if it fails, or returns something that is not an answer."""
        try:
            result = (
                self._function(question) if self._is_async else await _in_thread(self._function, question)
            )
            return reply_of(self._where, await result if inspect.isawaitable(result) else result)
        except (KeyboardInterrupt, GeneratorExit, TargetError):
            raise
        except BaseException as error:  # even SystemExit is a failure of only this question
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            raise raised_error(self._where, error) from error


def _is_cancelled() -> bool:
    """Return whether the task was cancelled; if not, the function itself raised the CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _in_thread(function: Callable[[str], object], question: str) -> object:
    """Call the function in a new thread.

    A thread cannot be killed. This one is a daemon, so it does not prevent the process from ending; a worker
    of a thread pool would.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(outcome: tuple[object, BaseException | None]) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = function(question), None
        except BaseException as error:  # noqa: BLE001 - raised again by the coroutine
            outcome = None, error
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(deliver, outcome)

    context = contextvars.copy_context()
    Thread(target=context.run, args=(run,), name="sgi target", daemon=True).start()
    result, error = await done
    if error is not None:
        raise error
    return result


@contextmanager
def open_python(where: str, *, code_folder: Path | None = None) -> Iterator[PythonTarget]:
    """Context manager that opens a function as target, with the working folder on the import path.

    Args:
        where: the name of the function, ``module:function``.
        code_folder: the only folder whose code may run; None allows every folder, for a name that the user
            typed.

    Raises:
        UsageError: the module is missing or cannot be imported, the function cannot be called with a
            question, or the code is not in ``code_folder``.
        UnknownNameError: the module does not have this attribute.
    """
    folder = str(code_folder or Path.cwd())
    if code_folder is not None:
        require_module_in(code_folder, where)
    sys.path.insert(0, folder)
    try:
        function = _function_at(where)
        if code_folder is not None:
            require_code_in(code_folder, where, function)
        yield PythonTarget(where, function)
    finally:
        with suppress(ValueError):  # an import may have changed the path
            sys.path.remove(folder)


def _function_at(where: str) -> Callable[[str], Any]:
    name, _, path = where.partition(":")
    value: Any = _module(name)
    for attribute in path.split("."):
        if not hasattr(value, attribute):
            names = [
                key for key in dir(value) if not key.startswith("_") and callable(getattr(value, key, None))
            ]
            near = tuple(difflib.get_close_matches(attribute, names, n=2))
            hint = f"It has: {', '.join(names[:10])}." if names else "It has no functions."
            raise UnknownNameError(f"attribute of {name}", attribute, near, hint=hint)
        value = getattr(value, attribute)
    _check_callable(where, value)
    return value  # type: ignore[no-any-return]  # the type of the user's function is unknown


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may do anything when it is imported
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            hint = "Start sgi in the folder of the module, or install it in this environment."
            raise UsageError(f"Python finds no module {error.name!r}.", hint=hint) from error
        message = f"The module {name!r} cannot be imported: {type(error).__name__}: {quote(str(error))}."
        raise UsageError(message, hint=f"Try: python -c 'import {name}'") from error


def _check_callable(where: str, value: object) -> None:
    if isinstance(value, type):
        hint = "Create an instance in the module, and name it or one of its methods."
        raise UsageError(f"{where} is a class.", hint=hint)
    if not callable(value):
        raise UsageError(f"{where} must be a function; it is a value of type {type(value).__name__}.")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return  # some builtins have no signature
    try:
        signature.bind("")
    except TypeError as error:
        message = f"{where}{signature} must be callable with the question as its only argument: {error}."
        raise UsageError(message, hint="Give the other parameters defaults.") from error


def raised_error(who: str, error: BaseException) -> TargetError:
    """Return a TargetError with the type and message of an exception that a user's function raised.

    It is a TransientError if the exception, or one that caused it, is a connection error.
    """
    try:
        words = quote(str(error))
    except Exception:  # noqa: BLE001 - the str of a foreign error can raise anything
        words = ""
    message = f"{who} raised {type(error).__name__}{': ' if words else ''}{words}"
    kind = TransientError if _is_disconnection(error) else TargetError
    return kind(message if message.endswith((".", "!", "?", "…")) else f"{message}.")


def _is_disconnection(error: BaseException) -> bool:
    ids: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in ids:
        if isinstance(cause, _DISCONNECTED):
            return True
        ids.add(id(cause))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return False


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


def require_code_in(folder: Path, where: str, function: object) -> None:
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


def _locations(module: object) -> list[Path]:
    """Return the file of a module or spec, or the folders of a package without one; empty for a builtin."""
    file = getattr(module, "origin", None) or getattr(module, "__file__", None)
    folders = getattr(module, "submodule_search_locations", None) or getattr(module, "__path__", None)
    return [Path(place) for place in ([file] if file else folders or [])]


def _python_function(value: object) -> FunctionType | None:
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
