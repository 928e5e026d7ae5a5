"""Records of accepted uploads on disk, so that a killed server does not lose them.

A record is a JSON Lines file in the site's folder: the upload, then its progress. The server that works on
it locks the file; the system releases the lock when the process ends. So servers can share a folder.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from sgi.engine.spec import RunSpec
from sgi.kernel.errors import SgiError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RECORD = "job-"
_SUFFIX = ".jsonl"
_KEYS = {"data", "metrics", "embedders", "backend", "precision", "name"}
"""What the spec of an upload can hold; nothing in a record can have other files read or code run."""
_HOUR = 3600
_DAY = 24 * _HOUR


@dataclass(eq=False)
class JobRecord:
    """The record of an upload, locked by this process."""

    path: Path
    stream: IO[bytes]

    @classmethod
    def create(cls, folder: Path, job: str, facts: dict[str, Any]) -> JobRecord:
        """Write the record of an upload and sync it to disk.

        Raises:
            StoreError: it cannot be written, for example because the disk is full.
        """
        path = folder / f"{_RECORD}{job}{_SUFFIX}"
        try:
            record = cls(path, path.open("xb"))
            try:
                _lock(record.stream)
                record.add(facts)
                _sync_folder(folder)
            except BaseException:
                record.remove()
                raise
        except OSError as error:
            raise StoreError(f"The upload cannot be saved: {error.strerror or error}.") from error
        return record

    def add(self, facts: dict[str, Any]) -> None:
        """Append a line and sync it to disk."""
        self.stream.write(json.dumps(facts).encode() + b"\n")
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def remove(self) -> None:
        """Delete the record."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Unlock the record for the next server."""
        with suppress(OSError):
            self.stream.close()


@dataclass(frozen=True)
class RestoredJob:
    """An upload that an earlier server accepted and did not finish; ``started`` if it began to score it."""

    id: str
    spec: RunSpec
    shown: str
    tags: tuple[str, ...]
    started: bool
    run: str | None
    record: JobRecord


def restore_jobs(folder: Path) -> Iterator[RestoredJob]:
    """Yield the uploads that no live server works on, in order of arrival.

    Incomplete records and records of uploads interrupted long ago are deleted.
    """
    try:
        paths = sorted(folder.glob(f"{_RECORD}*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
    except OSError:
        return
    for path in paths:
        with suppress(OSError, ValueError, KeyError, TypeError, SgiError):
            restored_job = _restore(path)
            if restored_job is not None:
                yield restored_job


def _restore(path: Path) -> RestoredJob | None:
    age = time.time() - path.stat().st_mtime
    record = JobRecord(path, path.open("r+b"))
    if not _lock(record.stream):
        record.close()
        return None
    try:
        whole = [line for line in record.stream if line.endswith(b"\n")]
        record.stream.seek(sum(map(len, whole)))
        record.stream.truncate()  # drop an incomplete last line
        lines = list(map(json.loads, whole))
        facts = {name: value for line in lines for name, value in line.items()}
        spec = _validate_spec(facts["spec"], path.parent.resolve())
        started = facts.get("started") is True
        if started and age > _DAY:
            record.remove()
            return None
        tags = tuple(str(tag) for tag in facts["tags"])
        run = facts.get("run")
        return RestoredJob(
            str(facts["id"]),
            spec,
            str(facts["shown"]),
            tags,
            started,
            None if run is None else str(run),
            record,
        )
    except (ValueError, KeyError, TypeError, SgiError):
        record.remove() if age > _HOUR else record.close()
        return None


def _validate_spec(values: dict[str, Any], folder: Path) -> RunSpec:
    """The spec of an upload; its file must be in this folder, and nothing in it may run code."""
    spec = RunSpec.of(values)
    if set(values) - _KEYS or spec.data.parent != folder:
        raise ValueError(values)
    return spec


def _lock(stream: IO[bytes]) -> bool:
    """Lock a file for this process; False if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows: other processes cannot delete an open file
        return True
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
