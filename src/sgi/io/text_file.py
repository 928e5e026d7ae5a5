"""Open text files, decompress and decode them, split them into lines, and reject binary files."""

from __future__ import annotations

import codecs
import io
import re
import zlib
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, TYPE_CHECKING, BinaryIO, Literal, cast

from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.input_limits import check_time, how_to_raise, input_limits, size_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# UTF-32's little-endian mark begins with UTF-16's, so it is tried first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"%PDF", b"\x89PNG", b"SQLite format 3\x00", b"ARROW1")
NOT_UTF8 = (
    "Save the file as UTF-8, or name its `encoding`, such as cp1252 for files from Windows in Western Europe."
)
"""The hint for text that is not UTF-8; we never guess its encoding."""
_UNDECODED = re.compile("[\udc80-\udcff]")
_HEAD = 4096
_PIECE = 1 << 18
_BINARY_SHARE = 0.05
_CHECK_EVERY = 1024


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Context manager that opens a file's bytes, decompressed if its name ends in ``.gz``.

    Raises DataError if it is missing, not a regular file, empty or unreadable.
    """
    name = str(path)
    try:
        _refuse_odd(path, name)
        stream = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", file=name) from error
    with stream:
        if not stream.peek(1):
            raise DataError("is empty", file=name)
        if path.suffix.casefold() != ".gz":
            yield stream
            return
        import gzip

        with io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=stream))) as unpacked:
            yield unpacked


def checked_encoding(encoding: str | None) -> str | None:
    """Return the encoding, or raise a UsageError if Python cannot decode text with it."""
    if encoding is not None:
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        except (LookupError, ValueError) as error:
            hint = "Examples: utf-8, utf-16, cp1252, latin-1, shift_jis, gb18030."
            raise UsageError(f"Unknown encoding {encoding!r}.", hint=hint) from error
    return encoding


def numbered_lines(stream: IO[bytes], file: str, encoding: str | None = None) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines with their numbers from 1, as UTF-8 bytes without the byte order mark.

    Lines keep their ``\n``. UTF-16 and UTF-32 are detected by their byte order marks; without ``encoding``
    everything else is read as UTF-8, and the reader of the line rejects other bytes. Raises DataError if the
    file is binary, truncated or not in the given encoding, or a line exceeds the limit of a row.

    >>> list(numbered_lines(io.BytesIO("a\nb".encode("utf-16")), "a.txt"))
    [(1, b'a\n'), (2, b'b')]
    """
    return whole_lines(pieces(stream, file, encoding), file)


def whole_lines(
    parts: Iterable[tuple[int, bytes]], file: str, limit: Literal["row", "file"] = "row"
) -> Iterator[tuple[int, bytes]]:
    """Join pieces to lines; raises DataError for a line that exceeds the limit of a row, or of a file."""
    most = getattr(input_limits(), limit)
    held: list[bytes] = []
    size = number = 0
    for number, part in parts:
        size += len(part)
        if size > most:
            raise row_too_large(file, number, limit)
        if not part.endswith(b"\n"):
            held.append(part)
            continue
        yield number, b"".join((*held, part)) if held else part
        held.clear()
        size = 0
    if held:
        yield number, b"".join(held)


def row_too_large(file: str, line: int, limit: Literal["row", "file"] = "row") -> DataError:
    """Build the error of a row, or of a line with many rows, that exceeds the limit."""
    what = "row" if limit == "row" else "line"
    message = f"the {what} is larger than {size_text(getattr(input_limits(), limit))}"
    return DataError(message, file=file, line=line, hint=how_to_raise(limit))


