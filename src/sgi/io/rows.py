"""Convert raw rows of any source to samples; a bad row is rejected with file, line, id and field."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from sgi.io import coercion as cells
from sgi.io.column_use import ColumnUse, column_use
from sgi.io.columns import checked_mapping, missing_mapped, nested_list, recognise, table_row
from sgi.io.empty_columns import MAX_ROWS, NullColumns, look_ahead
from sgi.io.mapping import join, parts_of, read_source, resolve
from sgi.io.raw_rows import RawRow, SeenIds, with_place
from sgi.io.retrieval_cells import READ_COSTS, READ_RETRIEVAL
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi.kernel.raw_values import PathAbsentError
from sgi.kernel.sample import Sample
from sgi.text.conversation import with_last_exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from sgi.io.column_use import ReportColumns
    from sgi.io.columns import Pairs, Plan
    from sgi.io.mapping import Source

    Reject = Callable[["RejectedRow"], None]
    Convert = Callable[[Mapping[str, Any], int], Iterable[Mapping[str, Any]]]

_READ: dict[str, Callable[[Any], Any]] = {
    "question": raw_values.as_text,
    "contexts": cells.as_passages,
    "response": raw_values.as_text,
    "reference": cells.as_reference,
    "alternatives": cells.as_answers,
    "label": cells.as_label,
    "metadata": cells.as_object,
    **READ_RETRIEVAL,
    **READ_COSTS,
}
_TEXTS = ("question", "response", "reference")
_NOTED = 50
_NO_COLUMNS = NullColumns()


@dataclass(frozen=True)
class RejectedRow:
    """A rejected row: the error with file, line, id and field; the row as JSON, or as text if not parsed."""

    error: DataError
    row: JsonValue


class ReadOptions(TypedDict, total=False):
    """The optional arguments of `read_numbered_rows`."""

    columns: Mapping[str, str] | None
    on_reject: Reject | None
    on_columns: ReportColumns | None
    stem: str | None
    convert: Convert | None
    ahead: int


def read_rows(
    rows: Iterable[RawRow], *, file: str | None, **options: Unpack[ReadOptions]
) -> Iterator[Sample]:
    """Yield the samples of raw rows, in order; see `read_numbered_rows`."""
    return (sample for _, sample in read_numbered_rows(rows, file=file, **options))


def read_numbered_rows(
    rows: Iterable[RawRow],
    *,
    file: str | None,
    columns: Mapping[str, str] | None = None,
    on_reject: Reject | None = None,
    on_columns: ReportColumns | None = None,
    stem: str | None = None,
    convert: Convert | None = None,
    ahead: int = MAX_ROWS,
) -> Iterator[tuple[int, Sample]]:
    """Yield the samples of raw rows, in order, each with its line.

    Args:
        rows: raw rows; a DataError that the iterator raises concerns the whole file and is not caught.
        file: the file's name for messages, or None.
        columns: field → mapping, if the columns' names are not recognised; see `sgi.io.mapping`.
        on_reject: called with each bad row; if it is None, the first bad row raises its error.
        on_columns: called with the use of columns so far whenever it changes.
        stem: prefix of generated ids, as in ``<stem>-17``. Without a prefix, a generated id is the row's
            number, and the ids of a HaluEval pair begin with the file's name.
        convert: converts a row and its number to rows in this package's columns; a row with a bad part is
            rejected.
        ahead: how many rows may be read ahead to find empty columns.

    Raises DataError for a bad row, or if no row has a known column, or a mapped one.
    """
    mapping = checked_mapping(columns)
    rows, null = look_ahead(iter(rows), mapping, ahead) if convert is None else (rows, _NO_COLUMNS)
    reading = Reading(file, mapping, stem, convert, null, on_columns)
    yield from reading.read(enumerate(rows, 1), on_reject)
    reading.finish()


@dataclass(frozen=True, eq=False)
class RowDataset:
    """A dataset that can be read repeatedly; ``rows`` opens the raw rows.

    The argument of ``rows`` is the mapping from fields to columns, as `checked_mapping` returns it.
    """

    name: str
    rows: Callable[[Pairs], Iterable[RawRow]] = field(repr=False)
    columns: Mapping[str, str] | None = None
    file: str | None = None

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `read_numbered_rows` for rejected rows."""
        return (sample for _, sample in self.numbered_samples(on_reject=on_reject, on_columns=on_columns))

    def numbered_samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[tuple[int, Sample]]:
        """Yield the samples in order, each with its line in the file or its position in the table."""
        return read_numbered_rows(
            self.rows(checked_mapping(self.columns)),
            file=self.file,
            columns=self.columns,
            on_reject=on_reject,
            on_columns=on_columns,
        )


