"""Read and write files of a run on a cluster, by local path or by address of an Arrow file system."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import secrets
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import quote

from sgi.distributed.addresses import as_address, join_path, split_query
from sgi.io.files import SUFFIXES, check_encoded, check_readable, suffix
from sgi.io.text_file import open_bytes
from sgi.io.write import open_writer, write_whole
from sgi.kernel.durable_files import make_folder, sync_folder
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.json_shapes import AnyText, Count  # noqa: TC001 - pydantic reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.write import RowWriter

_PATTERN = re.compile(r"[*?\[]")
_PLAIN = "/:@!$&'()*+,;=~"
"""Characters that need no escape in an address, beside letters, digits, ``-``, ``.`` and ``_``."""


@dataclass(frozen=True)
class Source:
    """A data file.

    ``place`` is its absolute path or address, ``shown`` the name in messages, ``size`` in bytes. ``stem`` is
    the prefix of generated row ids (None for a single file); ``encoding`` is None for UTF-8, or that of the
    byte order mark.
    """

    place: AnyText
    shown: AnyText
    size: Count
    stem: AnyText | None = None
    encoding: AnyText | None = None


def find_sources(data: str, encoding: str | None = None) -> list[Source]:
    """Find data files: one file, all files of a folder, or those that match a pattern; sorted.

    A folder's files of unknown types, and names that begin with a dot or underscore, are ignored. With
    several files, generated row ids begin with the file name.

    Raises DataError if a file is missing or cannot be read, UsageError if the encoding is unknown or a file
    is not text.
    """
    address = as_address(data)
    sources = _local(data) if address is None else _remote(address)
    if not sources:
        hint = f"Files can be {', '.join(SUFFIXES)}."
        raise DataError("holds no file that can be read", file=data, hint=hint)
    for source in sources:
        check_encoded(Path(source.shown), encoding)
    stems = _stems([source.shown for source in sources]) if len(sources) > 1 else [None]
    return [replace(s, stem=stem, encoding=encoding) for s, stem in zip(sources, stems, strict=True)]


@contextmanager
def open_input(place: str, shown: str) -> Iterator[IO[bytes]]:
    """Context manager that opens a file to read bytes; ``.gz`` is decompressed, other files are seekable."""
    address = as_address(place)
    if address is None:
        with open_bytes(Path(place)) as stream:
            yield stream
        return
    system, path = _arrow(address)
    try:
        raw = system.open_input_file(path)
    except OSError as error:
        raise DataError(f"cannot be opened: {_reason(error)}", file=shown) from error
    with io.BufferedReader(cast("io.RawIOBase", raw)) as stream:
        if not split_query(place)[0].casefold().endswith(".gz"):
            yield stream
            return
        with io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=stream))) as decode_error:
            yield decode_error


@dataclass(frozen=True)
class Folder:
    """A folder of partitions; files are written atomically.

    >>> with TemporaryDirectory() as place:
    ...     folder = Folder(place)
    ...     folder.put("run.json", b"{}")
    ...     folder.names(), folder.read("run.json"), folder.read("another")
    ({'run.json'}, b'{}', None)
    """

    text: str

    def make(self) -> None:
        """Create the folder if it does not exist."""
        address = as_address(self.text)
        try:
            if address is None:
                make_folder(Path(self.text))
            else:
                system, path = _arrow(address)
                system.create_dir(path, recursive=True)
        except OSError as error:
            message = f"{self.text} cannot be a folder: {_reason(error)}."
            raise UsageError(message, hint="Name another folder.") from error

    def names(self) -> set[str]:
        """Return the names of the files in the folder."""
        address = as_address(self.text)
        if address is None:
            folder = Path(self.text)
            return {file.name for file in folder.iterdir()} if folder.is_dir() else set()
        from pyarrow import fs

        system, path = _arrow(address)
        infos = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return {info.base_name for info in infos}

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        address = as_address(self.text)
        try:
            if address is None:
                return (Path(self.text) / name).read_bytes()
            system, path = _arrow(join_path(address, name))
            with system.open_input_file(path) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"cannot be read: {_reason(error)}", file=self.path_of(name)) from error

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file."""
        with open_input(join_path(self.text, name), self.path_of(name)) as stream:
            yield from stream

    def digest(self, name: str) -> str:
        """Return the hash of the content of a file; raises DataError if it cannot be read."""
        state = hashlib.blake2b(digest_size=16)
        try:
            if as_address(self.text) is None and not (Path(self.text) / name).stat().st_size:
                return state.hexdigest()  # no rows, which a reader of data would refuse
        except OSError as error:
            raise DataError(f"cannot be read: {_reason(error)}", file=self.path_of(name)) from error
        for line in self.lines(name):
            state.update(line)
        return state.hexdigest()

    def create(self, name: str, content: bytes) -> bool:
        """Create a file; return False if it exists. Atomic in a file system, but not in an object store."""
        if as_address(self.text) is not None:
            if self.read(name) is not None:
                return False
            self.put(name, content)
            return self.read(name) == content
        part = Path(self.text) / f".sgi-{secrets.token_hex(8)}.part"
        write_whole(part, content)
        try:
            os.link(part, Path(self.text) / name)  # unlike a renaming, it replaces nothing
            sync_folder(Path(self.text))
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if self.read(name) is not None:
                return False
            self.put(name, content)
        finally:
            part.unlink(missing_ok=True)
        return True

    def put(self, name: str, content: bytes) -> None:
        """Write a file, atomically replacing an existing one."""
        address = as_address(self.text)
        if address is None:
            write_whole(Path(self.text) / name, content)
            return
        with TemporaryDirectory(prefix="sgi-") as waiting:
            part = Path(waiting) / name
            part.write_bytes(content)
            self._send(part, address)

    @contextmanager
    def writer(self, name: str) -> Iterator[RowWriter]:
        """Context manager that opens a writer of rows; the file gets its name when the block succeeds."""
        address = as_address(self.text)
        if address is None:
            with open_writer(Path(self.text) / name) as rows:
                yield rows
            return
        with TemporaryDirectory(prefix="sgi-") as waiting:
            part = Path(waiting) / name
            with open_writer(part) as rows:
                yield rows
            self._send(part, address)

    def sweep(self) -> None:
        """Remove the temporary files of processes that were killed while writing."""
        if as_address(self.text) is None:
            for left in Path(self.text).glob(".sgi-*.part"):
                left.unlink(missing_ok=True)

    def path_of(self, name: str) -> str:
        """Return the path of a file for messages."""
        return (
            split_query(join_path(self.text, name))[0]
            if as_address(self.text)
            else join_path(self.text, name)
        )

    def _send(self, part: Path, address: str) -> None:
        from pyarrow import fs

        system, path = _arrow(address)
        target = f"{path}/{part.name}"
        moves = system.type_name in {"local", "hdfs"}
        there = f"{path}/.{part.name}.part" if moves else target
        try:
            fs.copy_files(
                str(part), there, source_filesystem=fs.LocalFileSystem(), destination_filesystem=system
            )
            if moves:
                system.move(there, target)
        except OSError as error:
            raise DataError(f"cannot be written: {_reason(error)}", file=self.path_of(part.name)) from error


