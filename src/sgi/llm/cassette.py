"""Records the replies of a model to a file, the cassette, and replays them without the model."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from io import FileIO
from typing import TYPE_CHECKING, Any

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
from sgi.llm.calls import GroupCommit, decode_completion, encode_completion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from sgi.llm.calls import Call, Chat, Completion, UsageCounter

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
"""The classes of errors in a cassette, by their names in the file."""


class CassetteRecorder:
    """Chat model that writes the outcome of each call of another chat model to a file, one line per call.

    An outcome is a reply, or the kind and message of an error. A line is on the disk before its reply is
    used, and survives a power loss. New lines are added to an existing cassette of the same model, after its
    incomplete end (see `incomplete_end`) is removed; a later line for the same call replaces the earlier one.
    The file contains digests of the calls, not their texts, and no secret; replies may quote the judged
    texts. ``judge`` contains the judge's settings for the replay, without secrets.

    Raises:
        DataError: the file is not a cassette, or a line cannot be read.
        UsageError: the file was recorded from another model, or cannot be written.
    """

    def __init__(self, chat: Chat, path: Path, judge: Mapping[str, JsonValue]) -> None:
        self.fingerprint = chat.fingerprint
        self._chat = chat
        self._path = path
        self._unwritten: list[dict[str, object]] = []
        self._group = GroupCommit(self._write)
        self._recorded = _recorded_calls(chat, path)
        self._file = _open(path)
        try:
            self._length = self._file.truncate(_complete_length(path.read_bytes()))
            sync_folder(path.parent)
            if not self._length:
                head = {"format": _FORMAT, "version": _VERSION, "fingerprint": chat.fingerprint}
                self._unwritten.append(head | {"judge": dict(judge)})
                self._write()
        except BaseException:
            self._file.close()
            raise

    async def complete(self, call: Call, /) -> Completion:
        """Write the model's reply, or its JudgeError, to the file; then return or raise it."""
        try:
            completion = await self._chat.complete(call)
        except JudgeError as error:
            await self._record(call, error)
            raise
        await self._record(call, completion)
        return completion

    async def _record(self, call: Call, outcome: Outcome) -> None:
        key, entry = call.key(self.fingerprint), _encode_outcome(outcome)
        checksum = _checksum(entry)
        if self._recorded.get(key) != checksum:
            self._recorded[key] = checksum
            self._unwritten.append({"call": key.hex(), "schema": call.shape.name, **entry})
            await self._group.commit()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self) -> None:
        """Append all unwritten lines; after an error the file contains none of them."""
        entries, self._unwritten = self._unwritten, []
        lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()
        try:
            self._file.seek(self._length)
            self._file.write(lines)
            sync_file(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._length)
            hint = "The file contains the earlier calls; record to it again when it can be written."
            message = f"The cassette {self._path} cannot be written: {error.strerror or error}."
            raise StoreError(message, hint=hint) from error
        self._length += len(lines)


class CassettePlayer:
    """Chat model that replays a cassette of `CassetteRecorder`; its replies count as cached.

    Raises a DataError if the file is not a cassette, or a line cannot be read.
    """

    def __init__(self, path: Path, counter: UsageCounter) -> None:
        self._path = path
        self._counter = counter
        self.fingerprint, self._outcomes = _read(path)

    async def complete(self, call: Call, /) -> Completion:
        """Return the recorded reply, or raise the recorded error; JudgeError if the call is not recorded."""
        outcome = self._outcomes.get(call.key(self.fingerprint))
        if outcome is None:
            hint = "The data, the prompts or the settings changed; record the cassette again."
            raise JudgeError(f"The cassette {self._path} does not contain this call.", hint=hint)
        if isinstance(outcome, JudgeError):
            raise type(outcome)(outcome.message, hint=outcome.hint)
        self._counter.add(Usage(cached=1))
        return outcome

    def contains(self, call: Call) -> bool:
        """Return whether the call is recorded."""
        return call.key(self.fingerprint) in self._outcomes


def _encode_outcome(outcome: Outcome) -> dict[str, object]:
    if not isinstance(outcome, JudgeError):
        return {"reply": json.loads(encode_completion(outcome))}
    kind = next(kind for kind, error in _ERROR_KINDS.items() if error is type(outcome))
    return {"error": {"kind": kind, "message": outcome.message, "hint": outcome.hint}}


