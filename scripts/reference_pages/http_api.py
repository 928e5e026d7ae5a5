"""The page of the HTTP API: the operations of its OpenAPI description, by group, and its types."""

from __future__ import annotations

import json
import re
from inspect import getdoc
from shlex import quote
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.routing import APIRoute
from reference_pages.markdown import block, code, page, sentence, table, text

from sgi_web.api import operations
from sgi_web.api.router import router
from sgi_web.body_limit import API_LIMIT
from sgi_web.routes import otlp
from sgi_web.security import needs_edit

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]

ADDRESS = "http://127.0.0.1:8765"
_GROUPS = {
    "Scoring": "Score rows, and list the metrics that can score them.",
    "Guard": "Check answers with the guard of the server, and see its counts.",
    "Runs": "List, change and delete stored runs, and read their rows.",
    "Comparisons": "Compare two runs, or rank several.",
    "Traces": "See what became of received traces.",
}
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "{} or more characters",
    "maxLength": "at most {} characters",
    "minItems": "{} or more items",
    "maxItems": "at most {} items",
}
_INDEX = f"""`sgi serve` has a JSON API under `{ADDRESS}/api/v1`.
The [dashboard](../dashboard.md#the-json-api) introduces it. `/api/v1/docs` of your server shows each
operation as a form that you can send, and `/api/v1/openapi.json` is the same description in OpenAPI 3.1.

* **Token:** if the server has a token, send the header `Authorization: Bearer TOKEN` with each
  request. After several wrong tokens the server answers with 429 and `Retry-After`.
* **Right:** a token gives the right to read (and to score), or also to edit
  ([who may do what](../team-dashboard.md#who-may-do-what)).
* **Body:** JSON of at most {API_LIMIT >> 20} MB, with the header `Content-Type: application/json`.
* **Error:** a status of 400 or more. The answer is an [`ErrorResponse`](#errorresponse), which says
  what is wrong and what to do."""
_ATTRIBUTE = re.compile(r"^    (\w+): (.+)$", re.MULTILINE)
_PRIMITIVES = {"string", "integer", "number", "boolean", "object"}


def description() -> Schema:
    """Return the OpenAPI description of the API, as a server returns it."""
    app = FastAPI(title="SGI")
    app.include_router(router)
    return app.openapi()


def http_page() -> str:
    """Return the page of all operations, by group, and of the types in their answers."""
    document = description()
    groups: dict[str, list[tuple[str, str, Schema]]] = {name: [] for name in _GROUPS}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append((method.upper(), path, operation))
    parts = []
    for name, group in groups.items():
        parts += [f"## {name}\n\n{_GROUPS[name]}", *(_section(*each) for each in group)]
    return page("HTTP API", _INDEX, *parts, _others(), *_types(document["components"]["schemas"]))


def _others() -> str:
    rows = [
        (code(f"{method} {route.path}"), text((getdoc(route.endpoint) or "").partition("\n")[0]))
        for route in (*operations.router.routes, *otlp.router.routes)
        if isinstance(route, APIRoute) and route.path != "/traces"
        for method in sorted(route.methods)
    ]
    head = (
        "## Addresses outside `/api/v1`\n\nFor the operation of the server, and for exporters of traces "
        "([live traces](../traces.md#how-do-i-score-traces-as-they-arrive))."
    )
    return f"{head}\n\n{table(['address', 'what it does'], rows)}"


def _words(operation: Schema) -> str:
    return str(operation["description"]).replace("\n", " ")


def _section(method: str, path: str, operation: Schema) -> str:
    right = "edit" if needs_edit(method, path) else "read"
    parts = [
        f"### `{method} {path}`",
        f"{text(_words(operation))}\n\n**Needed right:** {right}.",
        _parameters(operation),
        _body(operation),
        _answers(operation),
        f"**Example:**\n\n{block(curl(method, path, operation), 'console')}",
    ]
    return "\n\n".join(part for part in parts if part)


