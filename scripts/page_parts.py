"""Replaces the computed parts of a page, which are between markers."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def replace_parts(page: str, parts: Mapping[str, str]) -> str:
    """Replace the parts of the page between their markers.

    Raises:
        SystemExit: a marker is missing.
    """
    for name, text in parts.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(page):
            sys.exit(f"The page has no markers {begin} and {end}.")
        block = f"{begin}\n\n{text}\n\n{end}"
        page = pattern.sub(lambda _, block=block: block, page)  # type: ignore[misc]  # used in this iteration
    return page