def _checksum(entry: dict[str, object]) -> bytes:
    return digest(canonical_json(entry), size=8)


def _recorded_calls(chat: Chat, path: Path) -> dict[bytes, bytes]:
    content = read_whole(path) if path.exists() else b""
    if content.startswith(_BEGINNING[: len(content)]) and not _complete_length(content):
        return {}  # empty, or truncated in the first line
    fingerprint, outcomes = _read(path)
    if fingerprint != chat.fingerprint:
        message = f"The cassette {path} was recorded from {fingerprint}, but the judge is {chat.fingerprint}."
        raise UsageError(message, hint="Name another file.")
    return {key: _checksum(_encode_outcome(outcome)) for key, outcome in outcomes.items()}


def _open(path: Path) -> FileIO:
    try:
        path.touch()
        return FileIO(path, "r+")
    except OSError as error:
        raise UsageError(f"The cassette {path} cannot be written: {error.strerror}.") from None


def _read(path: Path) -> tuple[str, dict[bytes, Outcome]]:
    content = read_whole(path)
    header, *lines = content[: _complete_length(content)].removesuffix(b"\n").split(b"\n")
    fingerprint = _fingerprint(path, header)
    return fingerprint, dict(_decode_entry(path, number, line) for number, line in enumerate(lines, 2))


def incomplete_end(path: Path) -> str:
    """Describe the incomplete end of a cassette after a full disk or power loss; "" if it is complete.

    The lines in an incomplete end are not replayed; the recorder did not return their replies.
    """
    content = read_whole(path)
    dropped = content[_complete_length(content) :]
    if not dropped:
        return ""
    line = content[: -len(dropped)].count(b"\n") + 1
    return f"{path}:{line}: the file is incomplete from here on, so {len(dropped):,} bytes are not used."


def _complete_length(content: bytes) -> int:
    r"""Return the number of bytes before an incomplete end: a line without newline, or with zero bytes.

    After a power loss, the parts of a file that were not written contain zeros; other lines contain none.

    >>> _complete_length(b"{}\n{}\n"), _complete_length(b"{}\n{"), _complete_length(b"{}\n\0}\n{}\n")
    (6, 3, 3)
    """
    unwritten = content.find(b"\0")
    return content.rfind(b"\n", 0, len(content) if unwritten < 0 else unwritten) + 1


def cassette_judge(path: Path) -> dict[str, JsonValue]:
    """Return the settings of the judge from which a cassette was recorded."""
    header, _, _ = read_whole(path).partition(b"\n")
    _fingerprint(path, header)
    judge = _object(path, 1, header).get("judge")
    if not isinstance(judge, dict):
        raise DataError("the cassette must contain the settings of its judge", file=str(path), line=1)
    return judge


def _fingerprint(path: Path, line: bytes) -> str:
    header = _object(path, 1, line)
    if header.get("format") != _FORMAT or not isinstance(header.get("fingerprint"), str):
        raise DataError("this is not a cassette of a judge", file=str(path), line=1)
    if header.get("version") != _VERSION:
        hint = "Install a newer version, or record it again."
        raise DataError(
            f"format version {header.get('version')!r} is unknown", file=str(path), line=1, hint=hint
        )
    return str(header["fingerprint"])


def _decode_entry(path: Path, number: int, line: bytes) -> tuple[bytes, Outcome]:
    entry = _object(path, number, line)
    try:
        return bytes.fromhex(entry["call"]), _decode_outcome(entry)
    except (LookupError, TypeError, ValueError):
        raise DataError("this is not a recorded call", file=str(path), line=number) from None


def _decode_outcome(entry: dict[str, Any]) -> Outcome:
    if "error" not in entry:
        return replace(decode_completion(json.dumps(entry["reply"]).encode()), cached=True)
    kind, message, hint = (entry["error"][name] for name in ("kind", "message", "hint"))
    if not isinstance(message, str) or not isinstance(hint, str):
        raise TypeError("message and hint must be text")
    return _ERROR_KINDS[kind](message, hint=hint)


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        hint = "Remove the line, or record the cassette again."
        raise DataError("this line cannot be read", file=str(path), line=number, hint=hint)
    return value
