"""The page of the public names of Python."""

from __future__ import annotations

import enum
import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reference_pages.markdown import block, code, page, prose, text

import sgi

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH = 88
MODULES = ("sgi", "sgi.api", "sgi.types", "sgi.geometry", "sgi.testing")
"""The modules with public names; the page of the metrics has the classes of `sgi.metrics`."""
_TOP = {*sgi.__all__}
_AGAIN = ("sgi.api", "sgi.types")
"""Modules whose names that `sgi` also has are listed once."""
_HEAD = f"The public names of `sgi` {sgi.__version__}. Other names can change in every version."
_MODULE_LINKS = {
    "sgi.api": "#the-module-sgi-api",
    "sgi.types": "#the-module-sgi-types",
    "sgi.geometry": "#the-module-sgi-geometry",
    "sgi.testing": "#the-module-sgi-testing",
    "sgi.metrics": "metrics.md",
    "sgi.errors": "errors.md",
}


def python_page() -> str:
    """Return the page of the public names of `sgi` and of its modules."""
    return page("Python API", _HEAD, *(part for module in MODULES for part in _module(module)))


def _module(module: str) -> Iterator[str]:
    """List the sections of the names of a module; the errors of `sgi` are on a page of their own."""
    if module != "sgi":
        title = f"## The module {module.replace('.', ' ')}"
        yield f"{title}\n\n`{module}`. {prose(inspect.getdoc(import_module(module)) or '')}"
    names = import_module(module).__all__
    for name in (name for name in names if module not in _AGAIN or name not in _TOP):
        value = getattr(import_module(module), name)
        if inspect.ismodule(value):
            yield _module_section(f"{module}.{name}", value)
        elif not (isinstance(value, type) and issubclass(value, Exception)):
            yield _section(f"{module}.{name}", value)


def _module_section(name: str, module: Any) -> str:
    link = f" See [its names]({_MODULE_LINKS[name]})." if name in _MODULE_LINKS else ""
    return f"## `{name}`\n\n{text((inspect.getdoc(module) or '').partition(chr(10))[0])}{link}"


def _section(name: str, value: Any) -> str:
    if not callable(value):
        return f"## `{name}`\n\nThe value {code(repr(value))}."
    parts = [
        f"## `{name}`",
        block(_signature(name.rpartition(".")[2], value), "python"),
        prose(inspect.getdoc(value) or ""),
        *(_members(value) if isinstance(value, type) else ()),
    ]
    return "\n\n".join(part for part in parts if part)


def _signature(name: str, value: Any) -> str:
    """Return the signature, with a line for each parameter if it is long."""
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return "\n".join([f"class {name}:", *(f"    {one.name} = {one.value!r}" for one in value)])
    word = (
        "class "
        if isinstance(value, type)
        else "async def "
        if inspect.iscoroutinefunction(value)
        else "def "
    )
    try:
        signature = inspect.signature(value)
    except ValueError:
        return f"{word}{name}"
    signature = _without_quotes(signature)
    line = f"{word}{name}{signature}"
    if len(line) <= _WIDTH:
        return line
    result = (
        ""
        if signature.return_annotation is inspect.Signature.empty
        else f" -> {signature.return_annotation!r}"
    )
    return "\n".join([f"{word}{name}(", *(f"    {each}," for each in _parameters(signature)), f"){result}"])


def _without_quotes(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature whose annotations are printed as they are written."""
    parameters = [
        each.replace(annotation=_Annotation.of(each.annotation)) for each in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=_Annotation.of(signature.return_annotation)
    )


class _Annotation:
    def __init__(self, words: str) -> None:
        self._words = words

    @classmethod
    def of(cls, annotation: Any) -> Any:
        """Return what prints as the annotation is written; other objects than texts are unchanged."""
        return cls(annotation) if isinstance(annotation, str) else annotation

    def __repr__(self) -> str:
        return self._words


def _parameters(signature: inspect.Signature) -> list[str]:
    """Return the parameters of a signature, with its ``/`` and ``*``."""
    each = [*signature.parameters.values()]
    kinds = [parameter.kind for parameter in each]
    texts = [str(parameter) for parameter in each]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        texts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    if positional := kinds.count(inspect.Parameter.POSITIONAL_ONLY):
        texts.insert(positional, "/")
    return texts


def _members(kind: type[Any]) -> list[str]:
    """Return a section for each public method and property that the class or a base of SGI documents."""
    sections = []
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or not _is_ours(kind, name):
            continue
        function = (
            getattr(member, "__func__", None)
            or getattr(member, "fget", None)
            or getattr(member, "func", member)
        )
        if not inspect.isfunction(function) or not inspect.getdoc(function):
            continue
        shown = _signature(name, function) if callable(getattr(kind, name)) else f"{name}  # property"
        sections.append(f"### {name}\n\n{block(shown, 'python')}\n\n{prose(inspect.getdoc(function) or '')}")
    return sections


def _is_ours(kind: type[Any], name: str) -> bool:
    owner = next((base for base in kind.__mro__ if name in vars(base)), object)
    return owner.__module__.startswith("sgi.")
