"""Schemas of the details of scores: typed dictionaries whose docstrings describe the keys.

Each metric has one in `MetricSpec.details`. Keys are optional: a row without a value has mostly no details.
"""

from __future__ import annotations

import re
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Self, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)

closed = with_config(ConfigDict(extra="forbid"))
"""Decorator of a typed dictionary: other keys than its own are not valid."""


@closed
class NoDetails(TypedDict):
    """The metric has no details."""


@closed
class JudgedDetails(TypedDict, total=False):
    """Details of a judged metric without details of its own.

    Attributes:
        judge_reply: the unusable reply of the judge, shortened; only in a failed row.
        reply_from_cache: whether all replies for the row came from the cache; only in a failed row.
    """

    judge_reply: str
    reply_from_cache: bool


class DetailsModel(BaseModel, frozen=True, extra="forbid"):
    """Base of details that are read as one object. The details of a score may have further keys."""

    @classmethod
    def read(cls, details: Mapping[str, Any]) -> Self | None:
        """Return the object from the details of a score, or None if the details hold none."""
        fields = cls.model_fields
        if not details.keys() >= {name for name, field in fields.items() if field.is_required()}:
            return None
        try:
            return cls.model_validate({name: details[name] for name in fields if name in details})
        except ValidationError:
            return None

    @classmethod
    def further(cls, details: Mapping[str, Any]) -> dict[str, Any]:
        """Return the details of a score without the keys of the object."""
        return {name: value for name, value in details.items() if name not in cls.model_fields}


def first_line(kind: type[object]) -> str:
    """Return the first line of the documentation of a class; "" if it has none.

    >>> first_line(int).startswith("int(")
    True
    """
    return (getdoc(kind) or "").partition("\n")[0]


def describe_keys(kind: type[object]) -> dict[str, str]:
    """Return the description of each key of a schema, from the docstrings of the class and its bases.

    >>> describe_keys(JudgedDetails)["judge_reply"]
    'the unusable reply of the judge, shortened; only in a failed row.'
    """
    bases = getattr(kind, "__orig_bases__", ())
    inherited = [describe_keys(base) for base in bases if isinstance(base, type) and base.__doc__]
    own = {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(getdoc(kind) or "")}
    return {name: text for each in (*inherited, own) for name, text in each.items()}


def details_schema(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON schema of details, without references, with a description of each key."""
    schema = TypeAdapter(kind).json_schema()
    definitions = schema.pop("$defs", {})
    kinds = {each.__name__: each for each in (kind, *_parts(kind))}
    for name, definition in {kind.__name__: schema, **definitions}.items():
        definition["description"] = first_line(kinds[name])
        texts = describe_keys(kinds[name])
        for key, value in definition.get("properties", {}).items():
            if key in texts:
                value["description"] = texts[key]
    inlined: dict[str, Any] = inline_references(schema, definitions)
    return inlined


def inline_references(part: Any, definitions: dict[str, Any]) -> Any:
    """Replace references in a JSON schema by their definitions."""
    if isinstance(part, list):
        return [inline_references(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return inline_references(definitions[part["$ref"].rpartition("/")[2]], definitions)
    return {key: inline_references(value, definitions) for key, value in part.items()}


def _parts(kind: Any) -> list[type[Any]]:
    """Return the classes with keys of their own inside a schema."""
    found: list[type[Any]] = []
    for hint in get_type_hints(kind).values():
        for inner in (hint, *_flat_arguments(hint)):
            if isinstance(inner, type) and getattr(inner, "__annotations__", None):
                found += [inner, *_parts(inner)]
    return found


def _flat_arguments(hint: object) -> list[object]:
    return [each for inner in get_args(hint) for each in (inner, *_flat_arguments(inner))]
