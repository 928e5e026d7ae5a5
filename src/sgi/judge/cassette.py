"""Record what a model answers, and answer from the record: exactly, without the model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, Self

from sgi.judge.calls import completion_of, kept
from sgi.kernel.errors import (
    DataError,
    JudgeError,
    JudgeMalformed,
    JudgeRefused,
    JudgeRejected,
    JudgeUnavailable,
    UsageError,
)
from sgi.kernel.ports import Usage
from sgi.kernel.signature import canonical_json, digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from pydantic import JsonValue

    from sgi.judge.calls import Call, Chat, Completion
    from sgi.judge.tally import Tally

    Outcome = Completion | JudgeError

_FORMAT = "sgi judge cassette"
_VERSION = 1
_KINDS = {
    kind.__name__: kind
    for kind in (JudgeUnavailable, JudgeRejected, JudgeRefused, JudgeMalformed, JudgeError)
}
"""What a call may end in beside a reply."""


class Recorded:
    """A model around a model that writes what each call ends in into a file, a line a call.

    That is a reply, or an error's kind and words. A file that is there is gone on with, if it was recorded
    from the same model; where a call ends otherwise than before, the later line holds. The file has digests
    of the calls, not their texts, and no secret; replies may quote what was judged.

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
        self._known = _known(chat, path)
        self._file = _opened(path)
        if not self._file.tell():
            head = {"format": _FORMAT, "version": _VERSION, "fingerprint": chat.fingerprint}
            self._write(head | {"judge": dict(judge)})

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply, written down before it is handed on; JudgeError, written as well, if none."""
        try:
            completion = await self._chat.complete(call)
        except JudgeError as error:
            self._note(call, error)
            raise
        self._note(call, completion)
        return completion

    def _note(self, call: Call, outcome: Outcome) -> None:
        key, told = call.key(self.fingerprint), _told(outcome)
        mark = _mark(told)
        if self._known.get(key) != mark:
            self._known[key] = mark
            self._write({"call": key.hex(), "schema": call.shape.name, **told})

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
        self._tally.add(Usage(cached=1))
        return found

    def knows(self, call: Call) -> bool:
        """Whether the call was recorded."""
        return call.key(self._fingerprint) in self._outcomes


def _told(outcome: Outcome) -> dict[str, Any]:
    """What is written of the end of a call."""
    if not isinstance(outcome, JudgeError):
        return {"reply": json.loads(kept(outcome))}
    kind = type(outcome).__name__
    return {"error": {"kind": kind, "message": outcome.message, "hint": outcome.hint}}


def _mark(told: dict[str, Any]) -> bytes:
    return digest(canonical_json(told), size=8)


def _known(chat: Chat, path: Path) -> dict[bytes, bytes]:
    """The calls that are in the file already, each with a mark of what it ended in."""
    if not path.exists() or not path.stat().st_size:
        return {}
    fingerprint, outcomes = _read(path)
    if fingerprint != chat.fingerprint:
        message = f"The cassette {path} was recorded from {fingerprint}, and the judge is {chat.fingerprint}."
        raise UsageError(message, hint="Name another file.")
    return {key: _mark(_told(outcome)) for key, outcome in outcomes.items()}


def _opened(path: Path) -> IO[str]:
    try:
        return path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"The cassette {path} cannot be written: {error.strerror}.") from None


def _read(path: Path) -> tuple[str, dict[bytes, Outcome]]:
    """The fingerprint, and by call what it ended in."""
    try:
        header, *lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", file=str(path)) from None
    fingerprint = _fingerprint(path, header)
    return fingerprint, dict(_entry(path, number, line) for number, line in enumerate(lines, 2))


def recorded_judge(path: Path) -> dict[str, JsonValue]:
    """How the judge of a cassette was asked, as the values of its spec.

    Raises:
        DataError: the file cannot be read, or is no cassette.
    """
    try:
        with path.open("rb") as file:
            header = file.readline()
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", file=str(path)) from None
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
        return replace(completion_of(json.dumps(entry["reply"]).encode()), cached=True)
    kind, message, hint = (entry["error"][name] for name in ("kind", "message", "hint"))
    if not isinstance(message, str) or not isinstance(hint, str):
        raise TypeError("words are texts")
    return _KINDS[kind](message, hint=hint)


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        hint = "Remove the line, or record the cassette anew."
        raise DataError("this line cannot be read", file=str(path), line=number, hint=hint)
    return value
