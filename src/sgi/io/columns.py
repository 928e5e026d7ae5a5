"""Detect which column of a table, or key of an object, holds which field of a sample."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sgi.io.column_names import IN_SECONDS, INVERTED, NAMES, TOTAL_TOKENS, WITHOUT_UNIT
from sgi.io.json_scan import LISTS
from sgi.io.mapping import clean_name, resolve
from sgi.io.printed_list import parse_printed, read_list
from sgi.kernel.errors import DataError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.io.mapping import Source

Pairs = tuple[tuple[str, str], ...]
"""A checked mapping: pairs of a field and its source (see `sgi.io.mapping`)."""

_SCORABLE = {"question", "contexts", "response", "reference", "alternatives"}
_RECOGNISED = {*_SCORABLE, "context_ids", "turns"}
"""A row must have a column for one of these fields."""
_JOINABLE = ("contexts", "reference", "alternatives", "gold_passages", "context_ids", "gold_ids")
_JSON = ("context_scores", "relevance", "citations", "turns", "context_ids", "gold_ids")
"""Fields whose cells in a table are JSON, also without texts, as ``[1, 2]``."""
_PAIRS = tuple((f"right_{word}", f"hallucinated_{word}") for word in ("answer", "response", "summary"))
_NO_COLUMNS: frozenset[str] = frozenset()
_SHOWN = 20
_COMPARED = 1000
"""Maximum number of columns that are compared with a misspelt name; each comparison is slow."""
_KNOWN = frozenset(known for names in NAMES.values() for known in names)
UNNAMED = "Unnamed: 0"
"""The column names that pandas gives to an index without a name when it reads a file."""
_STEP = re.compile(r"[^\s.,()=\[\]]+")
_INDEX = re.compile(rf"{UNNAMED}(\.\d+)?")


@dataclass(frozen=True)
class Plan:
    """The assignment of a row's columns to the fields of a sample.

    Attributes:
        fields: field → its column, or the text of the mapping if `composed` has the field.
        inverted: whether the label's column has the opposite meaning, as ``hallucination`` does.
        pair: the columns of the correct and the hallucinated answer, if a row holds both.
        spare: columns that go into the metadata.
        composed: field → the parts of its value, if the mapping joins several.
        unused: spare column → the field that it could have been.
        index: columns that hold a pandas index; they are ignored.
        in_seconds: whether the column of the latency holds seconds, by its name.
        without_unit: spare columns that could hold a latency, in an unknown unit.
        total_tokens: spare columns with the sum of the tokens of prompt and completion.
    """

    fields: Mapping[str, str]
    inverted: bool
    pair: tuple[str, str] | None
    spare: tuple[str, ...]
    composed: Mapping[str, tuple[Source, ...]] = field(default_factory=lambda: MappingProxyType({}))
    unused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    index: tuple[str, ...] = ()
    in_seconds: bool = False
    without_unit: tuple[str, ...] = ()
    total_tokens: tuple[str, ...] = ()

    def columns_of(self, name: str) -> tuple[str, ...]:
        """Return the columns that a field uses as a whole, not by a path inside them."""
        if name in self.composed:
            return tuple(source.column for source in self.composed[name] if not source.path)
        return (self.fields[name],) if name in self.fields else ()


def checked_mapping(columns: Mapping[str, str] | None) -> Pairs:
    """Check the user's mapping from fields to columns; return its pairs.

    Raises UnknownNameError for an unknown field, UsageError for an invalid column name.
    """
    pairs = tuple((columns or {}).items())
    for name, column in pairs:
        if name not in NAMES:
            near = tuple(difflib.get_close_matches(str(name), NAMES, n=2, cutoff=0.5))
            raise UnknownNameError("field", str(name), near, hint=f"The fields: {', '.join(NAMES)}.")
        if not isinstance(column, str):
            raise UsageError(f"The field {name!r} is mapped to {column!r}, which is not a column name.")
    return pairs


# Few key sets repeat over a whole file; a small cache keeps hostile files from filling the memory.
@lru_cache(maxsize=32)
def recognise(columns: tuple[str, ...], mapping: Pairs = (), null: frozenset[str] = _NO_COLUMNS) -> Plan:
    """Decide which of these columns becomes which field.

    A field with a mapping uses only that mapping. For other fields the first name in `NAMES` wins. Columns in
    ``null`` are empty: they are used only if no other column matches the field. Raises DataError (without
    file and line) if no column is recognised, or a name is not text.

    >>> plan = recognise(("Query", "answer", "source"))
    >>> dict(plan.fields), plan.spare
    ({'question': 'Query', 'response': 'answer'}, ('source',))
    """
    for column in columns:
        if not isinstance(column, str):
            raise DataError(
                f"a column's name must be text, found {column!r}", hint="Rename the column, or leave it out."
            )
    composed = _compose(columns, mapping)
    by_name = _by_name(columns)
    chosen: dict[str, str] = {}
    unused: dict[str, str] = {}
    for name, candidates in _candidates(columns, mapping).items():
        if name in composed:
            whole = len(composed[name]) == 1 and not composed[name][0].path
            chosen[name] = composed[name][0].column if whole else dict(mapping)[name]
        elif candidates:
            chosen[name] = next((column for column in candidates if column not in null), candidates[0])
            unused |= {column: name for column in candidates if column != chosen[name]}
    composed = {name: sources for name, sources in composed.items() if chosen[name] != sources[0].column}
    pair = None if {"response", "label"} & {*chosen, *dict(mapping)} else _pair(by_name)
    if not pair and not _RECOGNISED & chosen.keys():
        raise unrecognised_columns(columns, mapping)
    taken = {*chosen.values(), *(pair or ())}
    taken |= {source.column for sources in composed.values() for source in sources}
    index = tuple(column for column in columns if _INDEX.fullmatch(column) and column not in taken)
    return Plan(
        fields=chosen,
        inverted=_is_named(chosen.get("label"), INVERTED),
        pair=pair,
        spare=tuple(column for column in columns if column not in taken and column not in index),
        composed=composed,
        unused=unused,
        index=index,
        in_seconds=_is_named(chosen.get("latency_ms"), IN_SECONDS),
        without_unit=()
        if "latency_ms" in {*chosen, *dict(mapping)}
        else tuple(column for column in columns if column not in taken and _is_named(column, WITHOUT_UNIT)),
        total_tokens=()
        if {"prompt_tokens", "completion_tokens"} <= {*chosen, *dict(mapping)}
        else tuple(column for column in columns if column not in taken and _is_named(column, TOTAL_TOKENS)),
    )


def _is_named(source: str | None, names: tuple[str, ...]) -> bool:
    """Return whether the last part of a source, a column or a path, is one of the names."""
    return source is not None and _normal(source.rpartition(".")[2]) in names


def known_name(column: object) -> str | None:
    """Return the name in `NAMES` that equals a column's name without case, spaces and hyphens, or None."""
    name = _normal(column) if isinstance(column, str) else None
    return name if name in _KNOWN else None


