"""Finds references in a JSON schema that never end: a schema that refers to itself for the same value."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

_REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")


def endless_reference(schema: Any) -> str:
    """Return a reference that leads back to itself for the same value; an empty text if there is none.

    Validators accept every value for such a schema. A recursive schema is no problem if each step descends
    into a part of the value, such as an item or a property.

    >>> endless_reference({"allOf": [{"$ref": "#"}]}), endless_reference({"items": {"$ref": "#"}})
    ('#', '')
    """
    graph: TopologicalSorter[int] = TopologicalSorter()
    references: dict[int, str] = {}
    for part in _objects(schema):
        for reference, target in _same_value(part, schema):
            graph.add(id(part), id(target))
            if reference:
                references[id(part)] = reference
    try:
        graph.prepare()
    except CycleError as error:
        return next((references[node] for node in error.args[1] if node in references), "#")
    return ""


def _objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    parts = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            yield part
            parts += part.values()
        elif isinstance(part, (list, tuple)):
            parts += part


def _same_value(part: Mapping[str, Any], schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield the schemas that an object applies to the same value, each with its reference, if it is one."""
    for key in _REFERENCES:
        reference = part.get(key)
        if isinstance(reference, str) and (target := _target(reference, schema)) is not None:
            yield reference, target
    inner = [part[key] for key in _SINGLE if key in part]
    inner += [each for key in _LISTS if isinstance(part.get(key), (list, tuple)) for each in part[key]]
    inner += [each for key in _BY_NAME if isinstance(part.get(key), Mapping) for each in part[key].values()]
    yield from (("", each) for each in inner if isinstance(each, Mapping))


def _target(reference: str, schema: Any) -> Mapping[str, Any] | None:
    """Return the object at a JSON pointer, or with an anchor; None if there is none in this document."""
    if not reference.startswith("#"):
        return None
    if reference[1:] and not reference.startswith("#/"):
        names = ("$anchor", "$dynamicAnchor")
        return next((one for one in _objects(schema) if reference[1:] in map(one.get, names)), None)
    target = schema
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(target, Mapping):
            target = target.get(name)
        elif isinstance(target, (list, tuple)) and name.isdecimal() and int(name) < len(target):
            target = target[int(name)]
        else:
            return None
    return target if isinstance(target, Mapping) else None
