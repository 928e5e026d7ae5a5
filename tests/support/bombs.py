"""Decompression bombs, and processes that read one with limited memory."""

import gzip
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from itertools import chain, takewhile
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import NamedTuple

MEGABYTE = 1 << 20
_READER = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # a failing test must not use up the machine
from pyarrow import ipc  # imported once for all files
from sgi.io import open_dataset
from sgi.kernel.errors import SgiError

def read(path):
    try:
        samples = open_dataset(path).samples(on_reject=lambda row: print("refused:", row.error))
        print("rows:", sum(1 for _ in samples))
    except SgiError as error:
        print("refused:", error)
    status = open("/proc/self/status").read()  # ru_maxrss would count the process that started this one
    own = int(status.partition("VmHWM:")[2].split()[0])
    print("peak:", (own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024)

for line in sys.stdin:
    sys.stdout.flush()
    if not (child := os.fork()):
        read(line[:-1])
        sys.stdout.flush()
        os._exit(0)
    print("end:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""For each path, a new process prints the number of rows or the error, and its peak memory and that of its
largest child, in MB. All processes share the imports of the first one."""


@contextmanager
def reading_process() -> Iterator[Callable[[Path], tuple[str, int]]]:
    """Start the process above; yield a function that returns what is printed for a file, and the peak."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _READER]
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        ) as process,
    ):

        def read(path: Path) -> tuple[str, int]:
            stop = Timer(300, process.kill)
            stop.start()
            assert process.stdin
            assert process.stdout
            print(path, file=process.stdin, flush=True)
            lines = takewhile(lambda line: not line.startswith("end: "), process.stdout)
            text, _, peak = "".join(lines).rpartition("peak: ")
            stop.cancel()
            errors.seek(0)
            assert peak, errors.read()[-2000:]
            return text.strip(), int(peak)

        yield read
        process.stdin.close()


def write_gzip(path: Path, parts: Iterator[bytes]) -> Path:
    """Write the members of a gzip file."""
    with path.open("wb") as file:
        for part in parts:
            file.write(part)
    return path


def gzip_members(unit: bytes, times: int) -> Iterator[bytes]:
    """Yield ``times`` gzip members, each with ``unit``; the unit is compressed once."""
    member = gzip.compress(unit, 9, mtime=0)
    for _ in range(times):
        yield member


def write_one_line(path: Path, megabytes: int) -> Path:
    """Write JSON Lines with one long line, as a single gzip member whose blocks are compressed once."""
    squeeze, unit = zlib.compressobj(9, zlib.DEFLATED, -15), b"x" * MEGABYTE
    begin, end = b'{"response": "', b'"}\n'
    first, block = (
        squeeze.compress(part) + squeeze.flush(zlib.Z_FULL_FLUSH)  # what follows refers to nothing before
        for part in (begin, unit)
    )
    last = squeeze.compress(end) + squeeze.flush()
    checksum = reduce(lambda before, part: zlib.crc32(part, before), [begin, *[unit] * megabytes, end], 0)
    size = len(begin) + megabytes * MEGABYTE + len(end)
    header = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    path.write_bytes(header + first + block * megabytes + last + struct.pack("<II", checksum, size))
    return path


def write_blocks(path: Path, begin: bytes, unit: bytes, megabytes: int, end: bytes = b"") -> Path:
    """Write an uncompressed file of many equal blocks."""
    block = unit * (MEGABYTE // len(unit))
    with path.open("wb") as file:
        file.write(begin)
        for _ in range(megabytes):
            file.write(block)
        file.write(end)
    return path


def write_parquet(path: Path, table: object, **options: object) -> Path:
    """Write a table as Parquet, by default with zstd."""
    from pyarrow import parquet as pq

    pq.write_table(table, path, **{"compression": "zstd"} | options)
    return path


def _dictionary(folder: Path) -> Path:
    import pyarrow as pa

    text = pa.array(["x" * 100_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 64, pa.int32()), text)
    return write_parquet(folder / "dictionary.parquet", pa.table({"response": column}))


def _shared_prefixes(folder: Path) -> Path:
    import pyarrow as pa

    table = pa.table({"response": ["x" * 8_000_000] * 64})
    return write_parquet(
        folder / "prefixes.parquet", table, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY"
    )


def _long_list(folder: Path) -> Path:
    import numpy as np
    import pyarrow as pa

    count = 60_000_000
    items = pa.array(np.zeros(count, np.int8))
    lists = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), items)
    return write_parquet(folder / "list.parquet", pa.table({"response": ["r"], "metadata_x": lists}))


