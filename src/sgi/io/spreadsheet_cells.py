"""Texts in CSV that a spreadsheet would run as formulas.

A spreadsheet takes a cell as a formula if it begins with ``=``, ``+``, ``-`` or ``@``. Some first remove
white space and characters without a width, and some take full-width forms of these signs for the signs.
"""

from __future__ import annotations

import unicodedata

_FORMULA = frozenset("=+-@\N{MINUS SIGN}")
_BREAKS = ("\t", "\r", "\n")
_IGNORED = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Categories of characters that can be removed from the beginning of a cell."""
_MARK = "'"


def harmless(text: str) -> str:
    r"""The text, with an apostrophe before it if a spreadsheet could run it.

    A text that begins with apostrophes and then with such a formula gets one more, so that no two texts are
    written alike: the text is what is left without the first apostrophe.

    >>> harmless("=1+1"), harmless("1+1"), harmless(" \u200b＝1"), harmless("'=1"), harmless("'tis")
    ("'=1+1", '1+1', "' \u200b＝1", "''=1", "'tis")
    """
    return f"{_MARK}{text}" if _is_formula(text.lstrip(_MARK)) else text


def _is_formula(text: str) -> bool:
    if not text or (text[0].isascii() and text[0].isalnum()):
        return False
    if text.startswith(_BREAKS):
        return True
    for sign in text:
        if unicodedata.category(sign) not in _IGNORED:
            return unicodedata.normalize("NFKC", sign)[0] in _FORMULA
    return False
