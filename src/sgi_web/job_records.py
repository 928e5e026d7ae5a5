"""Records of accepted uploads on disk, so that a killed server does not lose them.

A record is a JSON Lines file in the site's folder: the upload, then its progress. The server that works on
it locks the file; the system releases the lock when the process ends. So servers can share a folder.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Literal

from sgi.engine.spec import RunSpec
from sgi.kernel.errors import SgiError, StoreError
from sgi_web.data_scan import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

State = Literal["waiting", "running", "finished", "failed", "stopped"]

_RECORD = "job-"
_SUFFIX = ".jsonl"
_KEYS = {
    *("data", "metrics", "embedders", "long_texts", "name"),
    *("columns", "encoding", "on_error", "per_turn", "cluster", "max_failures"),
}
"""Allowed keys of the spec of an upload: none of them can read another file, name a judge or run code."""
_SOON = 0.02
"""The share of a stage after which its remaining time is estimated."""
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


@dataclass
class Job:
    """An upload and its progress.

    Attributes:
        spec: the settings of the run; the data is a file in the site's folder.
        shown: the name of the file on the user's computer.
        stage: the current step of the run.
        scored: number of finished rows of this step.
        done: ``scored`` plus the embedded share of the current batch.
        total: number of rows of this step; None if unknown.
        judged: number of judgements of this step and their maximum; None without a judge.
        began: when this step began, in seconds of `time.monotonic`.
        cancelled: whether the user cancelled it.
        run: id of the run; None if it does not exist yet.
        problem: why the upload failed.
    """

    id: str
    spec: RunSpec
    shown: str
    tags: tuple[str, ...] = ()
    state: State = "waiting"
    stage: str = ""
    scored: int = 0
    done: int = 0
    total: int | None = None
    judged: tuple[int, int] | None = None
    began: float = 0.0
    cancelled: bool = False
    run: str | None = None
    problem: str = ""
    record: JobRecord | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.state in {"finished", "failed", "stopped"}

    @property
    def can_resume(self) -> bool:
        """Whether the job ended early, and its run and its file are stored."""
        return self.state in {"failed", "stopped"} and self.run is not None and self.spec.data.is_file()

    @property
    def rows_per_second(self) -> float:
        """The rate of this step; 0 if it has just begun."""
        seconds = time.monotonic() - self.began
        return self.done / seconds if seconds > 1 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The estimated duration of the rest of this step; None if too little is done."""
        done, total = self.judged or (self.done, self.total or 0)
        if not total or done < _SOON * total:
            return None
        return (time.monotonic() - self.began) * max(total - done, 0) / done

    def note(self, facts: dict[str, Any]) -> None:
        """Add to the record; a full disk is ignored, because the stored run has the same facts."""
        if self.record is not None:
            with suppress(OSError):
                self.record.add(facts)

    def error_text(self, error: SgiError) -> str:
        """Return the error message, with the user's name of the file instead of the stored one."""
        return shown_text(error, self.spec.data, self.shown)


def restore_jobs(folder: Path) -> Iterator[Job]:
    """Yield the uploads that no running server works on, in order of arrival.

    Uploads that a server began to score are ``stopped``, the others ``waiting``. Incomplete records, and
    records of uploads that were interrupted long ago, are deleted.
    """
    try:
        paths = sorted(folder.glob(f"{_RECORD}*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
    except OSError:
        return
    for path in paths:
        with suppress(OSError, ValueError, KeyError, TypeError, SgiError):
            job = _restore(path)
            if job is not None:
                yield job


def _restore(path: Path) -> Job | None:
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
        return Job(
            id=str(facts["id"]),
            spec=spec,
            shown=str(facts["shown"]),
            tags=tuple(map(str, facts["tags"])),
            state="stopped" if started else "waiting",
            run=None if facts.get("run") is None else str(facts["run"]),
            cancelled=facts.get("cancelled") is True,
            record=record,
        )
    except (ValueError, KeyError, TypeError, SgiError):
        record.remove() if age > _HOUR else record.close()
        return None


def _validate_spec(values: dict[str, Any], folder: Path) -> RunSpec:
    """Return the spec of an upload; its file must be in this folder, and no setting may run code."""
    spec = RunSpec.of(values)
    if set(values) - _KEYS or spec.data.parent != folder:
        raise ValueError(values)
    return spec


def _lock(stream: IO[bytes]) -> bool:
    """Lock a file for this process; return False if another process holds the lock."""
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
