"""Write docs/metrics.md from the metric classes.

python scripts/make_metrics_page.py
"""

from __future__ import annotations

import inspect
import math
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reference_pages.markdown import link_titles, prose

from sgi.kernel.details import details_schema
from sgi.kernel.docstrings import first_line
from sgi.kernel.registry import metric_class, metric_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from dataclasses import Field

    from sgi.kernel.metric import AnyMetric

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
_HEAD = """# Metrics

Made from the code by `python scripts/make_metrics_page.py`; `sgi metrics NAME` prints the same.

Every value has a status: `ok`, or `undefined` (the formula has no value), `missing` (the row lacks a field),
`failed` (an embedder gave up), each with a reason. Means are over the `ok` rows and come with their coverage
and a 95 % interval. Parameters are written in the name: `rouge_l(beta=1.2)`.
"""


def page() -> str:
    """Return the page in Markdown."""
    classes = [metric_class(name) for name in metric_names()]
    table = "\n".join(f"| [`{kind.spec.name}`](#{kind.spec.name}) | {first_line(kind)} |" for kind in classes)
    content = "\n".join([_HEAD, f"| metric | |\n|---|---|\n{table}\n", *map(_section, classes)])
    return link_titles(content, 0)


def _section(kind: type[AnyMetric]) -> str:
    spec = kind.spec
    high = "∞" if math.isinf(spec.high) else f"{spec.high:.4g}"
    parameters = ", ".join(_parameter(field) for field in fields(cast("Any", kind)))
    facts = [
        ("needs", ", ".join(sorted(spec.needs))),
        ("range", f"{spec.low:.4g} to {high} {spec.unit}".rstrip()),
        ("better", "higher" if spec.higher_is_better else "lower"),
        ("parameters", parameters or "none"),
        *([("example", f"`{kind.example}`")] if kind.example else []),
        ("version", str(spec.version)),
        ("source", spec.citation),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in facts)
    words = prose(inspect.getdoc(kind) or "", without=frozenset({"Raises"}))
    return f"## {spec.name}\n\n{words}\n\n| | |\n|---|---|\n{table}\n{_details(kind)}"


def _parameter(field: Field[Any]) -> str:
    return f"`{field.name}` (required)" if field.default is MISSING else f"`{field.name}={field.default!r}`"


def _details(kind: type[AnyMetric]) -> str:
    lines = details_list(kind)
    return f"\n**Details of a row:**\n\n{lines}\n" if lines else ""


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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