def _nested_texts(folder: Path) -> Path:
    import numpy as np
    import pyarrow as pa

    count = 1_000_000
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["x" * 1_000_000]))
    lists = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), texts)
    return write_parquet(folder / "texts.parquet", pa.table({"response": ["r"], "contexts": lists}))


def _legal_rows(folder: Path) -> Path:
    import numpy as np
    import pyarrow as pa

    text = pa.array(["x" * 3_900_000])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100, np.int32)), text)
    return write_parquet(folder / "legal.parquet", pa.table({"response": column}))


def _wide(folder: Path) -> Path:
    import pyarrow as pa

    names = [f"c{k}" for k in range(12_000)]
    return write_parquet(folder / "wide.parquet", pa.table([pa.array([1])] * len(names), names=names))


def _deep(folder: Path) -> Path:
    import pyarrow as pa

    kind, value = pa.int8(), 1
    for _ in range(300):
        kind, value = pa.list_(kind), [value]
    table = pa.table({"response": ["r"], "x": pa.array([value], kind)})
    return write_parquet(folder / "deep.parquet", table)


def _metadata(folder: Path) -> Path:
    import pyarrow as pa

    table = pa.table({"response": ["r"]}).replace_schema_metadata({"k": "x" * 20_000_000})
    return write_parquet(folder / "metadata.parquet", table)


def _zeros(folder: Path) -> Path:
    import numpy as np
    import pyarrow as pa

    table = pa.table({"response": ["r"] * 20_000, "x": np.zeros(20_000)})
    return write_parquet(folder / "zeros.parquet", table, data_page_size=1 << 30)


def _arrow(name: str, column: Callable[[], object], **options: object) -> Callable[[Path], Path]:
    """Return a function that writes a column as an Arrow file; ``options`` are those of the format."""

    def make(folder: Path) -> Path:
        import pyarrow as pa

        table, written = pa.table({"response": column()}), pa.ipc.IpcWriteOptions(**options)
        with pa.ipc.new_file(folder / name, table.schema, options=written) as file:
            file.write_table(table)
        return folder / name

    return make


def _repeated_text(rows: int, size: int) -> Callable[[], object]:
    """Return a function that makes a dictionary with one text, which all rows have."""

    def make() -> object:
        import numpy as np
        import pyarrow as pa

        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * size]))

    return make


def _shared_text(folder: Path) -> Path:
    import pyarrow as pa

    return write_parquet(folder / "s.parquet", pa.table({"response": _repeated_text(200, 3_900_000)()}))


def _shared_views() -> object:
    """Return views of one text of 3.9 MB, 1,000 times."""
    import pyarrow as pa

    view = struct.pack("<i4sii", 3_900_000, b"xxxx", 0, 0)
    buffers = [None, pa.py_buffer(view * 1000), pa.py_buffer(b"x" * 3_900_000)]
    return pa.Array.from_buffers(pa.string_view(), 1000, buffers)


def _many_keys(folder: Path) -> Path:
    path = folder / "keys.json"
    path.write_text("{" + ",".join(f'"{key}":1' for key in range(1_000_000)) + "}")
    return path


def _blank_lines(folder: Path) -> Path:
    parts = chain(gzip_members(b"\n" * MEGABYTE, 10), gzip_members(b'{"response": "r"}\n', 1))
    return write_gzip(folder / "blank.jsonl.gz", parts)


def _legal_lines(folder: Path) -> Path:
    return write_gzip(
        folder / "rows.jsonl.gz", gzip_members(b'{"response": "%s"}\n' % (b"x" * 3_900_000), 100)
    )


def _null_contexts(folder: Path) -> Path:
    row = b'{"contexts": null, "context": null, "response": "r", "x": "%s"}\n' % (b"x" * MEGABYTE)
    return write_gzip(folder / "null.jsonl.gz", gzip_members(row, 600))


class Bomb(NamedTuple):
    """A small file that decodes to a large value.

    Attributes:
        name: of the test case.
        make: writes the file into a folder.
        expected: part of the number of rows or of the error that its reading prints.
        slow: takes about two seconds of CPU time or more; a faster bomb tests the same code.
    """

    name: str
    make: Callable[[Path], Path]
    expected: str
    slow: bool = False


def _plain(name: str, begin: bytes, unit: bytes, megabytes: int, end: bytes = b"") -> Callable[[Path], Path]:
    return lambda folder: write_blocks(folder / name, begin, unit, megabytes, end)


