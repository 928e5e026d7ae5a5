"""Record what a model answers, and answer from the record: exactly, without the model."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from io import FileIO
from typing import TYPE_CHECKING, Any, Self

from sgi.kernel.durable_files import sync_file, sync_folder
from sgi.kernel.errors import (
    DataError,
    JudgeError,
    JudgeMalformedError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeUnavailableError,
    StoreError,
    UsageError,
)
from sgi.kernel.parsing import read_whole
from sgi.kernel.protocols import Usage
from sgi.kernel.signature import canonical_json, digest
from sgi.llm.calls import decode_completion, encode_completion
from sgi.llm.group_commit import GroupCommit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from pydantic import JsonValue

    from sgi.llm.calls import Call, Chat, Completion
    from sgi.llm.usage import UsageCounter

    Outcome = Completion | JudgeError

_FORMAT = "sgi judge cassette"
_VERSION = 1
_BEGINNING = f'{{"format": "{_FORMAT}"'.encode()
_ERROR_KINDS: dict[str, type[JudgeError]] = {
    "JudgeUnavailable": JudgeUnavailableError,
    "JudgeRejected": JudgeRejectedError,
    "JudgeRefused": JudgeRefusedError,
    "JudgeMalformed": JudgeMalformedError,
    "JudgeError": JudgeError,
}
"""Errors that a cassette can hold, by their names in the file."""


class CassetteRecorder:
    """A model around a model that writes what each call ends in into a file, a line a call.

    That is a reply, or an error's kind and words. A line is on the disk before its reply is used, and
    survives a power loss. An existing file is continued, if it was recorded from the same model; an
    incomplete end (see `incomplete_end`) is cut off first. Where a call ends otherwise than before, the later
    line holds. The file has digests of the calls, not their texts, and no secret; replies may quote what was
    judged.

    Args:
        chat: the model.
        path: the file.
        judge: how the model is asked, to be asked alike when it is replayed; no secrets.

    Raises:
        DataError: the file is no cassette, or a line of it cannot be read.
        UsageError: it was recorded from another model, or cannot be written.
    """

    def __init__(self, chat: Chat, path: Path, judge: Mapping[str, JsonValue]) -> None:
        self._chat = chat
        self._path = path
        self._unwritten: list[dict[str, Any]] = []
        self._group = GroupCommit(self._write)
        self._known = _known(chat, path)
        self._file = _opened(path)
        try:
            self._length = self._file.truncate(_whole_length(path.read_bytes()))
            sync_folder(path.parent)
            if not self._length:
                head = {"format": _FORMAT, "version": _VERSION, "fingerprint": chat.fingerprint}
                self._unwritten.append(head | {"judge": dict(judge)})
                self._write()
        except BaseException:
            self._file.close()
            raise

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply, written down before it is handed on; JudgeError, written as well, if none."""
        try:
            completion = await self._chat.complete(call)
        except JudgeError as error:
            await self._note(call, error)
            raise
        await self._note(call, completion)
        return completion

    async def _note(self, call: Call, outcome: Outcome) -> None:
        key, told = call.key(self.fingerprint), _told(outcome)
        mark = _mark(told)
        if self._known.get(key) != mark:
            self._known[key] = mark
            self._unwritten.append({"call": key.hex(), "schema": call.shape.name, **told})
            await self._group.commit()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self) -> None:
        """Append what is unwritten, whole or not at all."""
        entries, self._unwritten = self._unwritten, []
        lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()
        try:
            self._file.seek(self._length)
            self._file.write(lines)
            sync_file(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._length)
            hint = "What was recorded before is in the file; record to it again once it can be written."
            message = f"The cassette {self._path} cannot be written: {error.strerror or error}."
            raise StoreError(message, hint=hint) from error
        self._length += len(lines)


