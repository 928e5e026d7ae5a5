"""Files of text, opened and cut into lines: compression, encodings, and what is no text at all."""

from __future__ import annotations

import codecs
import io
import zlib
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
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
_HEAD = 4096
_BINARY_SHARE = 0.05


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """A file's bytes, decompressed where its name ends in ``.gz``.

    Raises:
        DataError: the file is missing, a directory, no regular file, empty or unreadable.
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


def numbered_lines(stream: IO[bytes], file: str) -> Iterator[tuple[int, bytes]]:
    r"""The lines with their numbers from 1, as UTF-8 bytes without the byte order mark.

    Lines end in ``\n``, which is kept; bytes that are not UTF-8 are passed on for the reader of the line to
    refuse. UTF-16 and UTF-32 are known by their marks.

    >>> list(numbered_lines(io.BytesIO("a\nb".encode("utf-16")), "a.txt"))
    [(1, b'a\n'), (2, b'b')]

    Raises:
        DataError: the file is binary, or breaks off.
    """
    peeks = hasattr(stream, "peek")
    buffered = cast("io.BufferedReader", stream if peeks else io.BufferedReader(cast("io.RawIOBase", stream)))
    number = 0
    try:
        head = buffered.peek(_HEAD)[:_HEAD]
        mark, encoding = next(((m, e) for m, e in _MARKS if head.startswith(m)), (b"", ""))
        _refuse_binary(head, encoding, file)
        buffered.read(len(mark))
        lines = buffered if encoding in {"", "utf-8"} else _recoded(buffered, encoding)
        for number, line in enumerate(lines, 1):
            yield number, line
    except UnicodeDecodeError as error:
        message = f"the text breaks off: {error.reason} in {error.encoding}"
        raise DataError(message, file=file, line=number + 1) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=file, line=number + 1) from error
    finally:
        if not peeks:
            _leave(buffered)


def broken_text(line: bytes) -> str | None:
    r"""Why bytes are not UTF-8; None where they are.

    >>> broken_text(b"caf\xe9")
    'byte 4 (0xe9) is not UTF-8'
    """
    try:
        line.decode()
    except UnicodeDecodeError as error:
        if line[error.start : error.start + 1] == b"\xed":  # where halves of characters would be encoded
            return f"byte {error.start + 1} begins a lone surrogate, which is no character"
        return f"byte {error.start + 1} (0x{line[error.start]:02x}) is not UTF-8"
    return None


def _refuse_odd(path: Path, name: str) -> None:
    if path.is_dir():
        hint = "Name a file in it; a whole folder is scored with --ray local -o FOLDER."
        raise DataError("is a directory", file=name, hint=hint)
    if not path.exists():
        raise DataError("does not exist", file=name, hint="Check the name and the folder.")
    if not path.is_file():
        raise DataError(
            "is not a regular file", file=name, hint="Save the data in a file, or pipe JSON lines."
        )


def _refuse_binary(head: bytes, encoding: str, file: str) -> None:
    if encoding not in {"", "utf-8"}:
        return
    controls = sum(byte < 9 or 13 < byte < 32 for byte in head)  # noqa: PLR2004 - tab to CR are text
    if head.startswith(_SIGNATURES) or controls > _BINARY_SHARE * len(head):
        hint = "Save it as UTF-8 text; UTF-16 needs a byte order mark, and other formats their own suffix."
        raise DataError("is no text but binary data", file=file, hint=hint)


def _recoded(stream: IO[bytes], encoding: str) -> Iterator[bytes]:
    """UTF-8 lines of a stream in another encoding; lone surrogates stay what they are, and wrong."""
    text = io.TextIOWrapper(stream, encoding=encoding, errors="surrogatepass", newline="\n")
    try:
        for line in text:
            yield line.encode("utf-8", "surrogatepass")
    finally:
        _leave(text)


def _leave(wrapper: io.BufferedReader | io.TextIOWrapper) -> None:
    """Let go of the stream inside, or collecting the wrapper would close what belongs to the caller."""
    with suppress(ValueError):  # the caller has closed it meanwhile
        wrapper.detach()