_ROW = b',{"response": "%s"}' % (b"r" * 10_000)
_CELL, _LARGE_ROW = "larger than 4 MB", "larger than 8 MB"
BOMBS = (
    Bomb(
        "Parquet: 64 rows share one text of 100 MB",
        _dictionary,
        ":1: decoding the values in column 'resp",
        slow=True,
    ),
    Bomb(
        "Parquet: 64 rows of 8 MB with shared prefixes",
        _shared_prefixes,
        f"column 'response' is {_CELL}",
        slow=True,
    ),
    Bomb("Parquet: a list of 60,000,000 numbers", _long_list, "in column 'metadata_x", slow=True),
    Bomb(
        "Parquet: a list of 1,000,000 texts of 1 MB",
        _nested_texts,
        ":1: decoding the values in column 'contexts' takes",
    ),
    Bomb("Parquet: 100 rows of 3.9 MB, each legal", _legal_rows, "rows: 100"),
    Bomb("Parquet: 12,000 columns", _wide, "12,000 columns are more than 10,000"),
    Bomb("Parquet: lists nested 300 levels", _deep, "nested"),
    Bomb(
        "Parquet: 200 rows share one text of 3.9 MB",
        _shared_text,
        "rows: 200",
    ),
    Bomb(
        "Arrow: 200 rows share one text of 3.9 MB",
        _arrow("a.arrow", _repeated_text(200, 3_900_000)),
        "rows: 200",
    ),
    Bomb(
        "Arrow: 64 rows share one text of 100 MB",
        _arrow("b.arrow", _repeated_text(64, 100_000_000), compression="zstd"),
        ":1: decoding the values in column 'response' takes",
    ),
    Bomb(
        "Arrow: 1,000 views of one text of 3.9 MB",
        _arrow("c.feather", _shared_views),
        "rows: 1000",
        slow=True,
    ),
    Bomb(
        "Arrow: one batch of 600 MB",
        _arrow("d.arrow", lambda: ["x" * 1_000_000] * 600, compression="zstd"),
        ":1: decoding the values takes more than",
        slow=True,
    ),
    Bomb("Parquet: 20 MB of metadata", _metadata, "rows: 1"),
    Bomb("Parquet: one page of 20,000 zeros", _zeros, "rows: 20000"),
    Bomb(
        "gzip: one line of 300 MB",
        lambda folder: write_one_line(folder / "line.jsonl.gz", 300),
        f":1: the row is {_LARGE_ROW}",
    ),
    Bomb("gzip: 10,000,000 empty lines in ten members", _blank_lines, "rows: 1", slow=True),
    Bomb("gzip: 100 rows of 3.9 MB, each legal", _legal_lines, "rows: 100", slow=True),
    Bomb("gzip: 600 rows of 1 MB, null contexts", _null_contexts, "rows: 600", slow=True),
    Bomb(
        "CSV: one quoted cell of 200 MB",
        _plain("cell.csv", b'response\n"', b"line of text\n", 200, b'"\n'),
        _LARGE_ROW,
    ),
    Bomb(
        "CSV: 1,000,000 columns",
        _plain("wide.csv", b"response", b",c", 2, b"\n"),
        "1,048,577 columns are more",
    ),
    Bomb("JSON: 1,000,000 levels", _plain("deep.json", b"", b"[", 1), "nested too deeply"),
    Bomb("JSON: a text of 100 MB", _plain("text.json", b'[{"response": "', b"x", 100, b'"}]'), _LARGE_ROW),
    Bomb("JSON: an object of 1,000,000 keys", _many_keys, "columns are more than 10,000"),
    Bomb(
        "JSON: a number of 1,000,000 digits",
        _plain("n.json", b'[{"response": ', b"1", 1, b"}]"),
        "Exceeds the limit",
    ),
    Bomb(
        "JSON: a list of 100 MB in one line",
        _plain("list.json", b'[{"response": "r"}', _ROW, 100, b"]"),
        "rows: 10",
    ),
    Bomb(
        "JSON Lines: a row of 2,500,000 empty lists",
        _plain("l.jsonl", b'{"response": "r", "x": [[]', b",[]", 7, b"]}\n"),
        f"column 'x' is {_CELL}",
    ),
    Bomb("UTF-16: one line of 100 MB", _plain("wide.jsonl", b'\xff\xfe{\0"\0', b"x\0", 100), _LARGE_ROW),
)
