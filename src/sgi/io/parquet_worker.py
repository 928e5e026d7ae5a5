"""Decode a Parquet file in a separate process, and write its rows to standard output as an Arrow stream.

A file of 2 KB can decode to any size: dictionaries, run lengths and shared prefixes repeat a value without
its bytes, and neither the footer nor the page headers bound a row. So the operating system bounds the memory
of this process (Linux). A crash of the decoder ends this process only.

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


def main() -> None:
    """Write the rows that ``sys.argv[1]`` requests: path, groups, cell, row, columns and memory."""
    request = json.loads(sys.argv[1])
    try:
        import pyarrow as pa
        from pyarrow import parquet

        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        pa.set_memory_pool(pa.system_memory_pool())
        bound_memory(request["memory"])
        file = parquet.ParquetFile(request["path"], memory_map=True)
        write_rows(file, request, sys.stdout.buffer)
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


def write_rows(file: Any, request: dict[str, Any], stream: Any) -> None:
    """Write all rows in small batches; end the process at a row that exceeds the limits."""
    import pyarrow as pa

    if file.metadata.num_columns > request["columns"]:
        fail("columns", detail=str(file.metadata.num_columns))
    row = 0
    with pa.ipc.new_stream(stream, file.schema_arrow) as writer:
        for group in range(file.metadata.num_row_groups):
            row += write_group(writer, file, group, row, request)


def write_group(writer: Any, file: Any, group: int, before: int, request: dict[str, Any]) -> int:
    """Write a row group in large batches, or in small ones if rows do not fit; return the number of rows."""
    done = 0
    for size in (_MANY_ROWS, ROWS_AT_ONCE):
        row = 0
        try:
            for batch in file.iter_batches(size, row_groups=[group], use_threads=False):
                left = batch.slice(min(max(done - row, 0), batch.num_rows))
                row += batch.num_rows
                if left.nbytes > request["cell"]:
                    write_checked(writer, left, before + done, request)
                elif left.num_rows:
                    writer.write_batch(left)
                done = max(done, row)
        except MemoryError:
            continue
        break
    else:
        fail("memory", before + done + 1, culprit(file, group, done))
    return done


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
