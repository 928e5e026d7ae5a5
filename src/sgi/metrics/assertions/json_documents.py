"""Assertions about responses in JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from sgi.kernel.details import closed
from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.kernel.parsing import MAX_DEPTH, PARSER_ERRORS, placed_error, read_whole, reason
from sgi.kernel.short_text import quote
from sgi.metrics.assertions.assertion import Assertion, AssertionDetails, Failure, assertion_spec
from sgi.metrics.assertions.schema_graph import MAX_STEPS, SchemaGraph, Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sgi.kernel.sample import Sample

MAX_SCHEMA = 100_000
"""Maximum number of characters of a schema."""

_MAX_REPEATED = 10_000
"""Maximum number of repeated steps of a check that describes its errors, which takes up to 0.3 ms a step."""

_NO_PLACE = "the response does not follow the schema, which repeats too many steps to tell where"
_FENCE = re.compile(r"```[a-zA-Z0-9]*[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"


def read_json(text: str) -> object:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON as in RFC 8259, an object has a key twice, or it is nested too deeply.

    >>> read_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' occurs twice in one object
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_reject)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(value)
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
        raise ValueError(f"the key {quote(twice)!r} occurs twice in one object")
    return result


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON value")


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        parts = [part for part in level if isinstance(part, (dict, list))]
        if not parts:
            return
        level = [each for part in parts for each in (part.values() if isinstance(part, dict) else part)]
    raise ValueError(_TOO_DEEP)


@dataclass(frozen=True)
class _JsonResponse(Assertion):
    """Base of assertions about responses in JSON."""

    def _read(self, sample: Sample, *, fenced: bool) -> object:
        """Return the value of the response, or a Failure."""
        text = sample.response.strip()
        fence = _FENCE.fullmatch(text)
        try:
            return read_json(fence[1] if fence and fenced else text)
        except PARSER_ERRORS as error:
            hint = "; it is in a Markdown fence, which fenced=true removes" if fence and not fenced else ""
            return Failure(f"the response is not JSON: {reason(error)}{hint}")


@dataclass(frozen=True)
class ValidJson(_JsonResponse):
    """1 if the whole response is one JSON value, otherwise 0.

    The value may be of any type, also a bare number; use ``json_schema`` to require an object. NaN and
    Infinity, a key twice in one object, and more than 100 levels fail. White space around the value is
    allowed, other text is not.

    Attributes:
        fenced: whether the value may be in a Markdown code fence.

    References: RFC 8259.

    >>> from sgi.types import Sample
    >>> ValidJson().failure(Sample(id="1", response='{"year": 1889')).reason
    "the response is not JSON: Expecting ',' delimiter: line 1 column 14 (char 13)"
    """

    fenced: bool = False
    spec: ClassVar = assertion_spec("valid_json")

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure if the response is not JSON."""
        value = self._read(sample, fenced=self.fenced)
        return value if isinstance(value, Failure) else None


@closed
class SchemaDetails(AssertionDetails, total=False):
    """Why the assertion fails.

    Attributes:
        path: where the first error is in the response, as a JSON pointer; empty for the whole value.
        rule: the rule of the schema that the response breaks, as a JSON pointer.
    """

    path: str
    rule: str


