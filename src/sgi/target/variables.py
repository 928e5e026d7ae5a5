"""Replaces ``${NAME}`` in settings by variables of the environment, so that settings contain no secret."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ALONE = re.compile(rf"(?:(?:Bearer|Basic|Token|ApiKey) )?{_VARIABLE.pattern}", re.IGNORECASE)
_SECRET = re.compile(
    r"auth(?!or(?!iz))|cookie|token(?!iz)|key(?!word|board)|secret|passw|passphrase|pwd|credential|signature|"
    r"session|bearer",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECRET_WORD = re.compile(r"sig|sign|sas|pw|pass|pin|otp|pat|jwt|creds?|sid|psk")
_COUNT_WORD = re.compile(
    r"max|min|num|number|n|count|total|top|per|limit|budget|window|size|length|len|timeout|ttl|age|seconds|ms|"
    r"tokens"
)


def names_a_secret(name: str) -> bool:
    """Return whether a field with this name probably contains a secret.

    >>> [names_a_secret(name) for name in ("Authorization", "X-Api-Key", "sig", "Accept", "tokenizer")]
    [True, True, True, False, False]
    """
    if _SECRET.search(name) or name.lower() == "code":  # but not country_code
        return True
    return _has_word(name, _SECRET_WORD)


def names_a_count(name: str) -> bool:
    """Return whether a field with this name contains a number, such as max_tokens, and so not a secret."""
    return _has_word(name, _COUNT_WORD)


def has_variable(text: str) -> bool:
    """Return whether the text contains ``${NAME}``."""
    return _VARIABLE.search(text) is not None


def variables(value: JsonValue) -> set[str]:
    """Return the names of the variables in a JSON value."""
    if isinstance(value, str):
        return set(_VARIABLE.findall(value))
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for item in items for name in variables(item)}


def is_variable(text: str) -> bool:
    """Return whether the text is only ``${NAME}``, optionally after the scheme of an Authorization header.

    >>> [is_variable(text) for text in ("${KEY}", "Bearer ${KEY}", "Bearer s3cr3t${KEY}")]
    [True, True, False]
    """
    return _ALONE.fullmatch(text) is not None


def _has_word(name: str, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word.lower()) for word in _WORD.findall(name))


class Environment:
    """Replaces variables by their values, and collects the values.

    Attributes:
        values: the values by name; messages contain none of them.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def expand(self, text: str, quote: Callable[[str], str] = str) -> str:
        """Replace each ``${NAME}`` by its value, converted by ``quote``; UsageError if it is not set."""
        return _VARIABLE.sub(lambda match: quote(self._value(match[1])), text)

    def expand_all(self, value: JsonValue) -> JsonValue:
        """Replace the variables in all texts of a JSON value, but not in keys."""
        if isinstance(value, str):
            return self.expand(value)
        if isinstance(value, list):
            return [self.expand_all(item) for item in value]
        if isinstance(value, dict):
            return {key: self.expand_all(item) for key, item in value.items()}
        return value

    def _value(self, name: str) -> str:
        value = os.environ.get(name, "").strip()
        if not value:
            raise UsageError(
                f"The target's settings contain ${{{name}}}, but {name} is not set.",
                hint=f"Set {name} in the environment.",
            )
        self.values[name] = value
        return value
