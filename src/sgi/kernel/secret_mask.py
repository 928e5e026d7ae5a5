"""Replaces secrets in texts of a service, also in the encodings in which a service may send them back."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MASK = "***"
MIN_IN_CONTENT = 8
"""Minimum length of a secret that is masked in replies; a shorter one, such as ``none``, is often a word."""
_MIN_ENCODED = 8
"""Minimum length of an encoded part of a secret; shorter ones occur in other texts by chance."""


class SecretMask:
    r"""Masks secrets in plain form and as JSON, HTML, URL, hexadecimal and base64, in any case of letters.

    Base64 is found at any offset, as in the base64 of ``user:secret``; up to one character at each end, which
    also depends on the text beside the secret, stays. Other encodings are not found.

    >>> mask = SecretMask(["s3cr3t/key"])
    >>> mask("s3cr3t/key, S3CR3T%2fKEY and czNjcjN0L2tleQ== are the same")
    '***, *** and ***Q== are the same'
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def __call__(self, text: str) -> str:
        """Return the text with ``***`` for each secret."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
    yield escape(secret)
    yield escape(secret, quote=False)
    raw = secret.encode()
    yield from (form for form in (raw.hex(), *_base64_forms(raw)) if len(form) >= _MIN_ENCODED)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the characters that depend only on the secret, for each offset in a group of three bytes."""
    for before in range(3):
        first, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        standard = b64encode(bytes(before) + raw).decode()[first:end]
        yield standard
        yield standard.translate({ord("+"): "-", ord("/"): "_"})
        yield quote(standard, safe="")
