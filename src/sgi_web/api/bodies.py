"""Reads and validates request bodies, and bounds the work of ``POST /score``."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import anyio.to_thread
import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.metric import AnyMetric
from sgi.kernel.registry import resolve
from sgi.kernel.sample import Batch, Sample
from sgi.service.scorer import allowed_metrics
from sgi_web.api.api_models import Row, ScoreRequest

T = TypeVar("T", bound=BaseModel)

MAX_TEXTS = 4096
"""The maximum number of texts to embed in one call; each window of a long text counts. At 41 tokens each, the
bundled model needs 58 s of CPU time.
"""

MAX_COMPARED = 20_000_000_000
"""The maximum number of pairs of characters (response × reference, over all metrics) for one call; the
slowest metric compares 30 billion pairs per second.
"""

_TEXT = 160  # characters of a usual text of 41 tokens
_WINDOW = 1000  # bytes of UTF-8 of 256 tokens, the limit of the bundled model
_LONG = 8192  # characters; calls with fewer are accepted without counting the texts
_FEW = 64  # texts; likewise
_SHOWN = 100


class ScoreInput(NamedTuple):
    """Validated input of ``POST /score``."""

    samples: tuple[Sample, ...]
    metrics: tuple[AnyMetric, ...]
    details: bool


async def read_body(request: Request) -> bytes:
    """Return the body. Raises HTTPException 415 if its type is not JSON, and 413 if it is too large."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body must be JSON: send Content-Type: application/json.")
    return await request.body()


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
    metrics = allowed_metrics(samples) if request.metrics is None else _resolve(tuple(request.metrics))
    return ScoreInput(samples, metrics, request.details)


@lru_cache(64)
def _resolve(names: tuple[str, ...]) -> tuple[AnyMetric, ...]:
    """Return the metrics; clients repeat the same few names."""
    return resolve(names)


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
    """Return the first validation error of a body, with row, id and field."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    place = details[0]["loc"]
    of_row = place[:1] == ("rows",) and len(place) > 1
    depth = 3 if of_row else 1
    of_field = [detail for detail in details if detail["loc"][:depth] == place[:depth]]
    # A field can have several types: report the error of the one that matches furthest.
    deepest = max(of_field, key=lambda detail: len(detail["loc"]))
    name, below = place[depth - 1 : depth], deepest["loc"][depth:]
    text = deepest["msg"][0].lower() + deepest["msg"][1:]
    row = int(place[1]) if of_row else None
    return DataError(
        f"text {below[-1] + 1}: {text}" if below and isinstance(below[-1], int) else text,
        line=None if row is None else row + 1,
        sample_id=None if row is None else _id_of(body["rows"][row]),
        field=str(name[0])[:_SHOWN] if name else None,
    )


def _id_of(row: object) -> str | None:
    name = row.get("id") if isinstance(row, dict) else None
    return str(name)[:_SHOWN] if isinstance(name, (str, int)) and not isinstance(name, bool) else None


async def check_size(samples: Sequence[Sample], metrics: Sequence[AnyMetric]) -> None:
    """Raise a UsageError if the rows have too many texts to embed, or too much text to compare."""
    texts = [
        text
        for sample in samples
        for text in (sample.question, *sample.contexts, sample.response, *sample.references)
    ]
    compared = sum(len(row.response) * sum(map(len, row.references)) for row in samples) * len(metrics)
    if compared > MAX_COMPARED:
        message = f"These rows need {compared:,} character comparisons; the limit is {MAX_COMPARED:,}."
        raise UsageError(message, hint="Give fewer rows, metrics or references, or shorter ones.")
    if len(texts) < _FEW and sum(map(len, texts)) < _LONG:
        return
    count = await anyio.to_thread.run_sync(_count_texts, Batch(tuple(samples)), metrics)
    if count > MAX_TEXTS:
        what = "texts to embed (each window of a long text counts)"
        message = f"These rows have {count:,} {what}; the limit is {MAX_TEXTS:,}."
        raise UsageError(message, hint="Give fewer or shorter rows, or use the metric sgi(sentences=false).")


def _count_texts(batch: Batch, metrics: Sequence[AnyMetric]) -> int:
    embedded_texts, token_texts = set[str](), set[str]()
    for metric in metrics:
        prepared = metric.prepare(batch.take(batch.present(metric.spec.needs).nonzero()[0]))
        embedded_texts.update(metric.vector_needs.texts(prepared) if metric.vector_needs else ())
        token_texts.update(metric.token_needs.token_texts(prepared) if metric.token_needs else ())
    lengths = [len(text.encode("utf-8", "surrogatepass")) for text in embedded_texts]
    windows = sum(max(1, -(-length // _WINDOW)) for length in lengths)
    return windows + sum(1 + len(text) // _TEXT for text in token_texts)