@lru_cache(maxsize=32)
def ambiguous(columns: tuple[object, ...], mapping: Pairs) -> tuple[tuple[str, ...], ...]:
    """List, for each field that matches several columns, these columns in order of preference."""
    named = tuple(column for column in columns if isinstance(column, str))
    return tuple(matches for matches in _candidates(named, mapping).values() if len(matches) > 1)


def recognise_header(header: Sequence[str], mapping: Pairs | None) -> None:
    """Check the header of a table.

    Raises DataError (without file and line) if a name is blank or repeated, a mapped column is missing, or no
    column is recognised. ``mapping`` None checks only that names are neither blank nor repeated.
    """
    seen: set[str] = set()
    for position, column in enumerate(header, 1):
        if not str(column).strip():
            hint = (
                "Name the column, or leave it out. Only the first column may have no name, such as an index."
            )
            raise DataError(f"column {position} has no name", hint=hint)
        if column in seen:
            raise DataError(f"two columns are called {column[:60]!r}", hint="Rename one of them.")
        seen.add(column)
    if mapping is None:
        return
    missing = [
        part for _, text in mapping for part, source in resolve(text, header).items() if source is None
    ]
    missing_mapped(header, missing)
    recognise(tuple(header), mapping)


def missing_mapped(
    columns: Sequence[str], missing: Sequence[str], reasons: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raise a DataError for the first missing part of a mapping; ``reasons`` has the cause for each part."""
    for part in missing[:1]:
        if part in reasons:
            raise DataError(f"no row has a value at {part!r}: {reasons[part]}")
        near = difflib.get_close_matches(part, columns[:_COMPARED], n=1, cutoff=0.6)
        hint = f"Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"no column is called {part!r}; there are: {_quote_names(columns)}", hint=hint)


def unrecognised_columns(columns: Sequence[str], mapping: Pairs) -> DataError:
    """Build the error of a row in which no column is recognised."""
    missing = [
        f"{part!r} (mapped to {name})"
        for name, text in mapping
        for part, source in resolve(text, columns).items()
        if source is None
    ]
    present = f"found {_quote_names(columns)}" if columns else "found none"
    also = f"; {', '.join(missing)} is not there" if missing else ""
    known = "; ".join(f"{name}: {', '.join(NAMES[name][:4])}" for name in NAMES if name in _SCORABLE)
    hint = (
        f"Known names are, among others, {known}. Name yours with `columns`: response=my_column or "
        "response=outputs.answer."
    )
    if {"role", "content"} <= {*columns}:
        hint = 'These are messages of a chat. Write each chat as an object: {"messages": [...]}.'
    return DataError(f"no column is recognised: {present}{also}.", hint=hint)


def nested_list(values: Mapping[str, object], longest: int = 4) -> str:
    """Return the dotted path of a list of objects in a value; an empty text if it has none.

    Lists with a usual name, such as ``results``, come first.

    >>> nested_list({"eval": {"results": [{"question": "Who?"}]}}), nested_list({"tags": ["a"]})
    ('eval.results', '')
    """
    for key, value in sorted(values.items(), key=lambda item: item[0] not in LISTS):
        if not _STEP.fullmatch(key):
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return key
        if isinstance(value, dict) and longest > 1 and (inner := nested_list(value, longest - 1)):
            return f"{key}.{inner}"
    return ""


def _candidates(columns: tuple[str, ...], mapping: Pairs) -> dict[str, tuple[str, ...]]:
    by_name = _by_name(columns)
    mapped_fields = dict(mapping)
    parts = (source for text in mapped_fields.values() for source in resolve(text, columns).values())
    sources = [source for source in parts if source is not None]
    mapped = {source.column for source in sources}
    # A path into the metadata takes one of its values, and leaves the others.
    whole = {source.column for source in sources if not source.path}
    return {
        name: ()
        if name in mapped_fields
        else tuple(
            by_name[known]
            for known in names
            if known in by_name and by_name[known] not in (whole if name == "metadata" else mapped)
        )
        for name, names in NAMES.items()
    }


def _compose(columns: tuple[str, ...], mapping: Pairs) -> dict[str, tuple[Source, ...]]:
    """Return, by field, the parts of its mapping that the row has; fields without such parts are left out."""
    composed = {}
    for name, text in mapping:
        sources = tuple(source for source in resolve(text, columns).values() if source is not None)
        if len(sources) > 1 and name not in _JOINABLE:
            hint = f"{', '.join(_JOINABLE)} can take several."
            raise DataError(f"{name} takes one column, not {text!r}", hint=hint)
        if sources:
            composed[name] = sources
    return composed


def _by_name(columns: tuple[str, ...]) -> dict[str, str]:
    """Return columns by normalised name; a column that has exactly this name wins over its variants."""
    by_name: dict[str, str] = {}
    for column in sorted(columns, key=lambda column: column != _normal(column)):
        by_name.setdefault(_normal(column), column)
    return by_name


def _pair(by_name: Mapping[str, str]) -> tuple[str, str] | None:
    pairs = (pair for pair in _PAIRS if by_name.keys() >= {*pair})
    return next(((by_name[right], by_name[wrong]) for right, wrong in pairs), None)


def _normal(column: str) -> str:
    return clean_name(column).casefold().replace(" ", "_").replace("-", "_")


def _quote_names(columns: Sequence[str]) -> str:
    return join_names([repr(column[:60]) for column in columns], _SHOWN)


def join_names(names: Sequence[str], most: int) -> str:
    """Join the first ``most`` names for a message, and count the others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def table_row(values: Mapping[str, Any], plan: Plan, *, blank_response: bool = False) -> Mapping[str, Any]:
    """Parse the cells of a table row that hold lists or objects as text.

    Such cells hold JSON, or what Python and NumPy print (which is what pandas writes). ``blank_response``
    reads an absent response as an empty answer, for CSV, which has no null. Raises DataError with field and
    column if a printed list was shortened.
    """
    read: dict[str, Any] = {}
    for name in _JOINABLE:
        for column in plan.columns_of(name):
            if isinstance(values[column], str):
                read[column] = _list_in(values[column], name, column)
    for column in plan.columns_of("metadata"):
        if isinstance(values[column], str):
            read[column] = _object_in(values[column])
    for column in (column for name in _JSON for column in plan.columns_of(name)):
        if isinstance(values[column], str) and not isinstance(read.get(column), list):
            read[column] = _json_in(values[column])
    if blank_response:
        read |= {column: "" for column in plan.columns_of("response") if values[column] is None}
    return {**values, **read} if read else values


def _list_in(cell: str, name: str, column: str) -> object:
    try:
        value = read_list(cell)
    except ValueError as error:
        where = "" if column == name else f" in column {column[:60]!r}"
        hint = "Write it again as JSON. A text that only looks like a list can be a JSON list of one text."
        raise DataError(f"{error}{where}", field=name, hint=hint) from None
    return cell if value is None else value


def _json_in(cell: str) -> object:
    """Return the list or object in a cell, as JSON or as Python prints it; other texts stay the same."""
    text = cell.strip()
    if not text.startswith(("[", "{")):
        return cell
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        printed = parse_printed(text)
        return cell if printed is None else printed


def _object_in(cell: str) -> object:
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return value if isinstance(value, dict) else cell
