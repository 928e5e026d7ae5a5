"""Words of English that the rules use, from ``english.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((files("sgi_quiz") / "english.toml").read_text("utf-8"))


def word_set(name: str) -> frozenset[str]:
    """Return a set of words, or of groups of words.

    >>> "however" in word_set("discourse"), "depend on" in word_set("stranded")
    (True, True)
    """
    text: str = _tables()["words"][name]
    return (
        frozenset(map(str.strip, text.replace("\n", " ").split("|")))
        if "|" in text
        else frozenset(text.split())
    )


def attributes() -> dict[str, list[tuple[str, str, str]]]:
    """Return the attributes of each label of names: key, question, beginnings of the words that tell it."""
    labels: dict[str, dict[str, list[str]]] = _tables()["attributes"]
    return {
        label: [(key, text, cues) for key, (text, cues) in found.items()] for label, found in labels.items()
    }


def synonyms() -> dict[str, str]:
    """Return words with another word or group of words that can stand in their place."""
    found: dict[str, str] = _tables()["synonyms"]
    return found
