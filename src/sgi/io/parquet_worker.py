"""Decode a Parquet or Arrow file in a separate process; write its rows to standard output as a stream.

A file of 2 KB can decode to any size: dictionaries, run lengths and shared prefixes repeat a value without
its bytes, and neither the footer nor the page headers bound a row. So the operating system bounds the memory
of this process (Linux), and columns of repeated values are written in full, so that their size counts. A
crash of the decoder ends this process only.

The script imports only Arrow, so that it starts quickly. Arguments: one JSON object (see `main`). Exit code
3: standard error holds a JSON object with row, column and problem.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

ROWS_AT_ONCE = 8
"""How many rows of the largest legal size fit into the memory; more are read at once while they fit."""
_MANY_ROWS = 256
_FILE_MAGIC, _OLD_MAGIC = b"ARROW1", b"FEA1"


def main() -> None:
    """Write the rows of a Parquet or Arrow file to standard output.

    ``sys.argv[1]`` is the request, a JSON object with the keys path, form, cell, row, columns and memory.
    """
    request = json.loads(sys.argv[1])
    try:
        import pyarrow as pa
        from pyarrow import parquet

        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        pa.set_memory_pool(pa.system_memory_pool())
        bound_memory(request["memory"])
        if request["form"] == "Parquet":
            file = parquet.ParquetFile(request["path"], memory_map=True)
            write_parquet(file, request, sys.stdout.buffer)
        else:
            write_arrow(pa.memory_map(request["path"]), request, sys.stdout.buffer)
    except MemoryError:
        fail("memory")
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - whatever the decoder says goes to the reader
        fail("damaged", detail=str(error).partition("\n")[0][:300] or type(error).__name__)


def bound_memory(more: int) -> None:
    """Limit this process to ``more`` additional bytes, if the system supports that."""
    try:
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii")
    except (ImportError, OSError):
        return
    used = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:"))
    resource.setrlimit(resource.RLIMIT_DATA, (used * 1024 + more,) * 2)


def write_parquet(file: Any, request: dict[str, Any], stream: Any) -> None:
    """Write all rows of a Parquet file; end the process at a row that exceeds the limits."""
    import pyarrow as pa

    check_columns(file.metadata.num_columns, request)
    schema, row = plain_schema(file.schema_arrow), 0
    with pa.ipc.new_stream(stream, schema) as writer:
        for group in range(file.metadata.num_row_groups):
            row += write_group(writer, file, group, row, request)


def write_group(writer: Any, file: Any, group: int, before: int, request: dict[str, Any]) -> int:
    """Write a row group in large batches, in small ones if rows do not fit; return the number of rows."""
    done = 0
    for size in (_MANY_ROWS, ROWS_AT_ONCE):
        row = 0
        try:
            for batch in file.iter_batches(size, row_groups=[group], use_threads=False):
                left = batch.slice(min(max(done - row, 0), batch.num_rows))
                row += batch.num_rows
                if left.num_rows:
                    write_slice(writer, left, before + done, request)
                done = max(done, row)
        except MemoryError:
            continue
        break
    else:
        fail("memory", before + done + 1, culprit(file, group, done))
    return done


def write_arrow(source: Any, request: dict[str, Any], stream: Any) -> None:
    """Write all rows of an Arrow stream or file (Feather 2); end the process at a row beyond the limits."""
    import pyarrow as pa

    magic = source.read(len(_FILE_MAGIC))
    source.seek(0)
    if magic.startswith(_OLD_MAGIC):
        raise ValueError("this is version 1 of Feather: write it with version 2")
    is_file = magic == _FILE_MAGIC
    file = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
    check_columns(len(file.schema), request)
    batches = map(file.get_batch, range(file.num_record_batches)) if is_file else file
    row = 0
    try:
        with pa.ipc.new_stream(stream, plain_schema(file.schema)) as writer:
            for batch in batches:
                batch.validate(full=True)  # the reader trusts what this process writes
                for start in range(0, batch.num_rows, _MANY_ROWS):
                    write_slice(writer, batch.slice(start, _MANY_ROWS), row + start, request)
                row += batch.num_rows
    except MemoryError:
        fail("memory", row + 1)


def write_slice(writer: Any, batch: Any, before: int, request: dict[str, Any]) -> None:
    """Write rows with repeated values written out, in smaller parts if they exceed the memory."""
    try:
        plain = batch.cast(plain_schema(batch.schema))
    except MemoryError:
        if batch.num_rows <= ROWS_AT_ONCE:
            fail("memory", before + 1, expanding(batch))
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            write_slice(writer, batch.slice(start, ROWS_AT_ONCE), before + start, request)
        return
    if plain.nbytes > request["cell"]:
        write_checked(writer, plain, before, request)
    else:
        writer.write_batch(plain)


def expanding(batch: Any) -> str | None:
    """Return the first column that exceeds the memory when its repeated values are written out, or None."""
    for field, column in zip(batch.schema, batch.columns, strict=True):
        try:
            column.cast(plain_type(field.type))
        except MemoryError:
            return str(field.name)
    return None


def check_columns(number: int, request: dict[str, Any]) -> None:
    """End the process if a table has too many columns."""
    if number > request["columns"]:
        fail("columns", detail=str(number))


def plain_schema(schema: Any) -> Any:
    """Return the schema with plain types, whose columns store each value in full."""
    import pyarrow as pa

    return pa.schema([plain_field(field) for field in schema])


def plain_type(kind: Any) -> Any:
    """Return the type without dictionaries and views. Raises ValueError for a type that has no such cast."""
    import pyarrow as pa

    types, plain = pa.types, kind
    if types.is_dictionary(kind):
        plain = plain_type(kind.value_type)
    elif types.is_string_view(kind) or types.is_binary_view(kind):
        plain = pa.large_string() if types.is_string_view(kind) else pa.large_binary()
    elif types.is_list(kind) or types.is_large_list(kind):
        make = pa.list_ if types.is_list(kind) else pa.large_list
        plain = make(plain_field(kind.value_field))
    elif types.is_fixed_size_list(kind):
        plain = pa.list_(plain_field(kind.value_field), kind.list_size)
    elif types.is_struct(kind):
        plain = pa.struct([plain_field(field) for field in kind])
    elif types.is_map(kind):
        plain = pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    elif isinstance(kind, pa.BaseExtensionType):
        storage = plain_type(kind.storage_type)
        plain = kind if storage == kind.storage_type else storage
    elif types.is_nested(kind) or types.is_run_end_encoded(kind):
        raise ValueError(f"columns of the type {kind} are not supported: write them as texts or lists")
    return plain


def plain_field(field: Any) -> Any:
    """Return the field with the type of `plain_type`."""
    return field.with_type(plain_type(field.type))


def write_checked(writer: Any, batch: Any, before: int, request: dict[str, Any]) -> None:
    """Write the rows one by one, so that the reader holds one large row at a time."""
    for index in range(batch.num_rows):
        row = batch.slice(index, 1)
        sizes = {name: column.nbytes for name, column in zip(batch.schema.names, row.columns, strict=True)}
        for name, size in sizes.items():
            if size > request["cell"]:
                fail("cell", before + index + 1, name)
        if sum(sizes.values()) > request["row"]:
            fail("row", before + index + 1)
        writer.write_batch(row)


def culprit(file: Any, group: int, row: int) -> str | None:
    """Return the first column that cannot be decoded within the memory, or None."""
    for name in file.schema_arrow.names:
        try:
            batches = file.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=[name], use_threads=False)
            for number, _ in enumerate(batches):
                if number * ROWS_AT_ONCE > row:
                    break
        except MemoryError:
            return str(name)
    return None


def fail(problem: str, row: int | None = None, column: str | None = None, detail: str = "") -> NoReturn:
    """End the process, and write the reason to standard error."""
    sys.stderr.write(json.dumps({"problem": problem, "row": row, "column": column, "detail": detail}))
    sys.exit(3)


if __name__ == "__main__":
    main()
