"""Finds the tables of the language of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import ENGLISH, AnalysedText
from sgi.metrics.grounding.languages.record import language_named

if TYPE_CHECKING:
    from sgi.metrics.grounding.languages.record import Language


def language_code(text: str) -> str:
    """Return the code of the language of a text; a plain str is English."""
    return text.language if isinstance(text, AnalysedText) else ENGLISH


def tables_of(text: str) -> Language | None:
    """Return the tables of the language of a text, or None if it is English.

    >>> tables_of("It is red.") is None, tables_of(AnalysedText.of("Er ist rot.", "de")).name
    (True, 'German')
    """
    code = language_code(text)
    return None if code == ENGLISH else language_named(code)
