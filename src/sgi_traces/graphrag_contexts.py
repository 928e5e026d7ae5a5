"""Read what GraphRAG and similar tools retrieved: reports, entities, relationships, claims and sources.

The forms are those of graphrag 3.3 (data frames as ``to_dict`` and ``to_json`` write them), lightrag-hku 1.5,
nano-graphrag 0.0.8, fast-graphrag 0.0.5 and benchmark-qed 0.4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.trace_records import cell_value, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Row = Mapping[str, Any]

_TABLES = {
    "report": ("reports", "community_reports"),
    "entity": ("entities",),
    "relationship": ("relationships", "relations"),
    "claim": ("claims", "covariates"),
    "source": ("sources", "text_units", "chunks"),
}
"""Kinds of passages in the order in which a row has them, and the names of their tables."""
_KINDS = {name: kind for kind, names in _TABLES.items() for name in names}
_NO_PASSAGES = {"references", "conversation_history"}
"""Further tables: the files of LightRAG's sources, and earlier questions."""
_ID = {"source": ("id", "chunk_id", "source_id")}
_BODY = {
    "report": ("content", "full_content", "summary"),
    "source": ("text", "content", "source_text"),
}
_SUBJECT = ("entity", "entity_name", "name", "title", "subject_id")
_ENDS = (("source", "src_id", "entity1"), ("target", "tgt_id", "entity2"))
_COLUMNS = {
    "description",
    "in_context",
    *_ID["source"],
    *_BODY["report"],
    *_BODY["source"],
    *_SUBJECT,
    *_ENDS[0],
}
_MAX_DEPTH = 2
_SHOWN = 60

_HEADS = (
    r"-----(Reports|Entities|Relationships|Sources)-----|Knowledge Graph Data \((\w+)\)|(Document Chunks) \("
)
_SECTION = re.compile(rf"^(?:{_HEADS})[^\n]*\n+```(csv|json)\n", re.MULTILINE)
_LIGHTRAG = {"Entity": "entities", "Relationship": "relationships", "Document Chunks": "chunks"}
_CELLS = ",\t"
_SEPARATOR = "<SEP>"
"""What LightRAG and nano-graphrag write between the descriptions of one entity from several sources."""


class Passages(NamedTuple):
    """The passages of a row.

    Attributes:
        texts: the passages.
        ids: their ids, ``KIND:ID``.
        left_out: how many rows were not given to the model.
        files: the sources of each file by the number that LightRAG cites, its ``reference_id``.
    """

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    left_out: int
    files: Mapping[str, Sequence[str]]


def read_passages(value: object, field: str) -> Passages:
    """Return the passages of all tables: reports, entities, relationships, claims, then sources.

    A passage without an id has its position in its kind, from 1. A passage that several searches found is
    kept once. Rows with ``in_context`` false were not given to the model, and are only counted. Raises
    DataError with the field for tables of other forms and unknown kinds.

    >>> read_passages({"sources": [{"id": "3", "text": "It was she."}], "Entities": [{"entity": "SHE"}]}, "c")
    Passages(texts=('SHE', 'It was she.'), ids=('entity:1', 'source:3'), left_out=0, files={})
    """
    texts: dict[str, str] = {}
    positions = dict.fromkeys(_TABLES, 0)
    order, left_out, files = [*_TABLES], 0, dict[str, list[str]]()
    for kind, where, row in sorted(_rows(value, field), key=lambda item: order.index(item[0])):
        positions[kind] += 1
        try:
            name, text = f"{kind}:{_id(kind, row) or positions[kind]}", _text(kind, row)
        except DataError as error:
            place = f"{where}.{error.field}" if error.field else where
            raise DataError(f"{kind} {positions[kind]}: {error.message}", field=place) from None
        if _is_left_out(row, where):
            left_out += 1
        elif texts.setdefault(name, text) != text:
            raise DataError(f"the id {name[:_SHOWN]!r} has two different texts", field=where)
        elif kind == "source" and not raw_values.is_absent(row.get("reference_id")):
            files.setdefault(str(row["reference_id"]), []).append(name)
    return Passages(tuple(texts.values()), tuple(texts), left_out, files)