def pieces(stream: IO[bytes], file: str, encoding: str | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines as `numbered_lines` does, in pieces of at most 256 KB. Raises DataError as it does."""
    peeks = hasattr(stream, "peek")
    buffered = cast("io.BufferedReader", stream if peeks else io.BufferedReader(cast("io.RawIOBase", stream)))
    number = 1
    try:
        head = buffered.peek(_HEAD)[:_HEAD]
        mark, marked = next(((m, e) for m, e in _MARKS if head.startswith(m)), (b"", ""))
        if encoding and marked and not codecs.lookup(encoding).name.startswith(marked[:6].rstrip("-")):
            message = f"begins with the byte order mark of {marked}, so it is not {encoding}"
            raise DataError(message, file=file, hint="Leave out `encoding`.")
        chosen = marked or codecs.lookup(encoding or "utf-8").name
        if chosen == "utf-8":
            _refuse_binary(head, file)
        buffered.read(len(mark))
        is_utf8 = chosen == "utf-8"
        parts = iter(partial(buffered.readline, _PIECE), b"") if is_utf8 else _recode(buffered, chosen)
        for count, part in enumerate(parts):
            if not count % _CHECK_EVERY:
                check_time()
            yield number, part
            number += part.endswith(b"\n")
    except _DecodeError as error:
        raise DataError(str(error), file=file, line=number, hint="Check `encoding`.") from None
    except UnicodeError as error:
        problem = f"{error.reason} in {error.encoding}" if isinstance(error, UnicodeDecodeError) else error
        raise DataError(f"the text cannot be decoded to its end: {problem}", file=file, line=number) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=file, line=number) from error
    finally:
        if not peeks:
            _leave(buffered)


def broken_text(line: bytes, before: int = 0) -> str | None:
    r"""Describe why bytes are not UTF-8; None if they are. ``before`` bytes of the line precede them."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        place = before + error.start + 1
        if line[error.start : error.start + 1] == b"\xed":  # where halves of characters would be encoded
            return f"byte {place} begins a lone surrogate, which is not a character"
        return f"byte {place} (0x{line[error.start]:02x}) is not UTF-8"
    return None


def _refuse_odd(path: Path, name: str) -> None:
    if path.is_dir():
        hint = "Name a file in it, or a folder that `datasets.save_to_disk` wrote."
        raise DataError("is a directory", file=name, hint=hint)
    if not path.exists():
        raise DataError("does not exist", file=name, hint="Check the name and the folder.")
    if not path.is_file():
        raise DataError(
            "is not a regular file", file=name, hint="Save the data in a file, or pipe JSON lines."
        )


def _refuse_binary(head: bytes, file: str) -> None:
    controls = sum(byte < ord(" ") and not ord("\t") <= byte <= ord("\r") for byte in head)
    if head.startswith(_SIGNATURES) or controls > _BINARY_SHARE * len(head):
        hint = (
            "Save it as UTF-8 text. UTF-16 needs a byte order mark or the `encoding` utf-16-le, and other "
            "formats their own suffix."
        )
        raise DataError("is binary data, not text", file=file, hint=hint)


def _recode(stream: IO[bytes], encoding: str) -> Iterator[bytes]:
    wide = encoding.startswith(("utf-16", "utf-32"))
    errors = "surrogatepass" if wide else "surrogateescape"
    text = io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="\n")
    try:
        first, at = True, 0
        for line in iter(partial(text.readline, _PIECE), ""):
            if not wide and not line.isascii() and (bad := _UNDECODED.search(line)):
                byte, character = ord(bad[0]) - 0xDC00, at + bad.start() + 1
                raise _DecodeError(f"byte 0x{byte:02x} at character {character} is not {encoding}")
            yield (line.removeprefix("\ufeff") if first else line).encode("utf-8", "surrogatepass")
            first, at = False, 0 if line.endswith("\n") else at + len(line)
    finally:
        _leave(text)


class _DecodeError(Exception):
    """A byte that the given encoding does not have."""


def _leave(wrapper: io.BufferedReader | io.TextIOWrapper) -> None:
    """Detach the stream, because deleting the wrapper would close the caller's stream."""
    with suppress(ValueError):  # the caller has closed it meanwhile
        wrapper.detach()
