"""Reads and validates request bodies."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from sgi.io.column_names import NAMES
from sgi.kernel.errors import DataError
from sgi.kernel.metric import AnyMetric
from sgi.kernel.raw_values import describe
from sgi.kernel.registry import resolve
from sgi.kernel.sample import Sample
from sgi.service.scorer import allowed_metrics
from sgi_web.api.models import Row, ScoreRequest

T = TypeVar("T", bound=BaseModel)

BODY_LIMIT = 8 << 20
"""Maximum bytes of a request body."""
_SHOWN = 100
_EXPECTED = {
    "string_type": "text",
    "list_type": "a list",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "int_type": "a whole number",
}
_MESSAGES = {
    "extra_forbidden": "unknown field",
    "missing": "required field is missing",
    "recursion_loop": "nested too deeply",
    "string_pattern_mismatch": "must not be blank",
}


class ScoreInput(NamedTuple):
    """Validated input of ``POST /score``."""

    samples: tuple[Sample, ...]
    metrics: tuple[AnyMetric, ...]
    details: bool


async def read_body(request: Request) -> bytes:
    """Read the body and count its bytes, regardless of the headers.

    Raises:
        HTTPException: 413 if it is too large; 415 if its type is not JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body must be JSON: send Content-Type: application/json.")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_LIMIT:
            raise HTTPException(413, f"The body exceeds {BODY_LIMIT >> 20} MB. Send fewer rows per request.")
        parts.append(part)
    return b"".join(parts)


def read_model(body: bytes, model: type[T]) -> T:
    """Parse and validate the body.

    Raises:
        DataError: it is not JSON or does not match the model; the message says where.
    """
    try:
        values = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        message = f"invalid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        raise DataError(message, hint="The body must be UTF-8 JSON without NaN or lone surrogates.") from None
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _body_error(error, values) from None


def read_score_request(body: bytes) -> ScoreInput:
    """Parse the rows and metrics of a request.

    Raises:
        DataError: a row is invalid; the message names row, id and field.
        UsageError: a metric is unknown or given twice, or no default metric has its fields.
    """
    request = read_model(body, ScoreRequest)
    samples = _samples(request.rows)
    metrics = allowed_metrics(samples) if request.metrics is None else resolve(request.metrics)
    return ScoreInput(samples, metrics, request.details)


def _samples(rows: Sequence[Row]) -> tuple[Sample, ...]:
    row_of_id: dict[str, int] = {}
    samples = []
    for number, row in enumerate(rows, 1):
        name = str(number) if row.id is None else str(row.id)
        if name in row_of_id:
            message = f"duplicate id: row {row_of_id[name]} has the same one"
            hint = "Ids must be unique. The default id of a row is its number."
            raise DataError(message, line=number, sample_id=name, field="id", hint=hint)
        row_of_id[name] = number
        values = row.model_dump(exclude_none=True) | {"id": name}
        try:
            samples.append(Sample.from_row(values))
        except DataError as error:
            raise DataError(error.message, line=number, sample_id=name, field=error.field) from None
    return tuple(samples)


def _body_error(error: ValidationError, body: Any) -> DataError:
    """Return the first validation error of a body in plain words, with row, id and field."""
    details = error.errors(include_url=False, include_context=False)
    place = details[0]["loc"]
    of_row = place[:1] == ("rows",) and len(place) > 1
    depth = 3 if of_row else 1
    of_field = [detail for detail in details if detail["loc"][:depth] == place[:depth]]
    # A field can have several types: report the error of the one that matches furthest.
    deepest = max(of_field, key=lambda detail: (len(detail["loc"]), detail["type"] not in _EXPECTED))
    name = place[depth - 1 : depth]
    row = int(place[1]) if of_row else None
    return DataError(
        _description(deepest, depth),
        line=None if row is None else row + 1,
        sample_id=None if row is None else _id_of(body["rows"][row]),
        field=str(name[0])[:_SHOWN] if name else None,
        hint=_field_name_hint(str(name[0]))
        if of_row and name and deepest["type"] == "extra_forbidden"
        else "",
    )


def _field_name_hint(name: str) -> str:
    """Suggest the API field for a column name that files may use."""
    fields = [field for field, names in NAMES.items() if name.casefold() in names]
    return f"Use the name {fields[0]}." if fields else ""


def _description(error: ErrorDetails, depth: int) -> str:
    """Return the text of one validation error."""
    kind = error["type"]
    text = _MESSAGES.get(kind) or error["msg"][0].lower() + error["msg"][1:]
    if kind in _EXPECTED:
        text = f"expected {_EXPECTED[kind]}, found {describe(error['input'])}"
    below = error["loc"][depth:]
    return f"text {below[-1] + 1}: {text}" if below and isinstance(below[-1], int) else text


def _id_of(row: Any) -> str | None:
    name = row.get("id") if isinstance(row, dict) else None
    return str(name)[:_SHOWN] if isinstance(name, (str, int)) and not isinstance(name, bool) else None
