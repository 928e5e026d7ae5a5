"""Raw rows → samples, whatever they were read from; here a bad row is refused, with its place."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sgi.io import cells
from sgi.io.columns import checked_mapping, missing_mapped, recognise
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from sgi.io.columns import Pairs, Plan

    Reject = Callable[["Rejected"], None]
    Convert = Callable[[Mapping[str, Any], int], Iterable[Mapping[str, Any]]]

_READ: dict[str, Callable[[Any], Any]] = {
    "question": cells.as_text,
    "contexts": cells.as_passages,
    "response": cells.as_text,
    "reference": cells.as_reference,
    "alternatives": cells.as_answers,
    "label": cells.as_label,
    "metadata": cells.as_object,
}
_TEXTS = ("question", "response", "reference")
_NOTED = 50


class RawRow(NamedTuple):
    """A row before it is understood."""

    line: int
    """Where it begins: the line of a file, the position in a table; from 1."""
    values: Mapping[str, Any] | Sample | DataError
    """Its columns; or why it could not be parsed."""
    text: str = ""
    """What stood there, where it could not be parsed."""


@dataclass(frozen=True)
class Rejected:
    """A row that was refused, with all it held.

    Attributes:
        error: why, with file, line, id and field as far as they are known.
        row: its values as JSON; the text of its line where it could not be parsed.
    """

    error: DataError
    row: JsonValue


def read_rows(
    rows: Iterable[RawRow],
    *,
    file: str | None,
    columns: Mapping[str, str] | None = None,
    on_reject: Reject | None = None,
    stem: str | None = None,
    convert: Convert | None = None,
) -> Iterator[Sample]:
    """The samples of raw rows, in order.

    Args:
        rows: raw rows; a DataError raised while they are made is the whole file's, and goes through.
        file: the name for messages, or None.
        columns: field → column, where names are not recognised.
        on_reject: is given each bad row; without it the first one raises.
        stem: what ids begin with where a row has none, as in ``<stem>-17``; by default such an id is the
            number alone, and that of a pair begins with the file's name.
        convert: makes rows in columns known here of a row, given with its number; a row of which any part
            is bad is refused whole.

    Raises:
        DataError: a bad row; or no row at all has a known, or a mapped, column.
    """
    reading = Reading(file, checked_mapping(columns), stem, convert)
    for number, row in enumerate(rows, 1):
        try:
            samples = reading.samples(row, number)
        except DataError as error:
            refused = placed(error, file=file, line=row.line, sample_id=error.sample_id)
            if on_reject is None:
                raise refused from None
            on_reject(Rejected(refused, raw_values(row)))
        else:
            yield from samples
    reading.finish()


def placed(
    error: DataError, *, file: str | None, line: int | None, sample_id: str | None = None
) -> DataError:
    """The same error with its place."""
    return DataError(
        error.message, file=file, line=line, sample_id=sample_id, field=error.field, hint=error.hint
    )


class Reading:
    """What one pass over the rows remembers: the ids, and which columns there were."""

    def __init__(
        self, file: str | None, mapping: Pairs, stem: str | None = None, convert: Convert | None = None
    ) -> None:
        self.file = file
        self.mapping = mapping
        self.stem = stem or PurePath(file or "row").name.partition(".")[0]
        self.before_number = f"{stem}-" if stem else ""
        self.convert = convert
        self.ids = _Ids(file)
        self.unseen = {column for _, column in mapping}
        self.noted: dict[str, None] = {}
        self.unrecognised: DataError | None = None
        self.recognised = False

    def samples(self, row: RawRow, number: int) -> list[Sample]:
        """The samples of a row, which is the ``number``-th; raises what is wrong with it."""
        if isinstance(row.values, DataError):
            raise row.values
        if isinstance(row.values, Sample):
            self.recognised = True
            samples = [_encodable(row.values)]
        else:
            parts = [row.values] if self.convert is None else self.convert(row.values, number)
            samples = [sample for part in parts for sample in self._understood(part, number)]
        for sample in samples:
            self.ids.add(sample.id, row.line)
        return samples

    def finish(self) -> None:
        """Judge the rows as a whole: every mapped column, and some known one, must have been there."""
        try:
            if self.noted:
                missing_mapped(tuple(self.noted), sorted(self.unseen))
        except DataError as error:
            raise placed(error, file=self.file, line=None) from None
        if self.unrecognised and not self.recognised:
            raise placed(self.unrecognised, file=self.file, line=None)

    def _understood(self, values: Mapping[str, Any], number: int) -> list[Sample]:
        if self.unseen:  # the names are for a message that a fulfilled mapping never needs
            self._note(values)
        try:
            plan = recognise(tuple(values), self.mapping)
        except DataError as error:
            self.unrecognised = self.unrecognised or error
            raise
        self.recognised = True
        if plan.pair:
            return _pair(values, plan, plan.pair, f"{self.stem}-{number}", number)
        return [_single(values, plan, f"{self.before_number}{number}")]

    def _note(self, values: Mapping[str, Any]) -> None:
        """Keep some of the column names, for the message, until every mapped one has been seen."""
        for column in values:
            self.unseen.discard(column)
            if len(self.noted) < _NOTED:
                self.noted[column] = None


class _Ids:
    """The ids so far, as 60-bit digests: about 90 bytes an id however long the ids are."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.seen: set[int] = set()
        self.digests = array("Q")
        self.lines = array("Q")

    def add(self, sample_id: str, line: int) -> None:
        # 60 bits fit the smaller size of Python's integers.
        digest = int.from_bytes(blake2b(sample_id.encode(), digest_size=8).digest(), "big") >> 4
        if digest in self.seen:
            place = np.flatnonzero(np.frombuffer(self.digests, dtype=np.uint64) == digest)[0]
            first = self.lines[int(place)]
            where = f"{self.file}:{first}" if self.file else f"row {first}"
            hint = "Ids must be unique; a row without one takes its number as its id."
            raise DataError(f"{where} has the same id", sample_id=sample_id, field="id", hint=hint)
        self.seen.add(digest)
        self.digests.append(digest)
        self.lines.append(line)


