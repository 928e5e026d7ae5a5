"""The one rule for names: of runs, tags, metrics and data, from whomever they come.

A name is printed into terminals, tables, file names and pages. So it has printable characters alone, which
leaves out control characters, direction marks, zero-width characters and line breaks, and is not long.
"""

from __future__ import annotations

MAX_NAME = 200
"""Characters of a name."""
MAX_METRIC = 2000
"""Characters of a metric's canonical string, which holds its parameters."""
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def name_problem(text: str, *, longest: int = MAX_NAME) -> str:
    r"""Why a text cannot be a name; empty where it can.

    >>> name_problem("nightly"), name_problem("night\x1bly"), name_problem(" "), name_problem("x" * 201)
    ('', 'it holds characters that cannot be printed', 'it is blank', 'it has more than 200 characters')
    """
    if not text.strip():
        return "it is blank"
    if len(text) > longest:
        return f"it has more than {longest} characters"
    return "" if text.isprintable() else "it holds characters that cannot be printed"


def as_name(text: str, *, longest: int = MAX_NAME) -> str:
    r"""A name made of any text, such as that of a file: what cannot be printed is replaced, the rest cut.

    >>> as_name("night\x1bly.csv"), as_name("x" * 300, longest=4), as_name("")
    ('night�ly.csv', 'xxx…', '�')
    """
    name = "".join(sign if sign.isprintable() else _UNPRINTABLE for sign in text)
    name = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return name if name.strip() else _UNPRINTABLE
