"""Check each value of an export by its column, because the file may come from a third party."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from pydantic import ValidationError

from sgi.kernel.metric_column import MetricProvenance
from sgi.kernel.parsing import AnyText, Count, Finite, JsonObject, Rows, first_problem, validate
from sgi.kernel.sample_parts import Citation, Grade, Turn
from sgi.kernel.short_text import MAX_METRIC, MAX_NAME, as_name, name_problem
from sgi.store import schema
from sgi.store.bulk_rows import encode_json, encode_text
from sgi.store.run_names import checked_tags, require_run_name

if TYPE_CHECKING:
    from collections.abc import Callable

_Texts = list[AnyText]
_MODELS = (list[Citation], list[Turn])
_JSON: dict[str, Any] = {
    "samples.contexts": _Texts,
    "samples.alternatives": _Texts,
    "samples.metadata": JsonObject,
    "samples.context_ids": _Texts,
    "samples.context_scores": list[Finite],
    "samples.relevance": dict[AnyText, Grade],
    "samples.gold_passages": _Texts,
    "samples.citations": _MODELS[0],
    "samples.turns": _MODELS[1],
    "runs.spec": JsonObject,
    "runs.versions": dict[AnyText, AnyText],
    "runs.summary": JsonObject,
    "run_metrics.provenance": MetricProvenance,
    "batches.truncated": dict[AnyText, Rows],
    "batches.windowed": dict[AnyText, Rows],
    "batches.failures": dict[AnyText, AnyText],
    "answers.contexts": _Texts,
    "answers.context_ids": _Texts,
    "answers.context_scores": list[Finite],
    "details.body": JsonObject,
    "evidence.body": JsonObject,
    "audits.body": JsonObject,
}
_TIMES = {
    "datasets.created_at",
    "runs.created_at",
    "runs.finished_at",
    "gates.decided_at",
    "audits.created_at",
    "trend_annotations.at",
}
_NAMES = {"runs.id": MAX_NAME, "run_metrics.metric": MAX_METRIC}


def column_reader(column: sa.Column[Any]) -> Callable[[Any], Any]:
    """Return a function that converts a value of the file for the driver; ValueError for a bad value."""
    name = f"{column.table.name}.{column.name}"
    if isinstance(column.type, sa.JSON):
        read: Callable[[Any], Any] = partial(_read_json, _JSON[name])
    elif column.type.python_type is str:
        read = partial(_read_text, name)
    else:
        kind = {int: _integer_kind(column), float: Finite, bool: bool}[column.type.python_type]
        read = partial(_read_plain, kind)
    return (lambda value: None if value is None else read(value)) if column.nullable else read


def _integer_kind(column: sa.Column[Any]) -> Any:
    """Return the range of a column: ids of rows and counts are not negative; hashes of clusters may be."""
    if column is schema.samples.c.cluster:
        return int
    return Count if isinstance(column.type, sa.BigInteger) or column.name in {"id", "metric"} else Rows


def _read_plain(kind: Any, value: Any) -> Any:
    if kind in {bool, int}:
        if type(value) is not kind:
            raise ValueError(f"it is not {'true or false' if kind is bool else 'a whole number'}")
        if kind is int:
            value.to_bytes(8, "big", signed=True)  # OverflowError, which is an ArithmeticError
        return value
    return _validate(kind, value)


def _read_json(kind: Any, value: Any) -> str:
    checked = _validate(kind, value)
    if kind is MetricProvenance:
        checked = asdict(checked)
    if kind in _MODELS:
        checked = [part.model_dump(exclude_none=True) for part in checked]
    return encode_json(checked)


def _read_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not a text")
    if name in _TIMES:
        datetime.fromisoformat(value)
    elif name in _NAMES and (reason := name_problem(value, longest=_NAMES[name])):
        raise ValueError(reason)
    elif name == "runs.name":
        require_run_name(value)
    elif name == "datasets.name":
        return encode_text(as_name(value))
    elif name == "run_tags.tag" and checked_tags([value]) != (value,):
        raise ValueError("it is not a tag")
    return encode_text(value)


def _validate(kind: Any, value: Any) -> Any:
    try:
        return validate(kind, value)
    except ValidationError as errors:
        raise ValueError(first_problem(errors)) from errors