def read_chunks(value: object, field: str) -> Passages:
    """Return the passages of a list of chunks, which benchmark-qed writes whatever else a model was given.

    Their ids have no kind: whether a report that the answer cites exists is then unknown, not false.

    >>> read_chunks([{"chunk_id": "9", "text": "It was she."}], "context").ids
    ('9',)
    """
    passages = read_passages({"sources": value}, field)
    return passages._replace(ids=tuple(name.removeprefix("source:") for name in passages.ids))


def _is_left_out(row: Row, where: str) -> bool:
    """Return whether a row was not given to the model. Raises DataError with the field for other values."""
    given = row.get("in_context", True)
    if raw_values.is_absent(given) or isinstance(given, bool):
        return given is False
    if str(given).casefold() not in ("true", "false", "0", "1"):
        problem = f"expected true or false, found {raw_values.describe(given)}"
        raise DataError(problem, field=f"{where}.in_context")
    return str(given).casefold() in ("false", "0")


def has_tables(value: object, depth: int = 0) -> bool:
    """Return whether a value has a table with a known name, also one level deeper.

    >>> has_tables({"reports": []}), has_tables({"Who?": {"sources": []}}), has_tables({"pages": 3})
    (True, True, False)
    """
    value = cell_value(value)
    if isinstance(value, dict) and any(map(_kind, value)):
        return True
    items = value[:1] if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return depth < _MAX_DEPTH and any(has_tables(item, depth + 1) for item in items)


def is_text_context(text: str) -> bool:
    """Return whether a text has the tables that nano-graphrag and LightRAG give to the model."""
    return _SECTION.match(text.lstrip()) is not None


def _kind(name: object) -> str | None:
    return _KINDS.get(str(name).casefold())


def _rows(value: object, field: str, depth: int = 0) -> Iterator[tuple[str, str, Row]]:
    """Yield the kind, the field and the row of each passage."""
    value = cell_value(value)
    if isinstance(value, str):
        value = _tables_of_text(value, field)
    if isinstance(value, list):
        value = {str(number): item for number, item in enumerate(value)}
    if not isinstance(value, dict):
        raise DataError(f"expected an object of tables, found {raw_values.describe(value)}", field=field)
    for name, table in value.items():
        where = f"{field}.{str(name)[:_SHOWN]}"
        if kind := _kind(name):
            yield from ((kind, where, row) for row in _table(table, where))
        elif str(name).casefold().replace(" ", "_") in _NO_PASSAGES:
            continue
        elif depth < _MAX_DEPTH and has_tables(table, depth + 1):
            yield from _rows(table, where, depth + 1)
        else:
            known = f"The known tables are {', '.join(_KINDS)}."
            raise DataError("is not a known table of passages", field=where, hint=known)


def _table(table: object, where: str) -> list[Row]:
    """Return the rows of a table: a list of objects, columns, or what ``DataFrame.to_dict`` returns."""
    table = cell_value(table)
    if raw_values.is_absent(table):
        return []
    if isinstance(table, dict):
        table = _rows_of_columns(table)
    if not isinstance(table, list):
        expected = "expected a table: a list of objects, or columns"
        hint = "Write a data frame with frame.to_dict('records')."
        raise DataError(f"{expected}, found {raw_values.describe(table)}", field=where, hint=hint)
    rows: list[Row] = []
    for number, row in enumerate(table, 1):
        item = row[0] if isinstance(row, list) and row else row  # with its score in fast-graphrag
        if not isinstance(item, dict):
            problem = f"row {number}: expected an object, found {raw_values.describe(item)}"
            raise DataError(problem, field=where)
        rows.append(item)
    return rows


