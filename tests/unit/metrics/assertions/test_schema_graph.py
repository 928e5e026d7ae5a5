"""The work of a JSON schema is counted before the validator, which no signal can stop, begins."""

import json

import jsonschema_rs
import pytest

import sgi
from sgi.metrics import JsonSchema
from sgi.metrics.assertions import json_documents, schema_graph
from sgi.metrics.assertions.schema_graph import MAX_STEPS, SchemaGraph

NEVER = {"const": "never"}


def chain(levels, *, reference="#/$defs/d{}", own=lambda _: {}, key="anyOf", **other):
    """A schema whose definitions use the next one ten times."""
    steps = {f"d{n}": {key: [{"$ref": reference.format(n + 1)}] * 10, **own(f"d{n}")} for n in range(levels)}
    last = {f"d{levels}": NEVER | own(f"d{levels}")}
    return {"$ref": reference.format(0), "$defs": steps | last, **other}


def wrapped(levels, wrap, inner):
    for _ in range(levels):
        inner = wrap(inner)
    return inner


@pytest.fixture
def unused_validator(monkeypatch):
    """A validator that must not check anything."""

    class Validator:
        is_valid = validate = None

    monkeypatch.setattr(jsonschema_rs, "validator_for", lambda *_, **__: Validator())
    json_documents.schema_check.cache_clear()
    yield
    json_documents.schema_check.cache_clear()


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (chain(190), "#/$defs/d184"),
        (chain(190, key="allOf"), "#/$defs/d184"),
        ({"items": {"$ref": "#/$defs/d0"}, "$defs": chain(6)["$defs"]}, "#/$defs/d0"),
        (chain(6, reference="#d{}", own=lambda name: {"$anchor": name}), "#d0"),
        (chain(6, reference="d{}", own=lambda name: {"$id": name}, **{"$id": "https://a.org/s"}), "d0"),
        (wrapped(13, lambda inner: {"allOf": [inner], "unevaluatedProperties": False}, {}), "#"),
    ],
    ids=["anyOf", "allOf", "items", "anchors", "ids", "unevaluated"],
)
def test_a_schema_of_too_much_work_is_refused_by_name(schema, name):
    with pytest.raises(ValueError, match="would take too long") as caught:
        JsonSchema(schema)
    assert f"{name!r} expands to more than 1,000,000 parts" in str(caught.value)


RECURSIVE = {"anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["z"]}] * 2}
BY_LEVEL = {
    "$ref": "#/$defs/d0",
    "$defs": {
        f"d{n}": {"additionalProperties": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10}} for n in range(9)
    }
    | {"d9": NEVER},
}
DYNAMIC = {
    "$dynamicAnchor": "node",
    "$defs": {"b": {"$id": "b", "$dynamicAnchor": "node"}},
    "properties": {"a": {"oneOf": [{"$dynamicRef": "#node"}] * 2}},
}


@pytest.mark.usefixtures("unused_validator")
@pytest.mark.parametrize("schema", [RECURSIVE, BY_LEVEL, DYNAMIC])
def test_a_response_of_too_much_work_is_not_checked(schema):
    deep = wrapped(25, lambda inner: {"a": inner}, 1)
    failure = JsonSchema(schema).failure(sgi.types.Sample(id="1", response=json.dumps(deep)))
    assert failure.reason == "the response cannot be checked: the schema takes more than 1,000,000 steps"


def test_a_check_of_many_repeated_steps_has_no_place():
    schema, value = JsonSchema(chain(5)), sgi.types.Sample(id="1", response="{}")
    assert "repeats too many steps" in schema.failure(value).reason
    assert schema.failure(value.model_copy(update={"response": '"never"'})) is None


def test_steps_are_counted_exactly_where_every_part_applies():
    schema = {
        "$defs": {"name": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/name"}},
        "additionalProperties": {"$ref": "#/$defs/name"},
    }
    assert SchemaGraph(schema).steps({"a": "x", "b": "y", "c": "z"}) == (7, 0)
    assert SchemaGraph({"prefixItems": [{}, {}], "items": {"items": {}}}).steps([1, 2, [3, 4]]) == (8, 0)
    assert SchemaGraph({"allOf": [{"$ref": "#/$defs/b"}] * 3, "$defs": {"b": {}}}).steps(1) == (7, 4)


def test_the_count_groups_the_parts_of_a_large_response(monkeypatch):
    expanded = []
    real = SchemaGraph._add_same
    monkeypatch.setattr(SchemaGraph, "_add_same", lambda *given: expanded.append(1) or real(*given))
    node = {
        "properties": {key: {"type": "string"} for key in "abc"} | {"inner": {"items": {"$ref": "#/items"}}}
    }
    rows = [{"a": "x", "b": "y", "c": "z", "inner": [{"a": "x"}]}] * 20_000
    assert SchemaGraph({"items": node}).steps(rows).total == 1 + 20_000 * 8
    assert len(expanded) == 8


def test_the_count_ends_above_the_limit(monkeypatch):
    monkeypatch.setattr(schema_graph, "MAX_STEPS", 1000)
    total, _ = SchemaGraph(RECURSIVE).steps(wrapped(99, lambda inner: {"a": inner}, 1))
    assert 1000 < total < 5000


STRICT_TREE = {
    "$id": "https://example.com/strict-tree",
    "$dynamicAnchor": "node",
    "$ref": "tree",
    "unevaluatedProperties": False,
    "$defs": {
        "tree": {
            "$id": "tree",
            "$dynamicAnchor": "node",
            "properties": {"data": True, "children": {"items": {"$dynamicRef": "#node"}}},
        }
    },
}


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (STRICT_TREE, {"children": [{"data": 1}]}, {"children": [{"daat": 1}]}),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, STRICT_TREE, {"type": 1}),
        ({"enum": [{"$ref": "none"}], "default": {"$ref": "#/x"}}, {"$ref": "none"}, 2),
        ({"$id": "urn:a:b", "$ref": "#/$defs/c", "$defs": {"c": {"type": "integer"}}}, 1, "1"),
    ],
)
def test_usual_references_are_followed(schema, right, wrong):
    check = json_documents.schema_check(json_documents.canonical_schema(schema))
    assert check(right) is None
    assert check(wrong).details["rule"]


def test_a_chain_of_references_and_a_wide_schema_are_checked():
    long = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2000)} | {"d2000": {"type": "integer"}}
    check = json_documents.schema_check(json.dumps({"$ref": "#/$defs/d0", "$defs": long}))
    assert (check(1), check("1").details["path"]) == (None, "")


def test_a_repeated_key_among_many_is_found_without_comparing_all_pairs():
    keys = ",".join(f'"{number}":0' for number in range(200_000))
    with pytest.raises(ValueError, match="'199999' occurs twice"):
        json_documents.read_json(f'{{{keys},"199999":1}}')


def test_the_limit_leaves_room_for_large_responses():
    rows = [{"name": "x", "size": 1}] * (MAX_STEPS // 4)
    node = {"properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
    assert SchemaGraph({"items": node}).steps(rows).total <= MAX_STEPS