def _local(data: str) -> list[Source]:
    path = Path(data)
    if path.is_dir():
        files = [
            file for file in sorted(path.rglob("*")) if _is_data(file.relative_to(path)) and file.is_file()
        ]
    elif not path.exists() and _PATTERN.search(data):
        below = path.relative_to(path.anchor) if path.anchor else path
        files = [file for file in sorted(Path(path.anchor).glob(str(below))) if file.is_file()]
    else:
        files = [path]
    for file in files:
        check_readable(file)
    return [Source(str(file.resolve()), str(file), file.stat().st_size) for file in files]


def _remote(address: str) -> list[Source]:
    from pyarrow import fs

    place, query = split_query(address)
    scheme, _, rest = place.partition("://")
    fixed = rest[: wildcard.start()].rpartition("/")[0] if (wildcard := _PATTERN.search(rest)) else rest
    root = f"{scheme}://{fixed.rstrip('/')}"
    system, base = _arrow(f"{scheme}://{fixed}{query}")
    try:
        if wildcard is None and system.get_file_info(base).type == fs.FileType.File:
            infos = [system.get_file_info(base)]
        else:
            infos = system.get_file_info(fs.FileSelector(base, recursive=True))
    except OSError as error:
        raise DataError(f"cannot be read: {_reason(error)}", file=address) from error
    pattern = f"{base}{rest[len(fixed) :]}" if wildcard else "*"
    return [
        Source(f"{root}{quote(below_root, safe=_PLAIN)}{query}", f"{root}{below_root}", info.size)
        for info in sorted(infos, key=lambda info: str(info.path))
        if info.type == fs.FileType.File
        and fnmatchcase(info.path, pattern)
        and (info.path == base or _is_data(PurePosixPath(info.path[len(base) :].lstrip("/"))))
        for below_root in [info.path[len(base) :]]
    ]


def _is_data(path: PurePosixPath | Path) -> bool:
    return suffix(Path(path)) in SUFFIXES and not any(part.startswith((".", "_")) for part in path.parts)


def _stems(places: list[str]) -> list[str]:
    """Return file names without suffix, with as many parent folders as needed to be unique."""
    paths = [PurePosixPath(place) for place in places]
    names = [path.name.partition(".")[0] for path in paths]
    if len(set(names)) == len(names):
        return names
    shared = min(len(path.parts) for path in paths) - 1
    while len({path.parts[:shared] for path in paths}) > 1:
        shared -= 1
    return ["/".join(path.parts[shared:]) for path in paths]


def _arrow(address: str) -> tuple[Any, str]:
    import pyarrow as pa
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(address)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UsageError(f"{split_query(address)[0]} cannot be reached: {_reason(error)}.") from error
    return system, path.rstrip("/")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0].rstrip(".")