@dataclass(eq=False)
class Reading:
    """The state of one reading of the rows: the ids and the use of columns so far.

    ``null`` are empty columns to skip. The other arguments are as in `read_rows`.
    """

    file: str | None
    mapping: Pairs
    stem: str | None = None
    convert: Convert | None = None
    null: NullColumns = _NO_COLUMNS
    on_columns: ReportColumns | None = None

    def __post_init__(self) -> None:
        self.pair_stem = self.stem or PurePath(self.file or "row").name.partition(".")[0]
        self.before_number = f"{self.stem}-" if self.stem else ""
        self.use = ColumnUse()
        self.ids = SeenIds(self.file)
        self.unseen = {part for _, text in self.mapping for part in parts_of(text)}
        self.reasons: dict[str, str] = {}
        self.noted: dict[str, None] = {}
        self.unrecognised: DataError | None = None
        self.recognised = False
        self._plan: Plan | None = None

    def read(
        self, rows: Iterable[tuple[int, RawRow]], on_reject: Reject | None
    ) -> Iterator[tuple[int, Sample]]:
        """Yield the samples of numbered rows, each with its line."""
        for number, row in rows:
            try:
                samples = self._samples(row, number)
            except DataError as error:
                refused = with_place(error, file=self.file, line=row.line, sample_id=error.sample_id)
                if on_reject is None:
                    raise refused from None
                on_reject(RejectedRow(refused, _raw_values(row)))
            else:
                yield from ((row.line, sample) for sample in samples)

    def _samples(self, row: RawRow, number: int) -> list[Sample]:
        if isinstance(row.values, DataError):
            raise row.values
        if isinstance(row.values, Sample):
            self.recognised = True
            samples = [_encodable(row.values)]
        else:
            parts = [row.values] if self.convert is None else self.convert(row.values, number)
            samples = [sample for part in parts for sample in self._of_values(part, number, row.kind)]
        samples = [with_last_exchange(sample) if sample.turns else sample for sample in samples]
        for sample in samples:
            self.ids.add(sample.id, row.line)
        return samples

    def finish(self) -> None:
        """Check that every mapped column and at least one known column was present."""
        try:
            if self.noted:
                missing_mapped(tuple(self.noted), sorted(self.unseen), self.reasons)
        except DataError as error:
            raise with_place(error, file=self.file) from None
        if self.unrecognised and not self.recognised:
            raise with_place(self.unrecognised, file=self.file)

    def _of_values(self, values: Mapping[str, object], number: int, kind: str) -> list[Sample]:
        if self.unseen:  # the names are for a message that a fulfilled mapping never needs
            self._note(values)
        try:
            plan = recognise(tuple(values), self.mapping, self.null.columns)
        except DataError as error:
            refused = _with_list(error, values, self.file)
            self.unrecognised = self.unrecognised or refused
            raise refused from None
        self.recognised = True
        if plan is not self._plan:
            self._report(plan)
        if self.null.columns:
            self._check_null(values)
        if kind != "object" or plan.composed:
            values = self._parse_cells(values, plan, kind)
        if plan.pair:
            return _pair(values, plan, plan.pair, f"{self.pair_stem}-{number}", number)
        return [_single(values, plan, f"{self.before_number}{number}")]

    def _report(self, plan: Plan) -> None:
        self._plan = plan
        use = self.use.merge(column_use(plan, dict.fromkeys(self.null.columns, self.null.why())))
        if use is not self.use:
            self.use = use
            if self.on_columns is not None:
                self.on_columns(use)

    def _check_null(self, values: Mapping[str, object]) -> None:
        for column in self.null.columns & values.keys():
            if not raw_values.is_absent(values[column]):
                hint = "Name the column you mean with a mapping, as in contexts=my_column."
                problem = f"column {column[:60]!r} has a value here, but it is {self.null.why()}"
                raise DataError(f"{problem}, so another column was used", hint=hint)

    def _parse_cells(self, values: Mapping[str, object], plan: Plan, kind: str) -> Mapping[str, object]:
        try:
            if kind != "object":
                values = table_row(values, plan, blank_response=kind == "csv")
            composed = {plan.fields[name]: self._compose(values, plan, name) for name in plan.composed}
        except DataError as error:
            sample_id = None
            with suppress(DataError, KeyError):
                sample_id = _known_id(values, plan)
            raise with_place(error, sample_id=sample_id) from None
        return {**values, **composed}

    def _compose(self, values: Mapping[str, object], plan: Plan, name: str) -> object:
        sources = plan.composed[name]
        try:
            read = [self._read(values, source) for source in sources]
        except DataError as error:
            raise DataError(error.message, field=name, hint=error.hint) from None
        parts = [value for value in read if value is not None]
        if not parts:
            return None
        return parts[0] if len(sources) == 1 else join(parts)

    def _read(self, values: Mapping[str, object], source: Source) -> object:
        try:
            value = read_source(values, source)
        except PathAbsentError as error:
            reason = str(error)
            if reason.endswith(" is null"):
                self.unseen.discard(source.text)
            else:
                self.reasons.setdefault(source.text, reason)
            return None
        self.unseen.discard(source.text)
        return None if raw_values.is_absent(value) else value

    def _note(self, values: Mapping[str, object]) -> None:
        keys: Iterable[object] = values
        columns = tuple(column for column in keys if isinstance(column, str))
        for column in columns[:_NOTED]:
            if len(self.noted) < _NOTED:
                self.noted[column] = None
        for _, text in self.mapping:
            for part, source in resolve(text, columns).items():
                if source is not None and not source.path:
                    self.unseen -= {part, *parts_of(text)} if part == text else {part}