class CassettePlayer:
    """A model that answers from a file, as `CassetteRecorder` wrote it.

    Args:
        path: the file.
        counter: counts its answers among those that needed no call.

    Raises:
        DataError: the file cannot be read, is no cassette, or holds a line that cannot be read.
    """

    def __init__(self, path: Path, counter: UsageCounter) -> None:
        self._path = path
        self._counter = counter
        self._fingerprint, self._outcomes = _read(path)

    @property
    def fingerprint(self) -> str:
        """That of the model the file was recorded from."""
        return self._fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The recorded reply; JudgeError where that was recorded, or nothing is."""
        found = self._outcomes.get(call.key(self._fingerprint))
        if found is None:
            message = f"The cassette {self._path} has no such call: data, prompts or settings have changed."
            raise JudgeError(message, hint="Record it anew.")
        if isinstance(found, JudgeError):
            raise type(found)(found.message, hint=found.hint)
        self._counter.add(Usage(cached=1))
        return found

    def knows(self, call: Call) -> bool:
        """Whether the call was recorded."""
        return call.key(self._fingerprint) in self._outcomes


def _told(outcome: Outcome) -> dict[str, Any]:
    """What is written of the end of a call."""
    if not isinstance(outcome, JudgeError):
        return {"reply": json.loads(encode_completion(outcome))}
    kind = next(kind for kind, error in _ERROR_KINDS.items() if error is type(outcome))
    return {"error": {"kind": kind, "message": outcome.message, "hint": outcome.hint}}


def _mark(told: dict[str, Any]) -> bytes:
    return digest(canonical_json(told), size=8)


def _known(chat: Chat, path: Path) -> dict[bytes, bytes]:
    """The calls that are in the file already, each with a mark of what it ended in."""
    content = _content(path) if path.exists() else b""
    if content.startswith(_BEGINNING[: len(content)]) and not _whole_length(content):
        return {}  # empty, or cut within the first line
    fingerprint, outcomes = _read(path)
    if fingerprint != chat.fingerprint:
        message = f"The cassette {path} was recorded from {fingerprint}, and the judge is {chat.fingerprint}."
        raise UsageError(message, hint="Name another file.")
    return {key: _mark(_told(outcome)) for key, outcome in outcomes.items()}


def _opened(path: Path) -> FileIO:
    try:
        path.touch()
        return FileIO(path, "r+")
    except OSError as error:
        raise UsageError(f"The cassette {path} cannot be written: {error.strerror}.") from None


def _read(path: Path) -> tuple[str, dict[bytes, Outcome]]:
    """The fingerprint, and by call what it ended in."""
    content = _content(path)
    header, *lines = content[: _whole_length(content)].removesuffix(b"\n").split(b"\n")
    fingerprint = _fingerprint(path, header)
    return fingerprint, dict(_entry(path, number, line) for number, line in enumerate(lines, 2))


def incomplete_end(path: Path) -> str:
    """A sentence about the end of a cassette that a full disk or a power loss cut; empty if it is whole.

    The lines from there on are not used: their replies were not used when they were recorded.

    Raises:
        DataError: the file cannot be read.
    """
    content = _content(path)
    dropped = content[_whole_length(content) :]
    if not dropped:
        return ""
    line = content[: -len(dropped)].count(b"\n") + 1
    return f"{path}:{line}: the file is incomplete from here on, so {len(dropped):,} bytes are not used."


def _content(path: Path) -> bytes:
    return read_whole(path)


def _whole_length(content: bytes) -> int:
    r"""The bytes before an incomplete end: a line without its newline, or with parts that were never written.

    A part that was never written reads as zeros, which no line of a cassette holds.

    >>> _whole_length(b"{}\n{}\n"), _whole_length(b"{}\n{"), _whole_length(b"{}\n\0}\n{}\n")
    (6, 3, 3)
    """
    hole = content.find(b"\0")
    return content.rfind(b"\n", 0, len(content) if hole < 0 else hole) + 1


def cassette_judge(path: Path) -> dict[str, JsonValue]:
    """How the judge of a cassette was asked, as the values of its spec.

    Raises:
        DataError: the file cannot be read, or is no cassette.
    """
    header, _, _ = _content(path).partition(b"\n")
    _fingerprint(path, header)
    judge = _object(path, 1, header).get("judge")
    if not isinstance(judge, dict):
        raise DataError("it does not say which judge it was recorded from", file=str(path), line=1)
    return judge


def _fingerprint(path: Path, line: bytes) -> str:
    header = _object(path, 1, line)
    if header.get("format") != _FORMAT or not isinstance(header.get("fingerprint"), str):
        raise DataError("this is no cassette of a judge", file=str(path), line=1)
    if header.get("version") != _VERSION:
        hint = "Install a newer version, or record it anew."
        raise DataError(f"it has format version {header.get('version')!r}", file=str(path), line=1, hint=hint)
    return str(header["fingerprint"])


def _entry(path: Path, number: int, line: bytes) -> tuple[bytes, Outcome]:
    entry = _object(path, number, line)
    try:
        return bytes.fromhex(entry["call"]), _outcome(entry)
    except (LookupError, TypeError, ValueError):
        raise DataError("this is no recorded call", file=str(path), line=number) from None


def _outcome(entry: dict[str, Any]) -> Outcome:
    """What a call ended in: known by now, as a kept reply is."""
    if "error" not in entry:
        return replace(decode_completion(json.dumps(entry["reply"]).encode()), cached=True)
    kind, message, hint = (entry["error"][name] for name in ("kind", "message", "hint"))
    if not isinstance(message, str) or not isinstance(hint, str):
        raise TypeError("words are texts")
    return _ERROR_KINDS[kind](message, hint=hint)


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        hint = "Remove the line, or record the cassette anew."
        raise DataError("this line cannot be read", file=str(path), line=number, hint=hint)
    return value