def _rows_of_columns(table: dict[str, Any]) -> object:
    """Return the rows of columns; the value itself if it has another form."""
    if {"columns", "data"} <= table.keys():  # the orientations "split" and "tight"
        names, rows = table["columns"], table["data"]
        lists = [names, rows, *rows] if isinstance(rows, list) else [None]
        if not all(isinstance(item, list) for item in lists) or any(len(row) != len(names) for row in rows):
            return table
        return [dict(zip(map(str, names), row, strict=True)) for row in rows]
    columns = list(table.values())
    if all(isinstance(column, list) for column in columns) and len(set(map(len, columns))) <= 1:
        return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]
    if not all(isinstance(column, dict) for column in columns):
        return table
    if not _COLUMNS & table.keys():  # the orientation "index": the objects are rows
        return columns
    indexes = dict.fromkeys(index for column in columns for index in column)
    return [{name: column.get(index) for name, column in table.items()} for index in indexes]


def _first(row: Row, names: tuple[str, ...]) -> str:
    """Return the first text that is not blank; empty if there is none."""
    texts = (str(read(row, name) or "").replace(_SEPARATOR, "\n") for name in names)
    return next((text for text in texts if text.strip()), "")


def _id(kind: str, row: Row) -> str:
    values = (row.get(name) for name in _ID.get(kind, ("id",)))
    given = next((value for value in values if not raw_values.is_absent(value) and value != ""), "")
    return raw_values.as_plain_id(given) if given != "" else ""


def _text(kind: str, row: Row) -> str:
    body = _first(row, _BODY.get(kind, ("description",)))
    if kind == "source":
        head = ""
    elif kind == "relationship":
        head = " – ".join(filter(None, (_first(row, names) for names in _ENDS)))
    else:
        head = _first(row, ("title",) if kind == "report" else _SUBJECT)
    if not (head or body):
        columns = ", ".join(map(str, row)) or "no columns"
        raise DataError(f"has no text; its columns are {columns[:200]}")
    if kind == "report":  # the content of a report begins with its title
        return body if head in body.partition("\n")[0] else f"{head}\n{body}".strip()
    return ": ".join(filter(None, (head, body)))


def _tables_of_text(text: str, field: str) -> dict[str, object]:
    """Return the tables of a text for the model, in the forms of nano-graphrag 0.0.8 and LightRAG 1.5."""
    found = [*_SECTION.finditer(text)]
    if not found:
        expected = "expected the tables of nano-graphrag 0.0.8 or LightRAG 1.5"
        raise DataError(f"{expected}, found {raw_values.describe(text)}", field=field)
    tables: dict[str, object] = {}
    for section, end in zip(found, [*(section.start() for section in found[1:]), len(text)], strict=True):
        name, body = next(filter(None, section.groups())), text[section.end() : end]
        try:
            rows = _csv_rows(body) if section[4] == "csv" else _json_rows(body)
            tables[_LIGHTRAG.get(name, name)] = rows
        except ValueError as error:
            raise DataError(f"its table cannot be read: {error}", field=f"{field}.{name}") from None
    return tables


def _json_rows(body: str) -> list[object]:
    return [orjson.loads(line) for line in body.partition("\n```")[0].split("\n") if line.strip()]


def _csv_rows(body: str) -> list[object]:
    """Return the rows of nano-graphrag's CSV, which escapes neither quotes nor line ends in a text."""
    header, _, rest = body.rstrip().removesuffix("```").rstrip().partition("\n")
    names = [name.strip('"') for name in header.split(_CELLS)]
    long = next((place for place, name in enumerate(names) if name in {"description", "content"}), 0)
    after = len(names) - long - 1
    rows: list[object] = []
    for line in re.split(r"\n(?=\d+,\t)", rest) if rest else ():  # a row begins with its number
        cells = line.split(_CELLS)
        if not long or len(cells) < len(names):
            raise ValueError(f"expected {', '.join(names)[:_SHOWN]}, found {line[:_SHOWN]!r}")
        text = _CELLS.join(cells[long : len(cells) - after])
        values = [*cells[:long], text, *cells[len(cells) - after :]]
        rows.append(dict(zip(names, (value.strip('"') for value in values), strict=True)))
    return rows
