"""Canonical JSON, digests, placeholders that replace texts, and the origin of a run's numbers."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar

from sgi.kernel.errors import DISTRIBUTION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

SIGNATURE_VERSION = 1


@cache
def package_version() -> str:
    """Return the installed version of this package."""
    return version(DISTRIBUTION)


def canonical_json(value: object) -> bytes:
    """Return JSON with sorted keys and no spaces, so that equal values give equal bytes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest(*parts: bytes, size: int = 16) -> bytes:
    """Return the blake2b digest of the parts, each preceded by its length, so that part limits matter."""
    state = hashlib.blake2b(digest_size=size)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def run_signature(embedders: Iterable[str], *, n: int, judge: str = "-") -> str:
    """Return the line under every table, which names the models, the judge and the version of its numbers.

    >>> run_signature(["minilm@3f2a,mean,256tok,fp32"], n=512).rpartition("|v:")[0]
    'sgi:1|emb:minilm@3f2a,mean,256tok,fp32|judge:-|n:512'
    """
    names = "+".join(embedders) or "-"
    return f"sgi:{SIGNATURE_VERSION}|emb:{names}|judge:{judge}|n:{n}|v:{package_version()}"


TEXT_NOT_KEPT = "(text not kept)"
"""Displayed instead of a placeholder."""

_PLACEHOLDER = re.compile("text:[0-9a-f]{32}")
_SALT = b"without texts"

T = TypeVar("T", bound="str | None")


def is_placeholder(text: str) -> bool:
    """Return whether a text is a placeholder."""
    return text.startswith("text:") and _PLACEHOLDER.fullmatch(text) is not None


def placeholder(text: str) -> str:
    """Return the placeholder of a text, ignoring the amount of white space; a blank text stays the same.

    >>> placeholder("Who?"), placeholder(" ")
    ('text:3ddbff031d55c6ff70eba93dde63b982', ' ')
    >>> placeholder(placeholder("Who?")) == placeholder("Who? ")
    True
    """
    if is_placeholder(text):
        return text
    words = " ".join(text.split())
    return f"text:{digest(words.encode('utf-8', 'surrogatepass')).hex()}" if words else text


def display_text(text: T) -> T | str:
    """Return a text for display; a placeholder becomes `TEXT_NOT_KEPT`."""
    return TEXT_NOT_KEPT if text is not None and is_placeholder(text) else text


def with_placeholders(value: JsonValue) -> JsonValue:
    """Replace each text in a JSON value, including keys, by its placeholder."""
    if isinstance(value, str):
        return placeholder(value)
    if isinstance(value, list):
        return [with_placeholders(entry) for entry in value]
    if isinstance(value, dict):
        return {placeholder(key): with_placeholders(entry) for key, entry in value.items()}
    return value


def without_texts(value: JsonValue) -> JsonValue:
    """Remove the texts from lists and objects of a JSON value.

    >>> without_texts({"models": {"minilm": 0.5}, "warning": "blank", "parts": ["a", 1, {"text": "b"}]})
    {'models': {'minilm': 0.5}, 'parts': [1, {}]}
    """
    if isinstance(value, list):
        return [without_texts(entry) for entry in value if not isinstance(entry, str)]
    if isinstance(value, dict):
        return {key: without_texts(entry) for key, entry in value.items() if not isinstance(entry, str)}
    return value


def dataset_without_texts(dataset: str) -> str:
    """Return the hash of the data without texts, computed from the hash of the data.

    >>> dataset_without_texts("00ff")
    '6192c08ce1341bfb1a0840077642bead'
    """
    return digest(_SALT, dataset.encode()).hex()


def is_same_data(one: str, other: str) -> bool:
    """Return whether two hashes belong to the same data; each hash is of the data with or without texts.

    >>> is_same_data("00ff", dataset_without_texts("00ff")), is_same_data("00ff", "00aa")
    (True, False)
    """
    return one == other or dataset_without_texts(one) == other or one == dataset_without_texts(other)
