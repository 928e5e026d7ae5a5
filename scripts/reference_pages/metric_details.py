"""The keys of the details of a row, as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel.details import details_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.kernel.metric import AnyMetric


def details_list(kind: type[AnyMetric]) -> str:
    """Return the keys of the details of a row as a list; nothing without keys."""
    return "\n".join(_keys(details_schema(kind.spec.details), ""))


def _keys(schema: dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in schema.get("properties", {}).items():
        text = value.get("description", "").rstrip(".").replace("``", "`")
        yield f"{indent}- `{name}` ({_type(value)})" + (f": {text}." if text else "")
        yield from _keys(_inner(value), f"{indent}  ")


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f'`"{each}"`' for each in schema["enum"])
    if schema.get("type") == "array":
        items = schema.get("items", {}) or schema["prefixItems"][0]
        kind = _type(items)
        return f"array of ({kind})" if " or " in kind else f"array of {kind}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def _inner(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the objects in a value."""
    inner = schema.get("items", schema.get("additionalProperties"))
    return _inner(inner) if isinstance(inner, dict) else schema