@dataclass(frozen=True)
class JsonSchema(_JsonResponse):
    """1 if the whole response is one JSON value that follows a JSON schema, otherwise 0.

    The response is read as for ``valid_json``. Drafts 4 to 2020-12 are known; without ``$schema``, 2020-12
    applies. ``pattern`` takes linear time and has no look-around. ``format`` is checked only where the draft
    says so, which 2020-12 does not. A ``$ref`` may name a part of the schema only: nothing is ever fetched.
    It needs the extra ``json-schema``. The details have the place of the first error.

    Attributes:
        schema: the schema, as JSON text or as an object.
        fenced: whether the value may be in a Markdown code fence.

    References: JSON Schema, draft 2020-12.

    >>> from sgi.types import Sample
    >>> metric = JsonSchema({"items": {"type": "integer"}})
    >>> metric.schema
    '{"items":{"type":"integer"}}'
    >>> failure = metric.failure(Sample(id="1", response='[1889, "1890"]'))
    >>> failure.reason, failure.details["path"]
    ('"1890" is not of type "integer"', '/1')
    """

    schema: str
    fenced: bool = False
    spec: ClassVar = assertion_spec("json_schema", details=SchemaDetails)
    example: ClassVar = 'json_schema(schema="{\\"type\\":\\"object\\"}")'

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", canonical_schema(self.schema))
        schema_check(self.schema)

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure with the place of the first error."""
        value = self._read(sample, fenced=self.fenced)
        return value if isinstance(value, Failure) else schema_check(self.schema)(value)


def canonical_schema(schema: str | Mapping[str, object] | bool) -> str:
    """Return a schema as JSON text, with sorted keys and without white space.

    Raises:
        TypeError: it is neither a text nor an object.
        ValueError: it is not JSON, too long, or nested too deeply.
    """
    if not isinstance(schema, (str, Mapping, bool)):
        raise TypeError(f"schema must be JSON text or an object, not {schema!r}")
    try:
        value = read_json(schema) if isinstance(schema, str) else schema
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except PARSER_ERRORS as error:
        raise ValueError(f"schema is not JSON: {reason(error)}") from error
    if len(text) > MAX_SCHEMA:
        raise ValueError(f"schema has {len(text):,} characters; at most {MAX_SCHEMA:,} are allowed")
    try:
        read_json(text)
    except ValueError as error:
        raise ValueError(f"schema is not valid: {reason(error)}") from None
    return text


@lru_cache(maxsize=64)
def schema_check(schema: str) -> Callable[[Any], Failure | None]:
    """Return a function that returns the first error of a JSON value, or None.

    Raises:
        ValueError: the schema is not valid, refers to another document or to itself without an end, or takes
            too much work.
        MissingExtraError: the extra ``json-schema`` is not installed.
    """
    try:
        from jsonschema_rs import RegexOptions, ValidationError, validator_for
    except ImportError:
        raise MissingExtraError("A JSON schema", "json-schema") from None
    graph = SchemaGraph(json.loads(schema))
    try:
        validator = validator_for(schema, offline=True, pattern_options=RegexOptions())
    except ValidationError as error:
        place = f" at {pointer(error.instance_path)}" if error.instance_path else ""
        raise ValueError(f"the schema has an error{place}: {quote(error.message)}") from None
    except ValueError as error:
        raise ValueError(f"the schema has an error: {quote(str(error))}") from None

    if graph.unresolved:
        raise ValueError(
            f"the schema has an error: the reference {quote(graph.unresolved[0])!r} points to nothing in it"
        )

    def first_error(value: object) -> Failure | None:
        steps = Steps(0, 0) if graph.is_small else graph.steps(value)
        if steps.total > MAX_STEPS:
            return Failure(f"the response cannot be checked: the schema takes more than {MAX_STEPS:,} steps")
        try:
            if steps.repeated > _MAX_REPEATED:
                return None if validator.is_valid(value) else Failure(_NO_PLACE)
            validator.validate(value)
        except ValidationError as error:
            details = {"path": pointer(error.instance_path), "rule": pointer(error.schema_path)}
            return Failure(quote(error.message), details)
        except PARSER_ERRORS as error:
            return Failure(f"the response cannot be checked: {reason(error)}")
        return None

    return first_error


def pointer(path: Iterable[str | int]) -> str:
    """Return a path as a JSON pointer (RFC 6901).

    >>> pointer(["a/b", 0])
    '/a~1b/0'
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


_KEY = "schema_file"
_MAX_FILE = 500_000
_HINT = "Name a JSON file beside the definitions. A schema is never fetched."


def with_schemas(table: Any, folder: Path | None, place: str) -> Any:
    """Return a table with the schema of its file in place of ``schema_file``; other values unchanged.

    Args:
        table: the values of a definition.
        folder: the folder of the file of definitions; None if they are not from a file.
        place: where the definition is, for errors.

    Raises:
        UsageError: the file cannot be read, or is not a JSON schema; the message names the file and the line.
    """
    if not isinstance(table, Mapping) or _KEY not in table:
        return table
    where, name = f"{place}: {_KEY}", table[_KEY]
    if folder is None:
        raise UsageError(
            f"{where}: this key is only allowed in a file of definitions.", hint="Write schema = {…} instead."
        )
    if "schema" in table:
        raise UsageError(f"{where}: `schema` is set, too.", hint="Leave out one of them.")
    if not isinstance(name, str) or not name.isprintable():
        raise UsageError(f"{where}: expected the name of a file.", hint=_HINT)
    path = folder / name
    if not path.is_file():
        raise UsageError(f"{where}: {path} is not a file.", hint=_HINT)
    return {**{key: value for key, value in table.items() if key != _KEY}, "schema": _schema(path)}


def _schema(path: Path) -> str:
    """Return the schema of a file, as canonical JSON text."""
    try:
        text = read_whole(path, error=UsageError, most=_MAX_FILE).decode("utf-8-sig")
        schema = canonical_schema(text)
        schema_check(schema)
    except PARSER_ERRORS as error:
        cause = error.__cause__ or error
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        raise placed_error(UsageError, reason(error), str(path), line) from error
    return schema
