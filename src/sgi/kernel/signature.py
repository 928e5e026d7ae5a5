"""Canonical JSON, digests, and the line that names the origin of a run's numbers."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sgi.kernel.install_hint import DISTRIBUTION

if TYPE_CHECKING:
    from collections.abc import Iterable

SIGNATURE_VERSION = 1


@cache
def package_version() -> str:
    """Return the installed version of this package."""
    return version(DISTRIBUTION)


def canonical_json(value: Any) -> bytes:
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
