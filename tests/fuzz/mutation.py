"""Seeded mutation of inputs: bytes, tokens, splices, and types inside JSON."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LARGEST = 20_000
TOKENS = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\xf0\x9f\x92\xa9", b"\r\n", b"\n", b"\t",
    b'"', b"'", b",", b";", b"{", b"}", b"[", b"]", b"[" * 500, b'{"a":' * 300, b"[{[1]: 1}]", b"array(['a'", b"\\u",
    b"\\U0011ffff", b"\\ud800", b"\\x", b"null", b"true", b"NaN", b"Infinity", b"nan", b"-", b"-0", b"1e999",
    b"1e-999", b"9" * 5000, b"9" * 400, b"9223372036854775808", b"-9223372036854775809", b"0x" + b"f" * 5000,
    b"0x" + b"f" * 100, b"2024-01-01T00:00:00.000000001Z", b"0001-01-01", b"99999-12-31", b"=", b"==", b"#", b"[[",
    b"]]", b"'''", b'"""', b"${HOME}", b"..", b"*", b"%", b"\xe2\x80\xae", b"\x1b[31m", b"a" * 3000, b"id", b"question",
    b"contexts", b"response", b"reference", b"label", b"metadata", b"metric", b"judge", b"target", b"cascade",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, 1e308, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, "", " ", "x", "\ud800", "\x00",
    "9" * 400, "a" * 2000, [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, ["a", 1, None], "id", "2024-01-01",
)  # fmt: skip


def mutated(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds, changed in one to four places."""
    data = rng.choice(seeds)
    if rng.random() < 0.3:
        data = _with_other_value(rng, data)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        data = rng.choice(_CHANGES)(rng, data, seeds)
    return data[: max(LARGEST, *map(len, seeds))]


def _with_other_value(rng: Random, data: bytes) -> bytes:
    """JSON, or a line of JSON, with another value at a random place."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    for number, text in ((None, data), (at, lines[at])):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        changed = json.dumps(_changed(rng, value)).encode()
        if number is None:
            return changed
        return b"\n".join((*lines[:number], changed, *lines[number + 1 :]))
    return data


def _changed(rng: Random, value: Any) -> Any:
    if isinstance(value, (list, dict)) and value and rng.random() < 0.85:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if rng.random() < 0.1:
            del value[key]
        else:
            value[key] = _changed(rng, value[key])
        return value
    return rng.choice(VALUES)


def _flipped(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return bytes([rng.randrange(256)])
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _set(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _inserted(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TOKENS) + data[at + rng.choice((0, 0, 1, 4)) :]


def _deleted(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 1, 4, 32)) :]


def _repeated(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    part = data[at : at + rng.choice((1, 8, 64))]
    return data[:at] + part * rng.choice((2, 2, 50)) + data[at:]


def _spliced(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = rng.choice(seeds)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _cut(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


_CHANGES: tuple[Callable[[Random, bytes, Sequence[bytes]], bytes], ...] = (
    _flipped,
    _set,
    _inserted,
    _inserted,
    _deleted,
    _repeated,
    _spliced,
    _cut,
)
