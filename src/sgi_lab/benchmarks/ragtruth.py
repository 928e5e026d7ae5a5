"""RAGTruth: answers, summaries and descriptions by six models, with human annotations of hallucinations."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from sgi.io import coercion as cells
from sgi.io.files import file_rows, require_rows
from sgi.io.raw_rows import with_place
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_lab.benchmarks.base import BenchmarkRows, other_columns, own_rows, read_field, wrong_format_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.io.raw_rows import RawRow

TASK_TYPES = ("QA", "Summary", "Data2txt")
SPLITS = ("train", "test")
RESPONSES = "response.jsonl"
_SOURCES = "source_info.jsonl"
_HEADING = re.compile(r"(?:^|\n)[ \t]*passage (\d{1,4}):")


def ragtruth(path: Path, task_type: str | None = None, split: str | None = None) -> BenchmarkRows:
    """Read RAGTruth: a folder with ``response.jsonl`` and ``source_info.jsonl``, or a file in SGI's columns.

    The label is true if no span of a response is annotated. The spans stay in the metadata, with
    ``task_type``, ``split``, ``source``, ``source_id``, ``model``, ``temperature`` and ``quality`` (the
    authors score only rows of "good" quality; this function reads all). The context is the separate passages
    of QA, the article of a summary, or the data as JSON. Only QA has a question. Ids are the published ones.
    Rows that share a ``source_id`` are not independent. ``task_type`` selects ``QA``, ``Summary`` or
    ``Data2txt``, ``split`` selects ``train`` or ``test``. Sources are kept in memory, responses are not.

    References: Niu et al. (2024), RAGTruth, arXiv:2401.00396.
    """
    options = {"task_type": task_type, "split": split}
    choice = {key: value for key, value in options.items() if value is not None}
    if not path.is_dir():
        return BenchmarkRows(path, file_rows(path), partial(_own, choice))
    file = path / RESPONSES
    sources: dict[str, dict[str, Any]] = {}
    return BenchmarkRows(file, _responses(file, sources), partial(_published_rows, sources, choice))


def _responses(file: Path, sources: dict[str, dict[str, Any]]) -> Iterator[RawRow]:
    """Yield the responses. The sources are read first; an error in them stops the reading."""
    path = file.with_name(_SOURCES)
    for row in require_rows(file_rows(path), str(path)):
        try:
            _add_source(sources, row.values)
        except DataError as error:
            raise with_place(error, file=str(path), line=row.line, sample_id=error.sample_id) from None
    yield from file_rows(file)


def _add_source(sources: dict[str, dict[str, Any]], values: Any) -> None:
    if isinstance(values, DataError):
        raise values
    name = read_field(values, "source_id", raw_values.as_id)
    if name in sources:
        raise DataError("another line has the same source", sample_id=name, field="source_id")
    info = read_field(values, "source_info", lambda value: value)
    metadata = {key: values[key] for key in ("task_type", "source") if key in values}
    sources[name] = {**_material(info), "metadata": metadata}


def _material(info: Any) -> dict[str, Any]:
    if isinstance(info, str):
        return {"context": info}
    if isinstance(info, dict) and "passages" in info:
        return {"question": read_field(info, "question"), "contexts": _passages(read_field(info, "passages"))}
    if isinstance(info, dict):
        return {"context": orjson.dumps(cells.as_json(info)).decode()}
    raise DataError(f"expected text or an object, found {raw_values.describe(info)}", field="source_info")


def _passages(text: str) -> tuple[str, ...]:
    """Split at the headings ``passage 1:``, …; only the next number counts, since passages quote headings."""
    headings: list[re.Match[str]] = []
    for heading in _HEADING.finditer(text):
        if int(heading[1]) == len(headings) + 1:
            headings.append(heading)
    if not headings or text[: headings[0].start()].strip():
        return (text,)
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return tuple(text[heading.end() : end].strip() for heading, end in zip(headings, ends, strict=True))


def _published_rows(
    sources: Mapping[str, dict[str, Any]], choice: Mapping[str, str], values: Mapping[str, Any], _: int
) -> list[Mapping[str, Any]]:
    if not {"id", "source_id", "labels", "response"} <= values.keys():
        raise wrong_format_error("RAGTruth", "id, source_id, labels and response")
    name = read_field(values, "id", raw_values.as_id)
    try:
        number, source = _source_of(sources, values)
        spans = read_field(values, "labels", _spans)
        response = read_field(values, "response")
    except DataError as error:
        raise with_place(error, sample_id=name) from None
    metadata = {
        "source_id": number,
        **other_columns(values, "id", "source_id", "labels", "response"),
        "spans": spans,
    }
    row = {**source, "id": name, "response": response, "label": not spans}
    return _select(choice, {**row, "metadata": {**source["metadata"], **metadata}})


def _source_of(
    sources: Mapping[str, dict[str, Any]], values: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    number = read_field(values, "source_id", raw_values.as_id)
    if number not in sources:
        raise DataError(f"{number!r} is not in {_SOURCES}", field="source_id")
    return number, sources[number]


def _own(choice: Mapping[str, str], values: Mapping[str, Any], _: int) -> list[Mapping[str, Any]]:
    if "source_id" in values and "labels" in values:
        hint = f"Name the folder that holds {RESPONSES} and {_SOURCES}."
        raise DataError(f"the response needs its source in {_SOURCES}", field="source_id", hint=hint)
    return _select(choice, *own_rows(values, "RAGTruth", "id, source_id, labels and response"))


def _select(choice: Mapping[str, str], row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    metadata = row.get("metadata", row.get("meta"))
    for key in choice:
        if not isinstance(metadata, dict) or key not in metadata:
            raise DataError(f"the row has no {key}, by which rows are selected", field="metadata")
    return [row] if all(metadata[key] == value for key, value in choice.items()) else []


def _spans(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(span, dict) for span in value):
        raise DataError(f"expected a list of spans, found {raw_values.describe(value)}")
    return value
