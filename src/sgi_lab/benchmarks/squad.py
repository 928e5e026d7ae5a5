"""SQuAD and similar data: questions on paragraphs, with the accepted answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sgi.io import coercion as cells
from sgi.io.files import file_rows
from sgi.io.raw_rows import RawRow, with_place
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi.kernel.parsing import read_json
from sgi_lab.benchmarks.base import BenchmarkRows, other_columns, own_rows, read_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


def squad(path: Path, predictions: Path | None = None) -> BenchmarkRows:
    """Read SQuAD v1.1 and v2: ``data`` → ``paragraphs`` → ``qas`` with ``id``, ``question``, ``answers``.

    The paragraph is the context, the first answer the reference and the other distinct ones its
    alternatives; ids are the published ones. A question without an answer (v2) has an empty reference, as in
    the official scoring. Responses come from ``predictions``, a JSON file {id: answer}. The file is read as
    a whole; messages give the line of the article.

    References: Rajpurkar et al. (2016), SQuAD, arXiv:1606.05250; Rajpurkar et al. (2018), arXiv:1806.03822.
    """
    given = {} if predictions is None else _predictions(predictions)
    return BenchmarkRows(path, _questions(file_rows(path)), partial(_row, given))


def _questions(articles: Iterable[RawRow]) -> Iterator[RawRow]:
    for article in articles:
        if isinstance(article.values, dict) and "paragraphs" in article.values:
            yield from _of_article(article.values, article.line)
        else:
            yield article


def _of_article(article: Mapping[str, Any], line: int) -> Iterator[RawRow]:
    shared = {"title": article["title"]} if "title" in article else {}
    try:
        for paragraph in _objects(article, "paragraphs"):
            context = read_field(paragraph, "context")
            for question in _objects(paragraph, "qas"):
                yield RawRow(line, {**question, "context": context, **shared})
    except DataError as error:
        yield RawRow(line, error, str(cells.any_json(article.get("title"))))


def _objects(values: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    items = values.get(key)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"expected a list of objects, found {raw_values.describe(items)}", field=key)
    return items


def _row(given: Mapping[str, str], values: Mapping[str, Any], _: int) -> list[Mapping[str, Any]]:
    if not {"id", "question", "context"} <= values.keys() or {"response", "reference"} & values.keys():
        return own_rows(values, "SQuAD", "data with paragraphs and qas")
    name = read_field(values, "id", raw_values.as_id)
    try:
        row = {"id": name} | {column: read_field(values, column) for column in ("question", "context")}
        if "answers" in values:
            row["reference"] = _answers(values["answers"]) or ("",)
    except DataError as error:
        raise with_place(error, sample_id=name) from None
    if name in given:
        row["response"] = given[name]
    others = other_columns(values, "id", "question", "context", "answers")
    return [{**row, "metadata": others}]


def _answers(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        texts = read_field(value, "text", cells.as_answers)
    else:
        texts = tuple(read_field(answer, "text") for answer in _objects({"answers": value}, "answers"))
    return tuple(dict.fromkeys(texts))


def _predictions(path: Path) -> dict[str, str]:
    answers = read_json(path, error=DataError)
    if not isinstance(answers, dict):
        message = f"expected an object, found {raw_values.describe(answers)}"
        raise DataError(message, file=str(path), hint="Predictions are one object: {id: answer, …}.")
    for name, answer in answers.items():
        if not isinstance(answer, str):
            message = f"expected text, found {raw_values.describe(answer)}"
            raise DataError(message, file=str(path), sample_id=name)
    return answers
