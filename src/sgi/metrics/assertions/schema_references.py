"""Resolves the references of a JSON schema in its own document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag, urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = Mapping[str, Any]

REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")
_META_SCHEMAS = ("http://json-schema.org/draft-", "https://json-schema.org/draft/")
"""The validator has these documents, and no schema can change them."""


class References:
    """The objects of a schema, and what their references lead to.

    If several objects have one address, or a reference is dynamic, it leads to all that it could mean, so
    that a count of the work is an upper bound.

    Attributes:
        objects: all objects of the document.
        unresolved: the reference to nothing in the document, by the identity of its object.

    >>> tree = References({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"$ref": "c"}}})
    >>> [tree.targets(part) for part in tree.objects if "$ref" in part], [*tree.unresolved.values()]
    ([[('#/$defs/a%20b', {'$ref': 'c'})], []], ['c'])
    """

    def __init__(self, schema: Any) -> None:
        self.objects: list[Schema] = []
        self.unresolved: dict[int, str] = {}
        self._bases: dict[int, str] = {}
        self._places: defaultdict[str, list[Any]] = defaultdict(list)
        self._dynamic: defaultdict[str, list[Any]] = defaultdict(list)
        self._places[""].append(schema)
        waiting: list[tuple[Any, str]] = [([schema], "")]
        while waiting:
            part, base = waiting.pop()
            if isinstance(part, Mapping):
                base = self._add(part, base)
                part = [*part.values()]
            waiting += [(each, base) for each in part if isinstance(each, (Mapping, list))]

    def _add(self, part: Schema, base: str) -> str:
        """Add an object with its addresses; return the base of the references in it."""
        for key in ("$id", "id"):  # `id` in draft 4
            name = part.get(key)
            if isinstance(name, str) and name:
                address, fragment = urldefrag(_joined(base, name))
                base = base if name.startswith("#") else address
                self._places[f"{base}#{fragment}" if fragment else base].append(part)
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := part.get(key), str):
                self._places[f"{base}#{name}"].append(part)
        if isinstance(name := part.get("$dynamicAnchor"), str):
            self._dynamic[f"$dynamicRef#{name}"].append(part)
        if part.get("$recursiveAnchor") is True:
            self._dynamic["$recursiveRef#"].append(part)
        self.objects.append(part)
        self._bases[id(part)] = base
        return base

    def targets(self, part: Schema) -> list[tuple[str, Schema]]:
        """Return the objects that the references of an object lead to, each with its reference."""
        found: list[tuple[str, Schema]] = []
        for key in REFERENCES:
            reference = part.get(key)
            if not isinstance(reference, str):
                continue
            address, fragment = urldefrag(_joined(self._bases[id(part)], reference))
            targets = [*self._at(address, fragment), *self._dynamic.get(f"{key}#{fragment}", ())]
            if not targets and not address.startswith(_META_SCHEMAS):
                self.unresolved[id(part)] = reference
            found += [(reference, target) for target in targets if isinstance(target, Mapping)]
        return found

    def _at(self, address: str, fragment: str) -> Iterator[Any]:
        """Yield what is at an address: the objects with an anchor, or what a JSON pointer leads to."""
        if fragment and not fragment.startswith("/"):
            yield from self._places.get(f"{address}#{unquote(fragment)}", ())
            return
        for target in self._places.get(address, ()):
            for step in fragment.split("/")[1:]:
                name = unquote(step).replace("~1", "/").replace("~0", "~")
                if isinstance(target, Mapping) and name in target:
                    target = target[name]  # noqa: PLW2901 - one step
                elif isinstance(target, list) and name.isdecimal() and int(name) < len(target):
                    target = target[int(name)]  # noqa: PLW2901 - one step
                else:
                    break
            else:
                yield target


def _joined(base: str, reference: str) -> str:
    try:
        return f"{base}{reference}" if reference.startswith("#") else urljoin(base, reference)
    except ValueError:  # the validator refuses it
        return reference
