"""Uploaded files and the metrics available for them."""

from __future__ import annotations

import logging
import secrets
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import IO, TYPE_CHECKING

from sgi.kernel.errors import SgiError, StoreError, UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric, metric_classes
from sgi.store.manage_runs import data_files

if TYPE_CHECKING:
    from sgi.web.site import Site

SUFFIXES = (".jsonl", ".csv", ".parquet")
"""File types of uploads."""

EXPORT = "rows-"
"""Prefix of temporary files for downloads."""

_UPLOAD = "upload-"
_PART = ".sgi-"
"""Prefix of files that are being written."""
_LONGEST = 80
_DAY = 24 * 3600
_HOUR = 3600
_log = logging.getLogger("sgi.web")


@cache
def offline_metrics() -> dict[str, str]:
    """Return the metrics without a judge and without required parameters, with the fields that each needs."""
    classes, _ = metric_classes()
    usable = {}
    for name, kind in classes.items():
        if issubclass(kind, JudgedMetric):
            continue
        with suppress(SgiError, TypeError):
            metric(name)
            usable[name] = ", ".join(sorted(map(str, kind.spec.needs)))
    return usable


def file_name(name_sent: str | None) -> str:
    r"""Return the file name without the folders that some browsers send.

    >>> file_name("C:\\data\\rows.csv"), file_name("../../etc/passwd"), file_name("")
    ('rows.csv', 'passwd', 'the file')
    """
    name = PureWindowsPath(PurePosixPath(name_sent or "").name).name.strip()
    return name[-_LONGEST:] or "the file"


def save_upload(site: Site, stream: IO[bytes], shown: str) -> Path:
    """Store an upload in the site's folder under a generated name; the suffix of ``shown`` gives the format.

    Raises:
        UsageError: the format is not supported, or the file is empty.
        StoreError: it cannot be stored, for example because the disk is full.
    """
    suffix = PurePosixPath(shown).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{shown!r} is not a supported file type.", hint=f"Supported: {', '.join(SUFFIXES)}."
        )
    path = site.folder.resolve() / f"{_UPLOAD}{secrets.token_hex(8)}{suffix}"
    try:
        site.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("xb") as target:
            shutil.copyfileobj(stream, target)
        size = path.stat().st_size
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise StoreError(f"The upload cannot be saved: {error.strerror or error}.") from error
    if not size:
        path.unlink()
        raise UsageError(f"{shown!r} is empty.", hint="Choose a file with rows.")
    return path


def remove_leftovers(site: Site) -> None:
    """Delete files of killed servers: uploads without a run after a day, exports after an hour."""
    try:
        needed = {PurePath(path).name for path in data_files(site.database)}
        paths = list(site.folder.iterdir())
    except FileNotFoundError:
        return
    except (SgiError, OSError) as error:
        _log.warning("cannot remove leftover files: %s", error)
        return
    for path in paths:
        longest = _HOUR if path.name.startswith((EXPORT, _PART)) else _DAY
        is_ours = path.name.startswith((EXPORT, _PART, _UPLOAD)) and path.name not in needed
        with suppress(OSError):
            if is_ours and path.is_file() and path.stat().st_mtime < time.time() - longest:
                path.unlink()