def _parameters(operation: Schema) -> str:
    rows = [
        (
            code(each["name"]),
            each["in"],
            _type(each["schema"]),
            _limits(each["schema"], required=each["required"]),
            text(each["description"]),
        )
        for each in operation.get("parameters", ())
    ]
    header = ["parameter", "in", "type", "default and limits", "meaning"]
    return f"**Parameters:**\n\n{table(header, rows)}" if rows else ""


def _body(operation: Schema) -> str:
    if "requestBody" not in operation:
        return ""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return f"**Body:**\n\n{table(['field', 'type', 'default and limits', 'meaning'], _fields(schema))}"


def _fields(schema: Schema, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """List the fields of an object, and of the objects in its lists: ``rows[].turns[].role``."""
    attributes = dict(_ATTRIBUTE.findall(schema.get("description", "")))
    for name, field in schema.get("properties", {}).items():
        limits = _limits(field, required=name in schema.get("required", ()))
        words = field.get("description") or attributes.get(name, "")
        yield code(prefix + name), _type(field), limits, text(_sentence(words))
        for each in field.get("anyOf", [field]):
            yield from _fields(each.get("items", {}), f"{prefix}{name}[].")


def _answers(operation: Schema) -> str:
    rows = []
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json")
        words = answer["description"].replace("Successful Response", "The request succeeded.")
        rows.append((code(status), _type(content["schema"]) if content else "no body", text(words)))
    return f"**Answers:**\n\n{table(['status', 'type', 'when'], rows)}"


def _types(schemas: Schema) -> Iterator[str]:
    yield "## Types\n\nThe objects in the answers."
    for name, schema in schemas.items():
        fields = [(field, kind, meaning) for field, kind, _, meaning in _fields(schema)]
        values = ", ".join(code(value) for value in schema.get("enum", ()))
        words = text(_sentence(schema.get("description", "Any JSON value.").partition("\n\n")[0]))
        yield f"### {name}\n\n{words}\n\n{table(['field', 'type', 'meaning'], fields) if fields else values}"


def _sentence(words: str) -> str:
    """Return a description from a docstring as a sentence on JSON."""
    return re.sub(r"\bNone\b", "null", sentence(words))


def _type(schema: Schema) -> str:
    """Return a type in words, with links to the types of objects."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "JSON value" if name == "JsonValue" else f"[{code(name)}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(code(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        items = _type(schema["items"]) if schema.get("items") else "JSON value"
        return f"list of {items}{'s' * (items in _PRIMITIVES)}"
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict) and inner:
        return f"object of {_type(inner)}"
    return str(schema.get("type", "JSON value"))


def _limits(schema: Schema, *, required: bool) -> str:
    parts = ["required"] if required else []
    if schema.get("default") is not None and not required:
        parts.append(f"default {code(json.dumps(schema['default']))}")
    for each in schema.get("anyOf", [schema]):
        parts += [words.format(f"{each[key]:,.10g}") for key, words in _LIMITS.items() if key in each]
    return ", ".join(dict.fromkeys(parts))


def curl(method: str, path: str, operation: Schema) -> str:
    """Return a command that sends the example of an operation to a server on this machine."""
    query = []
    for each in operation.get("parameters", ()):
        example = each["schema"].get("examples", [None])[0]
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", example)
        elif each["required"]:
            query.append((each["name"], example))
    url = f"{ADDRESS}{path}" + (f"?{urlencode(query, doseq=True, safe='~')}" if query else "")
    words = ["$ curl -s", *([f"-X {method}"] if method not in {"GET", "POST"} else []), quote(url)]
    if "requestBody" in operation:
        examples = operation["requestBody"]["content"]["application/json"]["examples"].values()
        value = next(each["value"] for each in examples if each["value"])
        data = json.dumps(value, indent=2)
        words += ["-H 'Content-Type: application/json'", f"-d {quote(data)}"]
    return " ".join(words)
