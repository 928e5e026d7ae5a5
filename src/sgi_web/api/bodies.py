"""Reads and validates request bodies."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from sgi.kernel.errors import DataError
from sgi.kernel.metric import AnyMetric
from sgi.kernel.registry import resolve
from sgi.kernel.sample import Sample
from sgi.service.scorer import allowed_metrics
from sgi_web.api.errors import body_error
from sgi_web.api.models import Row, ScoreRequest

T = TypeVar("T", bound=BaseModel)

BODY_LIMIT = 8 << 20
"""Maximum bytes of a request body."""


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
        raise body_error(error, values) from None


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