def _with_list(error: DataError, values: Mapping[str, object], file: str | None) -> DataError:
    """Name the list of objects in a JSON document without known columns, which may be its rows."""
    is_document = file is not None and file.casefold().removesuffix(".gz").endswith(".json")
    path = nested_list(values) if is_document else ""
    if not path:
        return error
    hint = f"The rows may be its list {path!r}: read 'json(rows={path}):{file}'."
    return DataError(error.message.partition(" Known names")[0], hint=hint)


def _single(values: Mapping[str, object], plan: Plan, unnamed: str) -> Sample:
    known = _known_id(values, plan)
    try:
        given = _given_fields(values, plan)
    except DataError as error:
        raise with_place(error, sample_id=known) from None
    given["id"] = known or unnamed
    return Sample.from_row(given)


def _pair(
    values: Mapping[str, Any], plan: Plan, pair: tuple[str, str], unnamed: str, number: int
) -> list[Sample]:
    """Split a HaluEval row into two samples; the first has the correct answer, the reference of both."""
    given = _given_fields(values, plan)
    name = _known_id(values, plan) or unnamed
    given["metadata"] = {**given.get("metadata", {}), "item": number}
    answers = [_read(raw_values.as_text, values, "response", column) for column in pair]
    given.setdefault("reference", answers[0])
    return [
        Sample.from_row({"id": f"{name}-{kind}", **given, "response": answer, "label": label})
        for kind, answer, label in zip(("right", "hallucinated"), answers, (True, False), strict=True)
    ]


def _known_id(values: Mapping[str, object], plan: Plan) -> str | None:
    column = plan.fields.get("id")
    if column is None or raw_values.is_absent(values[column]):
        return None
    return str(_read(raw_values.as_id, values, "id", column))


def _given_fields(values: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    given: dict[str, Any] = {}
    name = column = ""
    try:
        for name, column in plan.fields.items():
            value = values[column]
            if type(value) is str and name in _TEXTS and value.isascii():  # nearly all that there is
                given[name] = value
            elif name != "id" and not raw_values.is_absent(value):
                given[name] = _READ[name](value)
    except DataError as error:
        raise _in_column(error, name, column) from None
    if plan.inverted and "label" in given:
        given["label"] = not given["label"]
    if plan.in_seconds and "latency_ms" in given:
        given["latency_ms"] *= 1000
    return _with_spare(given, values, plan) if plan.spare else given


def _with_spare(given: dict[str, Any], values: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Add the unrecognised columns to the metadata, under a longer name if a key exists already."""
    spare: dict[str, JsonValue] = {}
    for column in plan.spare:
        if raw_values.is_absent(values[column]):
            continue
        key = raw_values.as_text(column)
        while key in given.get("metadata", {}) or key in spare:
            key += " (column)"
        spare[key] = _read(cells.as_json, values, "metadata", column)
    return {**given, "metadata": {**given.get("metadata", {}), **spare}} if spare else given


def _read(read: Callable[[Any], Any], values: Mapping[str, Any], name: str, column: str) -> Any:
    try:
        return read(values[column])
    except DataError as error:
        raise _in_column(error, name, column) from None


def _in_column(error: DataError, name: str, column: str) -> DataError:
    where = "" if column == name else f" in column {column[:60]!r}"
    is_object = error.message.endswith("found an object")
    inside = f"A mapping selects a value in it, as in {name}={column[:60]}.text." if is_object else ""
    return DataError(f"{error.message}{where}", field=name, hint=error.hint or inside)


def _encodable(sample: Sample) -> Sample:
    for name, value in sample.field_values().items():
        try:
            cells.as_json(value)
        except DataError as error:
            raise DataError(error.message, field=name, hint=error.hint) from None
    return sample


def _raw_values(row: RawRow) -> JsonValue:
    """Return the values of a rejected row, or its text if it was not parsed."""
    if isinstance(row.values, DataError):
        return row.text
    values = row.values.model_dump(exclude_unset=True) if isinstance(row.values, Sample) else row.values
    return cells.any_json(dict(values))
