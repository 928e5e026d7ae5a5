"""A page for each public name of Python."""

from __future__ import annotations

import enum
import inspect
from importlib import import_module
from typing import Any

from reference_pages.markdown import block, code, page, prose, text

import sgi

_WIDTH = 88
MODULES = ("sgi", "sgi.api", "sgi.errors", "sgi.types", "sgi.geometry", "sgi.testing")
"""The modules with public names. The names of `sgi.metrics` are on the pages of the metrics."""

_AGAIN = ("sgi.api", "sgi.types")
"""Modules that also have names of `sgi`; these have one page, that of `sgi`."""


def public_names() -> dict[str, str]:
    """Return the path of the page of each public name."""
    names = {"sgi.metrics": "metrics/index.md"}
    for module in MODULES:
        own = [name for name in import_module(module).__all__ if f"{module}.{name}" not in MODULES]
        lower = [name.lower() for name in own]
        for name in own:
            if f"{module}.{name}" in names or (module in _AGAIN and f"sgi.{name}" in names):
                continue
            twice = lower.count(name.lower()) > 1 and name[0].isupper()
            folder = "python/" if module == "sgi" else f"python/{module}/"
            names[f"{module}.{name}"] = f"{folder}{name}{'-class' if twice else ''}.md"
    for name in MODULES[1:]:
        names[name] = f"python/{name}/index.md"
    metrics = import_module("sgi.metrics")
    for name in metrics.__all__:
        names[f"sgi.metrics.{name}"] = f"metrics/{getattr(metrics, name).spec.name}.md"
    return names


def python_pages() -> dict[str, str]:
    """Return the page of each name and their index, by path."""
    own = {name: path for name, path in public_names().items() if path.startswith("python/")}
    pages = {path: _page(name, own) for name, path in own.items()}
    return pages | {"python/index.md": _index(own)}


def _object(name: str) -> Any:
    if name in MODULES:
        return import_module(name)
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def _summary(value: Any) -> str:
    documented = isinstance(value, type) or callable(value) or inspect.ismodule(value)
    return (inspect.getdoc(value) or "").partition("\n")[0] if documented else f"The value {value!r}."


def _items(names: dict[str, str], folder: str) -> str:
    lines = [
        f"* [`{name}`]({path.removeprefix(folder)}) {text(_summary(_object(name)))}"
        for name, path in names.items()
    ]
    return "\n".join(lines)


def _index(names: dict[str, str]) -> str:
    groups: dict[str, dict[str, str]] = {
        "Functions": {},
        "Classes": {},
        "Modules": {},
    }
    for name, path in names.items():
        value = _object(name)
        if name in MODULES:
            groups["Modules"][name] = path
        elif name.count(".") > 1:
            continue
        else:
            groups["Classes" if isinstance(value, type) else "Functions"][name] = path
    head = (
        "The public names of SGI. Other names can change in every version. [Metrics](../metrics/index.md) "
        f"lists the classes of `sgi.metrics`. The version is {sgi.__version__}."
    )
    return page(
        "Python API", head, *(f"## {group}\n\n{_items(each, 'python/')}" for group, each in groups.items())
    )


def _page(name: str, names: dict[str, str]) -> str:
    value = _object(name)
    if inspect.ismodule(value):
        inside = {other: path for other, path in names.items() if other.startswith(f"{name}.")}
        return page(code(name), prose(inspect.getdoc(value) or ""), _items(inside, f"python/{name}/"))
    if not callable(value):
        return page(code(name), _summary(value))
    return page(
        code(name),
        block(_signature(name.rpartition(".")[2], value), "python"),
        prose(inspect.getdoc(value) or ""),
        *(_members(value) if isinstance(value, type) else ()),
    )


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
        sections.append(f"## {name}\n\n{block(shown, 'python')}\n\n{prose(inspect.getdoc(function) or '')}")
    return sections


def _is_ours(kind: type[Any], name: str) -> bool:
    owner = next((base for base in kind.__mro__ if name in vars(base)), object)
    return owner.__module__.startswith("sgi.")
