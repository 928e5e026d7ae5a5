"""Bounds the work of a JSON schema: counts how often a validator applies its parts to a value."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from sgi.kernel.short_text import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_STEPS = 1_000_000
"""Maximum number of times that parts of a schema are applied to parts of one value."""
_SMALL = 1000
"""A schema of at most this size, with its references expanded, needs no count."""

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_UNEVALUATED_WEIGHT = 3
"""The validator applies the schemas beside such a key again, to find what they evaluated (measured: 2.7)."""


class Steps(NamedTuple):
    """The steps of a check: their number, and how many of them repeat another with the same value."""

    total: int
    repeated: int


class _Parts(NamedTuple):
    """The schemas that a schema applies to the parts of a value."""

    named: Mapping[str, object]
    properties: list[object]
    other_properties: list[object]
    positions: list[object]
    items: list[Any]

    def at(self, place: str | int | None) -> Iterator[Any]:
        """Yield the schemas of a property or of an item; None stands for an unnamed property."""
        if isinstance(place, int):
            return chain(self.positions[place : place + 1], self.items)
        if place is None or place not in self.named:
            return chain(self.other_properties, self.properties)
        return chain((self.named[place],), self.properties)

    def all(self) -> Iterator[Schema]:
        """Yield all schemas of the properties and items."""
        every = (self.named.values(), self.properties, self.other_properties, self.positions, self.items)
        return (each for each in chain.from_iterable(every) if isinstance(each, Mapping))


class SchemaGraph:
    """The references between the parts of a schema, to the same value or to its parts.

    Raises ValueError if a part applies itself to the same value, or expands to more than `MAX_STEPS` parts
    for one value. A recursive schema is allowed if each step descends into a part of the value.

    >>> SchemaGraph({"allOf": [{"$ref": "#"}]})
    Traceback (most recent call last):
    ValueError: the schema has an endless chain of references: '#'
    >>> SchemaGraph({"items": {"$ref": "#"}}).steps([[], []])
    Steps(total=5, repeated=0)
    """

    def __init__(self, schema: object) -> None:
        references = References(schema)
        self._root = schema
        self._objects = {id(part): part for part in references.objects}
        self._same: dict[int, list[int]] = {}
        self._names: dict[int, str] = {}
        self._parts: dict[int, _Parts] = {}
        for node, part in self._objects.items():
            targets = references.targets(part)
            self._names |= {id(target): reference for reference, target in targets}
            self._same[node] = [id(each) for each in chain((target for _, target in targets), _inner(part))]
            self._parts[node] = _parts(part)
        self.unresolved = [
            references.unresolved[node] for node in self._used() if node in references.unresolved
        ]
        self._order = self._sorted()
        self._rank = {node: rank for rank, node in enumerate(self._order)}
        self._check_sizes()
        self.is_small = self._expanded_size() <= _SMALL

    def _used(self) -> Iterator[int]:
        """Yield the parts that the schema applies: a constant can look like a schema."""
        waiting, seen = [id(self._root)] if isinstance(self._root, Mapping) else [], set[int]()
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                yield node
                waiting += [*self._same[node], *map(id, self._parts[node].all())]

    def _weight(self, node: int) -> int:
        return _UNEVALUATED_WEIGHT if any(key in self._objects[node] for key in _UNEVALUATED) else 1

    def _sorted(self) -> list[int]:
        """Return the parts, each after those that it applies to the same value."""
        try:
            return list(TopologicalSorter(self._same).static_order())
        except CycleError as error:
            name = next((self._names[node] for node in error.args[1] if node in self._names), "#")
            raise ValueError(f"the schema has an endless chain of references: {quote(name)!r}") from None

    def _check_sizes(self) -> None:
        sizes: dict[int, int] = {}
        for node in self._order:
            sizes[node] = 1 + self._weight(node) * sum(sizes[target] for target in self._same[node])
            if sizes[node] > MAX_STEPS:
                name = quote(self._names.get(node, "#"))
                message = f"{name!r} expands to more than {MAX_STEPS:,} parts of the schema for one value"
                raise ValueError(f"a check with the schema would take too long: {message}")

    def _expanded_size(self) -> int:
        """Return the number of parts of the schema with all references expanded, at most `MAX_STEPS`."""
        edges = {node: [*same, *map(id, self._parts[node].all())] for node, same in self._same.items()}
        sizes: dict[int, int] = {}
        try:
            for node in TopologicalSorter(edges).static_order():
                size = 1 + self._weight(node) * sum(sizes[target] for target in edges[node])
                sizes[node] = min(size, MAX_STEPS)
        except CycleError:
            return MAX_STEPS
        return sizes.get(id(self._root), 1)

    def steps(self, value: object) -> Steps:
        """Count the steps of a check of a value; the count ends above `MAX_STEPS`.

        It is an upper bound: a validator can stop early, and a pattern of names counts for all names.
        """
        total = distinct = 0
        waiting: list[tuple[list[object], Counter[int]]] = []
        if isinstance(self._root, Mapping):
            waiting.append(([value], Counter({id(self._root): 1})))
        while waiting and total <= MAX_STEPS:
            values, applied = waiting.pop()
            self._add_same(applied)
            total += len(values) * applied.total()
            distinct += len(values) * len(applied)
            if total <= MAX_STEPS:
                waiting += self._groups(values, applied)
        return Steps(total, total - distinct)

    def _add_same(self, applied: Counter[int]) -> None:
        """Add the parts that others apply to the same value, with the number of ways that lead to them."""
        heap = [-self._rank[node] for node in applied]
        heapify(heap)
        while heap:
            node = self._order[-heappop(heap)]
            times = applied[node] * self._weight(node)
            for target in self._same[node]:
                if target not in applied:
                    heappush(heap, -self._rank[target])
                applied[target] += times

    def _groups(
        self, values: Iterable[object], applied: Counter[int]
    ) -> Iterator[tuple[list[object], Counter[int]]]:
        """Yield the parts of values that the same schemas apply to, and how often each does."""
        parts = {node: self._parts[node] for node in applied}
        for place, inner_values in _by_place(values, [*parts.values()]).items():
            times: Counter[int] = Counter()
            for node, one in parts.items():
                for schema in one.at(place):
                    if isinstance(schema, Mapping):
                        times[id(schema)] += applied[node]
            if times:
                yield inner_values, times


def _by_place(values: Iterable[object], parts: Sequence[_Parts]) -> Mapping[str | int | None, list[object]]:
    """Collect the parts of values by the name or the position that `_Parts.at` knows."""
    end = max((len(one.positions) for one in parts), default=0)
    named: dict[str, bool] = {}
    groups: defaultdict[str | int | None, list[object]] = defaultdict(list)
    for value in values:
        if isinstance(value, dict):
            for name, inner in value.items():
                if name not in named:
                    named[name] = any(name in one.named for one in parts)
                groups[name if named[name] else None].append(inner)
        elif isinstance(value, list):
            for at, inner in enumerate(value[:end]):
                groups[at].append(inner)
            groups[end] += value[end:]
    return groups


def _inner(part: Schema) -> Iterator[Schema]:
    """Yield the schemas in an object that it applies to the same value."""
    inner = [part[key] for key in _SINGLE if key in part]
    inner += [each for key in _LISTS for each in _list(part.get(key))]
    inner += [each for key in _BY_NAME for each in _table(part.get(key)).values()]
    return (each for each in inner if isinstance(each, Mapping))


def _parts(part: Schema) -> _Parts:
    items = part.get("items")
    properties = [*_table(part.get("patternProperties")).values(), part.get("propertyNames")]
    other_properties = [part.get("additionalProperties"), part.get("unevaluatedProperties")]
    every_item = [items, *(part.get(key) for key in ("contains", "additionalItems", "unevaluatedItems"))]
    return _Parts(
        _table(part.get("properties")),
        properties,
        other_properties,
        [*_list(part.get("prefixItems"))] or [*_list(items)],
        every_item,
    )


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


Schema = Mapping[str, Any]

REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")
_META_SCHEMAS = ("http://json-schema.org/draft-", "https://json-schema.org/draft/")
"""The validator has these documents, and no schema can change them."""


class References:
    """The objects of a schema, and the objects that their references point to.

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
        """Return the objects that the references of an object point to, each with its reference."""
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

    def _at(self, address: str, fragment: str) -> Iterator[object]:
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
