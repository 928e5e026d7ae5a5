"""Read Parquet and Arrow files and saved datasets, decoded in a process with bounded memory, and tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal

from sgi.io import parquet_worker
from sgi.io.columns import join_names, recognise_header
from sgi.io.raw_rows import RawRow, cell_too_large, check_header, too_many_columns, with_place
from sgi.io.text_file import open_bytes, row_too_large
from sgi.kernel.errors import DataError, MissingExtraError
from sgi.kernel.input_limits import how_to_raise, input_limits, size_text
from sgi.kernel.parsing import PARSER_ERRORS, reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.io.columns import Pairs

_FREE_MEMORY = 256_000_000
"""Memory for decoding in addition to the rows that are read at once: pages, dictionaries, levels."""
_WIDEST_MESSAGE = 100_000


Form = Literal["Parquet", "Arrow"]


def parquet_rows(path: Path, *, mapping: Pairs | None, form: Form = "Parquet") -> Iterator[RawRow]:
    """Yield the rows of a Parquet file, or of an Arrow stream or file (Feather 2), numbered from 1.

    ``mapping`` None accepts a table in which no column is recognised. Raises MissingExtraError without
    pyarrow, DataError if the file is not in this form, its columns are unusable, or a row or a value exceeds
    the limits.
    """
    if find_spec("pyarrow") is None:
        raise MissingExtraError(f"Reading {form}", "parquet")
    from pyarrow import ArrowException, ipc

    with open_bytes(path):  # says what is wrong with the path
        pass
    limits, file = input_limits(), str(path)
    memory = _FREE_MEMORY + parquet_worker.ROWS_AT_ONCE * limits.row
    request: dict[str, object] = {"path": str(path.absolute()), "form": form}
    request |= {"cell": limits.cell, "row": limits.row, "columns": limits.columns, "memory": memory}
    with TemporaryFile() as errors, _worker(request, errors) as worker:
        try:
            with ipc.open_stream(worker.stdout) as stream:
                yield from arrow_rows(stream, stream.schema.names, mapping=mapping, file=file)
        except (ArrowException, OSError) as error:
            raise _refusal(errors, worker.wait(), memory, file, form) from error
        else:
            if code := worker.wait():  # a stream that breaks off between two rows looks whole
                raise _refusal(errors, code, memory, file, form)
        finally:
            worker.kill()


def arrow_rows(
    batches: Iterable[object], header: list[str], *, mapping: Pairs | None, file: str | None
) -> Iterator[RawRow]:
    """Yield the rows of Arrow record batches or tables with the columns ``header``."""
    try:
        check_header(header)
        recognise_header(header, mapping)
    except DataError as error:
        raise with_place(error, file=file, line=None) from None
    number = 0
    for batch in batches:
        for values in _values(batch):
            number += 1
            yield RawRow(number, values, kind="table")


def _values(batch: Any) -> Iterator[dict[str, Any] | DataError]:
    """Yield the rows of a batch as Python values, or a DataError for a row that Python cannot represent."""
    try:
        yield from batch.to_pylist(maps_as_pydicts="strict")
    except PARSER_ERRORS:
        for index in range(batch.num_rows):
            yield _row(batch, index)


def _row(batch: Any, index: int) -> dict[str, Any] | DataError:
    values: dict[str, Any] = {}
    for name in batch.schema.names:
        try:
            values[name] = batch.column(name)[index].as_py(maps_as_pydicts="strict")
        except PARSER_ERRORS as error:
            kind = batch.schema.field(name).type
            hint = "Write the column as text, or leave it out."
            message = f"the value in column {name[:60]!r} ({kind}) cannot be read: {reason(error)}"
            return DataError(message, hint=hint)
    return values


def _worker(request: dict[str, object], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the process that decodes; -P excludes the working folder from its import path."""
    script = str(Path(parquet_worker.__file__))
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(  # noqa: S603 - our own script, and no shell
        [sys.executable, "-P", script, json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
    )


def _refusal(errors: IO[bytes], code: int, memory: int, file: str, form: Form) -> DataError:
    errors.seek(0)
    try:
        report = json.loads(errors.read(_WIDEST_MESSAGE).splitlines()[-1])
    except (ValueError, IndexError):
        message = f"cannot be read as {form}: the decoder ended with code {code}"
        return DataError(message, file=file, hint="Write the file again from its source.")
    row, column = report["row"], report["column"]
    match report["problem"]:
        case "row":
            return row_too_large(file, row)
        case "cell":
            error = cell_too_large(column)
        case "columns":
            error = too_many_columns(int(report["detail"]))
        case "memory":
            where = "" if column is None else f" in column {column[:60]!r}"
            message = f"decoding the values{where} takes more than {size_text(memory)} of memory"
            error = DataError(message, hint=how_to_raise("row"))
        case _:
            error = DataError(f"cannot be read as {form}: {report['detail']}")
    return with_place(error, file=file, line=row)


_STATE, _SPLITS = "state.json", "dataset_dict.json"
_MAX_STATE = 16_000_000
_SHOWN = 10


def is_saved_dataset(path: Path) -> bool:
    """Return whether a path is a folder with a dataset, or with the splits of one."""
    return any((path / name).is_file() for name in (_STATE, _SPLITS))


def dataset_files(folder: Path) -> list[Path]:
    """Return the Arrow files of a dataset, in order, or of the only split.

    Raises DataError if there are several splits, or the description of the folder cannot be read.
    """
    while not (folder / _STATE).is_file():
        splits = [folder / _file_name(folder / _SPLITS, name) for name in _listed(folder / _SPLITS, "splits")]
        if len(splits) != 1 or not (splits[0] / _STATE).is_file():
            names = join_names([repr(split.name) for split in splits], _SHOWN)
            hint = f"Name the folder of one split, such as {splits[0]}." if splits else "Save it again."
            raise DataError(
                f"has the splits {names}, not a single one" if names else "has no split of a dataset",
                file=str(folder),
                hint=hint,
            )
        folder = splits[0]
    state = folder / _STATE
    files = [
        folder / _file_name(state, entry.get("filename") if isinstance(entry, dict) else None)
        for entry in _listed(state, "_data_files")
    ]
    if not files:
        raise DataError("holds no rows", file=str(folder))
    return files


def _listed(file: Path, key: str) -> list[object]:
    with open_bytes(file) as stream:
        text = stream.read(_MAX_STATE)
    try:
        return [*json.loads(text)[key]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"does not list {key!r}, as `datasets.save_to_disk` writes it"
        raise DataError(message, file=str(file), hint="Save the dataset again.") from error


def _file_name(file: Path, name: object) -> str:
    """Return a name; raises DataError for one that leads out of the folder."""
    if not isinstance(name, str) or name in {"", ".", ".."} or set(name) & set("/\\\0:"):
        raise DataError(f"names {str(name)[:60]!r}, which is not a file in its folder", file=str(file))
    return name
