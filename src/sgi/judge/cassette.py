"""Record what a model answers, and answer from the record: exactly, without the model."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any, Self

from sgi.judge.calls import completion_of, kept
from sgi.kernel.errors import DataError, JudgeError, UsageError
from sgi.kernel.ports import Usage

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from sgi.judge.calls import Call, Chat, Completion
    from sgi.judge.tally import Tally

_FORMAT = "sgi judge cassette"
_VERSION = 1


class Recorded:
    """A model around a model that writes each reply into a file, a line a call.

    A file that is there is gone on with, if it was recorded from the same model. It holds digests of the
    calls, not their texts, and no secret; replies may quote what was judged.

    Args:
        chat: the model.
        path: the file.

    Raises:
        DataError: the file is no cassette, or a line of it cannot be read.
        UsageError: it was recorded from another model, or cannot be written.
    """

    def __init__(self, chat: Chat, path: Path) -> None:
        self._chat = chat
        self._known = _known(chat, path)
        self._file = _opened(path)
        if not self._file.tell():
            self._write({"format": _FORMAT, "version": _VERSION, "fingerprint": chat.fingerprint})

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply, written down before it is handed on."""
        completion = await self._chat.complete(call)
        key = call.key(self.fingerprint)
        if key not in self._known:
            self._known.add(key)
            reply = json.loads(kept(completion))
            self._write({"call": key.hex(), "schema": call.shape.name, "reply": reply})
        return completion

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.flush()


class Replayed:
    """A model that answers from a file, as `Recorded` wrote it.

    Args:
        path: the file.
        tally: counts its answers among those that needed no call.

    Raises:
        DataError: the file cannot be read, is no cassette, or holds a line that cannot be read.
    """

    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._fingerprint, self._replies = _read(path)

    @property
    def fingerprint(self) -> str:
        """That of the model the file was recorded from."""
        return self._fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The recorded reply; JudgeError where there is none."""
        found = self._replies.get(call.key(self._fingerprint))
        if found is None:
            message = f"The cassette {self._path} has no such call: data, prompts or settings have changed."
            raise JudgeError(message, hint="Record it anew.")
        self._tally.add(Usage(cached=1))
        return found


def _known(chat: Chat, path: Path) -> set[bytes]:
    """The calls that are in the file already."""
    if not path.exists() or not path.stat().st_size:
        return set()
    fingerprint, replies = _read(path)
    if fingerprint != chat.fingerprint:
        message = f"The cassette {path} was recorded from {fingerprint}, and the judge is {chat.fingerprint}."
        raise UsageError(message, hint="Name another file.")
    return set(replies)


def _opened(path: Path) -> IO[str]:
    try:
        return path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"The cassette {path} cannot be written: {error.strerror}.") from None


def _read(path: Path) -> tuple[str, dict[bytes, Completion]]:
    """The fingerprint and the replies by call."""
    try:
        header, *lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", file=str(path)) from None
    fingerprint = _fingerprint(path, header)
    return fingerprint, dict(_entry(path, number, line) for number, line in enumerate(lines, 2))


def _fingerprint(path: Path, line: bytes) -> str:
    header = _object(path, 1, line)
    if header.get("format") != _FORMAT or not isinstance(header.get("fingerprint"), str):
        raise DataError("this is no cassette of a judge", file=str(path), line=1)
    if header.get("version") != _VERSION:
        hint = "Install a newer version, or record it anew."
        raise DataError(f"it has format version {header.get('version')!r}", file=str(path), line=1, hint=hint)
    return str(header["fingerprint"])


def _entry(path: Path, number: int, line: bytes) -> tuple[bytes, Completion]:
    entry = _object(path, number, line)
    try:
        return bytes.fromhex(entry["call"]), completion_of(json.dumps(entry["reply"]).encode())
    except (LookupError, TypeError, ValueError):
        raise DataError("this is no recorded call", file=str(path), line=number) from None


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        hint = "Remove the line, or record the cassette anew."
        raise DataError("this line cannot be read", file=str(path), line=number, hint=hint)
    return value
