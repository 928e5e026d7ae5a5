"""The rule for the names of runs, tags, metrics and data.

A name appears in terminals, tables, file names and pages. So it has only printable characters (no control or
zero-width characters, direction marks or line breaks) and a maximum length.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sgi.kernel.short_text import shorten

TORCH = "torch:"
"""The prefix of a model that PyTorch runs."""
MAX_NAME = 200
"""The maximum number of characters of a name."""
MAX_METRIC = 2000
"""The maximum number of characters of a metric's canonical string, which contains its parameters."""
MAX_LABEL = 80
"""The maximum number of characters of a metric's name in tables and messages."""
_DEFINED = re.compile(r'([a-z]\w*)\(definition="[0-9a-f]{8}"\)')
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def name_problem(text: str, *, longest: int = MAX_NAME) -> str:
    r"""Return why a text cannot be a name; an empty string if it can.

    >>> name_problem("nightly"), name_problem("night\x1bly"), name_problem(" "), name_problem("x" * 201)
    ('', 'it has characters that cannot be printed', 'it is blank', 'it has more than 200 characters')
    """
    if not text.strip():
        return "it is blank"
    if len(text) > longest:
        return f"it has more than {longest} characters"
    return "" if text.isprintable() else "it has characters that cannot be printed"


def as_name(text: str, *, longest: int = MAX_NAME) -> str:
    r"""Make a name from any text: replace characters that cannot be printed, and truncate.

    >>> as_name("night\x1bly.csv"), as_name("x" * 300, longest=4), as_name("")
    ('night�ly.csv', 'xxx…', '�')
    """
    name = shorten("".join(sign if sign.isprintable() else _UNPRINTABLE for sign in text), longest)
    return name if name.strip() else _UNPRINTABLE


@lru_cache
def metric_label(canonical: str) -> str:
    """Return the name of a metric for tables and messages: without its definition, and not too long.

    >>> metric_label('quality(definition="2d531f3c")'), metric_label("rouge_l(beta=1.2)")
    ('quality', 'rouge_l(beta=1.2)')
    >>> len(metric_label(f"contains(text='{'a' * 100}')"))
    80
    """
    match = _DEFINED.fullmatch(canonical)
    return shorten(canonical, MAX_LABEL) if match is None else match[1]
