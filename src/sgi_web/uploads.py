"""Uploaded files: where they are stored, and when they are removed."""

from __future__ import annotations

import gzip
import logging
import secrets
import time
import zlib
from contextlib import suppress
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import IO, TYPE_CHECKING, cast

from sgi.io.files import SUFFIXES as READ_SUFFIXES
from sgi.kernel.errors import SgiError, StoreError, UsageError
from sgi.store.manage_runs import data_files

if TYPE_CHECKING:
    from sgi_web.site import Site

SUFFIXES = (*READ_SUFFIXES, ".pb")
"""File types of uploads, all also with ``.gz``."""

EXPORT = "rows-"
"""Prefix of temporary files for downloads."""

_UPLOAD = "upload-"
_PREVIEW = "preview-"
"""Prefix of files that are shown, but not scored yet."""
_PART = ".sgi-"
"""Prefix of files that are being written."""
_SHORT_LIVED = (EXPORT, _PREVIEW, _PART)
_LONGEST = 80
_PIECE = 1 << 20
_DAY = 24 * 3600
PREVIEW_SECONDS = 3600
"""How long a preview is kept after its last request."""
_log = logging.getLogger("sgi_web")


def file_name(name_sent: str | None) -> str:
    r"""Return the file name without the folders that some browsers send.

    >>> file_name("C:\\data\\rows.csv"), file_name("../../etc/passwd"), file_name("")
    ('rows.csv', 'passwd', 'the file')
    """
    name = PureWindowsPath(PurePosixPath(name_sent or "").name).name.strip()
    return name[-_LONGEST:] or "the file"


def save_upload(site: Site, stream: IO[bytes], shown: str) -> Path:
    """Store an upload for its preview under a generated name; the suffix of ``shown`` gives the format.

    A ``.gz`` file is decompressed, and its content must not exceed the limit of an upload.

    Raises:
        UsageError: the type is not supported, or the file is empty, too large or not valid gzip.
        StoreError: it cannot be stored, for example because the disk is full.
    """
    plain = shown.lower().removesuffix(".gz")
    suffix = PurePosixPath(plain).suffix
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{shown!r} is not a supported file type.",
            hint=f"Supported: {', '.join(SUFFIXES)}, also compressed (.gz).",
        )
    path = site.folder.resolve() / f"{_PREVIEW}{secrets.token_hex(8)}{suffix}"
    try:
        site.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_compressed = plain != shown.lower()
        source = cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if is_compressed else stream
        _copy(source, path, site.upload_limit, shown)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"{shown!r} is not a valid gzip file.", hint="Compress it again.") from error
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise StoreError(f"The upload cannot be saved: {error.strerror or error}.") from error
    except UsageError:
        path.unlink(missing_ok=True)
        raise
    return path


def _copy(source: IO[bytes], path: Path, limit: int, shown: str) -> None:
    """Copy a stream to a new file. Raises UsageError if it is empty or exceeds the limit."""
    size = 0
    with path.open("xb") as target:
        while piece := source.read(_PIECE):
            size += len(piece)
            if size > limit:
                raise UsageError(
                    f"{shown!r} holds more than {limit / 1e6:.1f} MB.",
                    hint="Score the file with `sgi run`, or raise --upload-limit.",
                )
            target.write(piece)
    if not size:
        raise UsageError(f"{shown!r} is empty.", hint="Choose a file with rows.")


def keep_upload(path: Path) -> Path:
    """Rename the file of a preview to that of an upload, which is kept until it is scored.

    Raises:
        UsageError: the file does not exist, for example because it was started already.
    """
    target = path.with_name(f"{_UPLOAD}{path.name.removeprefix(_PREVIEW)}")
    try:
        return path.rename(target)
    except OSError as error:
        raise UsageError("This file is no longer here.", hint="Upload it again.") from error


def remove_leftovers(site: Site) -> None:
    """Delete files of killed servers: uploads without a run after a day, others after an hour."""
    try:
        needed = {PurePath(path).name for path in data_files(site.database)}
        paths = list(site.folder.iterdir())
    except FileNotFoundError:
        return
    except (SgiError, OSError) as error:
        _log.warning("cannot remove leftover files: %s", error)
        return
    for path in paths:
        longest = PREVIEW_SECONDS if path.name.startswith(_SHORT_LIVED) else _DAY
        is_ours = path.name.startswith((*_SHORT_LIVED, _UPLOAD)) and path.name not in needed
        with suppress(OSError):
            if is_ours and path.is_file() and path.stat().st_mtime < time.time() - longest:
                path.unlink()
