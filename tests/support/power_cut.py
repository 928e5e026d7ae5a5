"""Simulates a power cut: the possible content of a disk if the power fails at any point of a process.

`record` runs a command under strace and returns its writes, syncs and renames in one folder. `Disk` replays
them. Everything that was synced is on the disk. Each other write can be present or absent, in any order,
also in part (sectors of 512 bytes). Each change of a folder that was not synced can be present or absent.
"""

import os
import random
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
CALLS = (
    "openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,"
    "write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fsync,fdatasync,fallocate"
)
_UNMODELLED = {"writev", "pwritev", "pwritev2", "truncate", "fallocate", "creat", "renameat", "linkat"}
_KINDS = {
    "openat": "create",
    "pwrite64": "write",
    "ftruncate": "truncate",
    "fsync": "sync",
    "fdatasync": "sync",
}
_LINE = re.compile(r"\d+ +(\w+)\((.*)\) = (\d+)")
_TEXT = re.compile(r'[<"]((?:\\x[0-9a-f]{2})*)[>"]')


@dataclass(frozen=True)
class Event:
    """One successful system call on a file or folder below the recorded folder.

    Attributes:
        kind: ``create``, ``write``, ``truncate``, ``rename``, ``unlink``, ``link``, ``mkdir`` or ``sync``.
        path: the file or folder.
        data: the bytes that were written.
        at: the offset, or the length after ``truncate``; None where a write continues the one before.
        target: the new path of ``rename`` and ``link``.
    """

    kind: str
    path: str
    data: bytes = b""
    at: int | None = None
    target: str = ""


def record(command: list[str], folder: Path, *, environment: dict[str, str]) -> list[Event]:
    """Run a command, which must succeed, and return the changes that it made in a folder."""
    trace = folder.with_name(f"{folder.name}.trace")
    options = ["-f", "-y", "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-e", "signal=none", "-z"]
    done = subprocess.run(
        ["strace", *options, "-o", str(trace), *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return _events(trace, str(folder))


def _events(trace: Path, folder: str) -> list[Event]:
    started: dict[str, str] = {}
    events = []
    for line in trace.read_text().splitlines():
        thread = line.split(" ", 1)[0]
        if line.endswith(" <unfinished ...>"):
            started[thread] = line.removesuffix(" <unfinished ...>")
            continue
        resumed = re.match(r"\d+ +<\.\.\. \w+ resumed>", line)
        whole = started.pop(thread) + line[resumed.end() :] if resumed else line
        found = _LINE.match(whole)
        event = found and _event(found[1], found[2], int(found[3]))
        inside = event and f"{event.path}/".startswith(f"{folder}/")
        if event and inside and not event.path.endswith("-shm"):
            events.append(event)
    return events


def _event(call: str, arguments: str, result: int) -> Event | None:
    assert call not in _UNMODELLED, arguments
    texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]
    numbers = [int(part) for part in arguments.split(", ") if part.isdigit()]
    path, kind, data, at, target = texts[0].decode(), _KINDS.get(call, call), b"", None, ""
    if call == "openat":
        if "O_CREAT" not in arguments:
            return None
        path = str(Path(path, texts[1].decode()))  # of the working folder, which strace shows
    elif kind == "write":
        data, at = texts[1][:result], numbers[-1] if call == "pwrite64" else None
    elif kind == "truncate":
        at = numbers[-1]
    elif kind in {"rename", "link"}:
        target = texts[1].decode()
    return Event(kind, path, data, at, target)


@dataclass
class _File:
    """The synced content of a file, and the writes since the last sync."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[Event] = field(default_factory=list)
    length: int = 0

    def after_cut(self, chance: random.Random, kept: float) -> bytes:
        content = bytearray(self.synced)
        for event in self.pending:
            if event.kind == "truncate":
                if chance.random() < kept:
                    _resize(content, event.at or 0)
                continue
            at = event.at or 0
            torn = chance.random() < 0.3
            whole = chance.random() < kept
            for start in range(0, len(event.data), SECTOR):
                if (chance.random() < kept) if torn else whole:
                    part = event.data[start : start + SECTOR]
                    _resize(content, max(len(content), at + start + len(part)))
                    content[at + start : at + start + len(part)] = part
        return bytes(content)

    def sync(self) -> None:
        for event in self.pending:
            at = event.at or 0
            if event.kind == "truncate":
                _resize(self.synced, at)
            else:
                _resize(self.synced, max(len(self.synced), at + len(event.data)))
                self.synced[at : at + len(event.data)] = event.data
        self.pending.clear()


class Disk:
    """The files of a folder while a recorded process writes them.

    Args:
        folder: the recorded folder; its earlier content counts as synced.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._names: dict[str, _File | None] = {}  # as the process sees them; None is a folder
        self._synced: dict[str, _File | None] = {}
        self._changes: list[tuple[str, Event, _File | None]] = []

    def apply(self, event: Event) -> None:
        """Replay one event."""
        kind, path = event.kind, event.path
        if kind == "create":
            if path not in self._names:
                self._change(event, _File())
        elif kind == "mkdir":
            self._change(event, None)
        elif kind in {"rename", "link"}:
            self._change(event, self._names[path])
        elif kind == "unlink":
            if path in self._names:
                self._change(event, self._names[path])
        elif kind == "sync":
            self._sync(path)
        else:
            self._write(event)

    def _write(self, event: Event) -> None:
        file = self._names.get(event.path)
        if file is None:
            return  # the file was renamed, and its name belongs to no file
        at = file.length if event.at is None else event.at
        file.pending.append(Event(event.kind, event.path, event.data, at))
        file.length = at if event.kind == "truncate" else max(file.length, at + len(event.data))

    def _sync(self, path: str) -> None:
        file = self._names.get(path)
        if file is not None:
            file.sync()
            return
        rest = []
        for folder, event, changed in self._changes:
            if folder == path:
                _rename(self._synced, event, changed)
            else:
                rest.append((folder, event, changed))
        self._changes = rest

    def _change(self, event: Event, file: _File | None) -> None:
        _rename(self._names, event, file)
        self._changes.append((os.path.dirname(event.target or event.path), event, file))  # noqa: PTH120 - a text

    def cut(self, place: Path, chance: random.Random, kept: float) -> None:
        """Write one possible content after a power cut into another folder.

        Args:
            place: an empty folder.
            chance: random generator; decides which changes without sync are on the disk.
            kept: the probability of each such change.
        """
        names = dict(self._synced)
        for _, event, file in self._changes:
            if chance.random() < kept:
                _rename(names, event, file)
        for path in sorted(names):
            file = names[path]
            copy = place / os.path.relpath(path, self._folder)
            if file is None:
                copy.mkdir(parents=True, exist_ok=True)
            elif copy.parent.is_dir():  # else its folder is not on the disk
                copy.write_bytes(file.after_cut(chance, kept))


def _rename(names: dict[str, _File | None], event: Event, file: _File | None) -> None:
    if event.kind == "unlink":
        names.pop(event.path, None)
    elif event.kind == "rename":
        names.pop(event.path, None)
        names[event.target] = file
    else:
        names[event.target or event.path] = file


def _resize(content: bytearray, length: int) -> None:
    if length < len(content):
        del content[length:]
    else:
        content.extend(bytes(length - len(content)))