def _single(values: Mapping[str, Any], plan: Plan, unnamed: str) -> Sample:
    known = _known_id(values, plan)
    try:
        given = _given(values, plan)
    except DataError as error:
        raise placed(error, file=None, line=None, sample_id=known) from None
    given["id"] = known or unnamed
    return Sample.model_validate(given)


def _pair(
    values: Mapping[str, Any], plan: Plan, pair: tuple[str, str], unnamed: str, number: int
) -> list[Sample]:
    """HaluEval's row of two answers: the right one first, which is also the reference of both."""
    given = _given(values, plan)
    name = _known_id(values, plan) or unnamed
    given["metadata"] = {**given.get("metadata", {}), "item": number}
    answers = [_read(cells.as_text, values, "response", column) for column in pair]
    given.setdefault("reference", answers[0])
    return [
        Sample.model_validate({"id": f"{name}-{kind}", **given, "response": answer, "label": label})
        for kind, answer, label in zip(("right", "hallucinated"), answers, (True, False), strict=True)
    ]


def _known_id(values: Mapping[str, Any], plan: Plan) -> str | None:
    column = plan.fields.get("id")
    if column is None or cells.is_absent(values[column]):
        return None
    return str(_read(cells.as_id, values, "id", column))


def _given(values: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The fields that are there, all but the id."""
    given: dict[str, Any] = {}
    name = column = ""
    try:
        for name, column in plan.fields.items():
            value = values[column]
            if type(value) is str and name in _TEXTS and value.isascii():  # nearly all that there is
                given[name] = value
            elif name != "id" and not cells.is_absent(value):
                given[name] = _READ[name](value)
    except DataError as error:
        raise _in_column(error, name, column) from None
    if plan.inverted and "label" in given:
        given["label"] = not given["label"]
    return _with_spare(given, values, plan) if plan.spare else given


def _with_spare(given: dict[str, Any], values: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The columns nobody knows join the metadata; where a key is taken, under a longer name."""
    spare: dict[str, JsonValue] = {}
    for column in plan.spare:
        if cells.is_absent(values[column]):
            continue
        key = cells.as_text(column)
        while key in given.get("metadata", {}) or key in spare:
            key += " (column)"
        spare[key] = _read(cells.as_json, values, "metadata", column)
    return {**given, "metadata": {**given.get("metadata", {}), **spare}} if spare else given


def _read(read: Callable[[Any], Any], values: Mapping[str, Any], name: str, column: str) -> Any:
    """One value, read; its error names field and column."""
    try:
        return read(values[column])
    except DataError as error:
        raise _in_column(error, name, column) from None


def _in_column(error: DataError, name: str, column: str) -> DataError:
    where = "" if column == name else f" in column {column[:60]!r}"
    return DataError(f"{error.message}{where}", field=name, hint=error.hint)


def _encodable(sample: Sample) -> Sample:
    """The sample itself, once all it holds is known to be writable."""
    for name in Sample.model_fields:
        try:
            cells.as_json(getattr(sample, name))
        except DataError as error:
            raise DataError(error.message, field=name, hint=error.hint) from None
    return sample


def raw_values(row: RawRow) -> JsonValue:
    """What stood in a row, as the file of rejected rows holds it: its values, or its text."""
    if isinstance(row.values, DataError):
        return row.text
    values = row.values.model_dump(exclude_unset=True) if isinstance(row.values, Sample) else row.values
    return cells.loosely_json(dict(values))
