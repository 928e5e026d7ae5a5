"""Which column of a table, or key of an object, holds which field of a sample."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sgi.kernel.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Pairs = tuple[tuple[str, str], ...]
"""A checked mapping: (field, column) pairs."""

_INVERTED = ("hallucination", "is_hallucination", "hallucinated", "is_hallucinated")

NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "sample_id", "qid", "example_id", "row_id", "uid", "uuid"),
    "question": ("question", "user_input", "input", "query", "prompt", "user_query", "dialogue_history"),
    "contexts": (
        "contexts",
        "context",
        "retrieved_contexts",
        "retrieved_context",
        "retrieval_context",
        "documents",
        "document",
        "docs",
        "source_documents",
        "passages",
        "passage",
        "chunks",
        "knowledge",
    ),
    "response": (
        "response",
        "answer",
        "actual_output",
        "output",
        "prediction",
        "generated_answer",
        "model_answer",
        "generation",
        "completion",
    ),
    "reference": (
        "reference",
        "ground_truth",
        "ground_truths",
        "expected_output",
        "expected",
        "expected_answer",
        "references",
        "reference_answer",
        "gold",
        "gold_answer",
        "best_answer",
    ),
    "alternatives": ("alternatives",),
    "label": ("label", "is_grounded", "grounded", "is_correct", *_INVERTED),
    "metadata": ("metadata", "meta"),
}
"""Field → the column names that mean it, the canonical one first; compared without case, space and hyphen."""

_SCORABLE = {"question", "contexts", "response", "reference", "alternatives"}
_PAIRS = tuple((f"right_{word}", f"hallucinated_{word}") for word in ("answer", "response", "summary"))
_SHOWN = 20


@dataclass(frozen=True)
class Plan:
    """How the columns of a row become the fields of a sample.

    Attributes:
        fields: field → its column.
        inverted: whether the label's column says the reverse, as ``hallucination`` does.
        pair: the columns of the right and the hallucinated answer, where a row holds both.
        spare: the columns that go into the metadata.
    """

    fields: Mapping[str, str]
    inverted: bool
    pair: tuple[str, str] | None
    spare: tuple[str, ...]


def checked_mapping(columns: Mapping[str, str] | None) -> Pairs:
    """The user's field → column mapping, checked.

    >>> checked_mapping({"question": "ask"})
    (('question', 'ask'),)

    Raises:
        UnknownName: no such field; says which come near.
        UsageError: a column's name is no text.
    """
    pairs = tuple((columns or {}).items())
    for field, column in pairs:
        if field not in NAMES:
            near = tuple(difflib.get_close_matches(str(field), NAMES, n=2, cutoff=0.5))
            raise UnknownName("field", str(field), near, hint=f"The fields: {', '.join(NAMES)}.")
        if not isinstance(column, str):
            raise UsageError(f"The field {field!r} is mapped to {column!r}, which is no column name.")
    return pairs


# Few key sets repeat over a whole file; a small cache keeps hostile files from filling the memory.
@lru_cache(maxsize=32)
def recognise(columns: tuple[str, ...], mapping: Pairs = ()) -> Plan:
    """The plan for rows that have these columns.

    A mapped field takes its column and no other. For the rest the canonical name wins, then the first listed
    alias; columns nobody takes are spare.

    >>> plan = recognise(("Query", "answer", "source"))
    >>> dict(plan.fields), plan.spare
    ({'question': 'Query', 'response': 'answer'}, ('source',))

    Raises:
        DataError: no column is recognised, or a name is no text; place unknown.
    """
    for column in columns:
        if not isinstance(column, str):
            raise DataError(f"a column's name must be text, found {column!r}")
    by_name = _by_name(columns)
    wanted = dict(mapping)
    chosen: dict[str, str] = {}
    for field, names in NAMES.items():
        if field in wanted:
            found = [wanted[field]] if wanted[field] in columns else []
        else:
            found = [by_name[name] for name in names if name in by_name]
            found = [column for column in found if column not in wanted.values()]
        if found:
            chosen[field] = found[0]
    pair = _pair(by_name, chosen)
    if not pair and not _SCORABLE & chosen.keys():
        raise unrecognised(columns, mapping)
    taken = {*chosen.values(), *(pair or ())}
    return Plan(
        fields=chosen,
        inverted="label" in chosen and _normal(chosen["label"]) in _INVERTED,
        pair=pair,
        spare=tuple(column for column in columns if column not in taken),
    )


def recognise_header(header: Sequence[str], mapping: Pairs) -> Plan:
    """The plan for a table, whose columns are all known beforehand.

    Raises:
        DataError: a name is blank or stands twice, a mapped column is not there, or none is recognised;
            place unknown.
    """
    for position, column in enumerate(header, 1):
        if not str(column).strip():
            hint = "Name the column, or leave it out (pandas: to_csv(…, index=False))."
            raise DataError(f"column {position} has no name", hint=hint)
        if header.index(column) != position - 1:
            raise DataError(f"two columns are called {column!r}", hint="Rename one of them.")
    missing_mapped(header, [column for _, column in mapping])
    return recognise(tuple(header), mapping)


def missing_mapped(columns: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise a DataError naming the first wanted column that is not among ``columns``."""
    for column in wanted:
        if column not in columns:
            near = difflib.get_close_matches(column, columns, n=1, cutoff=0.6)
            hint = f"Did you mean {near[0]!r}?" if near else ""
            raise DataError(f"no column is called {column!r}; there are: {_listed(columns)}", hint=hint)


def unrecognised(columns: Sequence[str], mapping: Pairs) -> DataError:
    """The error of a row in which no column is known."""
    missing = [f"{column!r} (mapped to {field})" for field, column in mapping if column not in columns]
    found = f"found {_listed(columns)}" if columns else "found none"
    also = f"; {', '.join(missing)} is not there" if missing else ""
    known = "; ".join(f"{field}: {', '.join(NAMES[field][:4])}" for field in NAMES if field in _SCORABLE)
    hint = f"Known names are, among others, {known}. Name yours with a mapping, as in response=my_column."
    return DataError(f"no column is recognised: {found}{also}.", hint=hint)


def _by_name(columns: tuple[str, ...]) -> dict[str, str]:
    """Normal name → column; a column written in the normal way goes before its variants."""
    by_name: dict[str, str] = {}
    for column in sorted(columns, key=lambda column: column != _normal(column)):
        by_name.setdefault(_normal(column), column)
    return by_name


def _pair(by_name: Mapping[str, str], chosen: Mapping[str, str]) -> tuple[str, str] | None:
    """HaluEval's two answers in one row, unless a column says which answer is meant."""
    if "response" in chosen or "label" in chosen:
        return None
    found = (pair for pair in _PAIRS if by_name.keys() >= {*pair})
    return next(((by_name[right], by_name[wrong]) for right, wrong in found), None)


def _normal(column: str) -> str:
    return column.strip().casefold().replace(" ", "_").replace("-", "_")


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    return ", ".join(repr(column[:60]) for column in columns[:_SHOWN]) + more
