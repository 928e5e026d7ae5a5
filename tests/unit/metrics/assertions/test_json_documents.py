"""Assertions about responses in JSON: hostile responses and hostile schemas."""

import json
import sys
from unittest.mock import patch

import pytest

import sgi
from sgi.kernel.errors import MissingExtraError
from sgi.kernel.registry import metric
from sgi.metrics import JsonSchema, ValidJson
from sgi.metrics.assertions.json_documents import MAX_SCHEMA, canonical_schema

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z]"},
        "born": {"type": "integer", "minimum": 1000},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def failure(one, response):
    return one.failure(sgi.types.Sample(id="1", response=response))


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "response", ["{}", " [1, 2]\n", "1889", '"text"', "null", '{"a": {"b": [1e5]}}', nested(100), "1" * 400]
)
def test_json_passes(response):
    assert failure(ValidJson(), response) is None


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("", "Expecting value"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ("[NaN]", "NaN is not a JSON value"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' occurs twice"),
        (nested(100_000), "nested more than 100 levels deep"),
        ("1" * 5000, "digits"),
        ("\ufeff{}", "BOM"),
        ("```json\n{}\n```", "fenced=true removes"),
    ],
)
def test_other_texts_fail_with_a_reason(response, words):
    assert words in failure(ValidJson(), response).reason


@pytest.mark.parametrize("response", ["```json\n{}\n```", "```\n[1,\n2]\n```\n", "{}"])
def test_a_fence_is_removed_on_request(response):
    assert failure(ValidJson(fenced=True), response) is None


@pytest.mark.parametrize("response", ["```json\n{}", "Here:\n```json\n{}\n```", "``` {} ```"])
def test_only_a_whole_fence_is_removed(response):
    assert failure(ValidJson(fenced=True), response)


@pytest.mark.parametrize(
    ("response", "path", "rule"),
    [
        ('{"name": "Ada", "born": 1815}', None, None),
        ('{"name": "ada"}', "/name", "/properties/name/pattern"),
        ('{"name": "Ada", "tags": ["a", 1]}', "/tags/1", "/properties/tags/items/type"),
        ('{"born": 1815}', "", "/required"),
    ],
)
def test_the_details_have_the_place_of_the_first_error(response, path, rule):
    result = failure(JsonSchema(PERSON), response)
    assert (result and result.details) == (path if path is None else {"path": path, "rule": rule})


def test_a_response_that_is_not_json_fails_the_schema():
    assert failure(JsonSchema({}), "name: Ada").reason.startswith("the response is not JSON")


@pytest.mark.parametrize("response", ['"\\ud800"', "1e999", "1" * 400])
def test_odd_values_are_checked_without_an_error(response):
    result = failure(JsonSchema({"type": "integer"}), response)
    assert result is None or json.dumps(result.reason)


def test_a_canonical_string_has_the_schema_and_is_read_back():
    one = JsonSchema(PERSON)
    assert metric(one.canonical) == one == JsonSchema(json.dumps(PERSON, indent=2))
    odd = JsonSchema({"const": "\"\\ \n\t \u2028 é 🗼 \x00 ' </x>"})
    assert metric(odd.canonical) == odd


TREE = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}


def test_a_recursive_schema_is_bounded_by_the_depth_of_the_response():
    deep = '{"next": ' * 90 + "{}" + "}" * 90
    assert failure(JsonSchema(TREE), deep) is None
    assert failure(JsonSchema(TREE), deep.replace("{}", '{"x": 1}')).details["path"] == "/next" * 90


def test_a_pattern_of_a_schema_takes_linear_time():
    schema = JsonSchema({"pattern": "^(a+)+$"})
    assert failure(schema, json.dumps("a" * 100_000 + "!"))


def test_a_long_response_has_a_short_failure():
    result = failure(JsonSchema({"type": "string"}), json.dumps([*range(200_000)]))
    assert len(result.reason) <= 201


def test_a_deep_schema_is_accepted():
    assert metric(JsonSchema('{"items":' * 99 + "{}" + "}" * 99).canonical)


def test_a_long_or_deep_schema_is_refused():
    with pytest.raises(ValueError, match="at most 100,000"):
        canonical_schema({"const": "x" * MAX_SCHEMA})
    with pytest.raises(ValueError, match="100 levels"):
        canonical_schema('{"items":' * 101 + "{}" + "}" * 101)
    loop = {}
    loop["items"] = loop
    with pytest.raises(ValueError, match="Circular"):
        canonical_schema(loop)


def test_a_schema_needs_its_extra():
    with (
        patch.dict(sys.modules, {"jsonschema_rs": None}),
        pytest.raises(MissingExtraError, match="json-schema"),
    ):
        metric('json_schema(schema="{\\"const\\": 17}")')
