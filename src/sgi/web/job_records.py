"""Records of accepted uploads on disk, so that a server which is killed forgets none.

A record is a file of JSON lines in the site's folder: the upload, then what happened to it. The server that
works on it holds a lock on the file, which the system releases when the process ends in whatever way: several
servers can share a folder.
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
    """The record of an upload, locked by this process.

    Attributes:
        path: of the file.
        stream: the open file.
    """

    path: Path
    stream: IO[bytes]

    @classmethod
    def create(cls, folder: Path, job: str, facts: dict[str, Any]) -> JobRecord:
        """Write the record of an upload, and have it on disk.

        Raises:
            StoreError: it cannot be written, as when the disk is full.
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
        """Add a line, and have it on disk."""
        self.stream.write(json.dumps(facts).encode() + b"\n")
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def remove(self) -> None:
        """Remove the record: nobody needs it any more."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Leave the record to the next server."""
        with suppress(OSError):
            self.stream.close()


@dataclass(frozen=True)
class RestoredJob:
    """An upload that an earlier server accepted and did not finish.

    Attributes:
        id: of the job.
        spec: how its run is asked for.
        shown: what its owner calls the file.
        tags: for its run.
        started: whether the earlier server began to score it.
        run: the id of its run, if there was one.
        record: its record, locked by this process.
    """

    id: str
    spec: RunSpec
    shown: str
    tags: tuple[str, ...]
    started: bool
    run: str | None
    record: JobRecord


def restore_jobs(folder: Path) -> Iterator[RestoredJob]:
    """The uploads that no living server works on, in the order in which they came.

    Records that were never complete belong to uploads that were never accepted; those and records of uploads
    that were interrupted long ago are removed.
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
        record.stream.truncate()  # the next line begins a line
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
    """The spec of an upload, if it is one: of a file in this folder, and nothing that runs code."""
    spec = RunSpec.of(values)
    if set(values) - _KEYS or spec.data.parent != folder:
        raise ValueError(values)
    return spec


def _lock(stream: IO[bytes]) -> bool:
    """Lock a file for this process; False where another process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be removed by others
        return True
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # a system where folders cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
