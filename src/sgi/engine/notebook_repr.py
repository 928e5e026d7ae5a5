"""How a result shows itself where people work with it: in a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PAGE = "sgi.report.notebook:html_of"
"""What draws it stands above the engine, and is found by its name when a notebook asks."""


class NotebookRepr:
    """What notebooks show as a table and a chart, and as its text wherever HTML is not to be had."""

    def _repr_html_(self) -> str | None:
        """Its table and chart; None, so that the text stands alone, where what draws them is missing."""
        module, _, name = _PAGE.partition(":")
        try:
            draw: Callable[[NotebookRepr], str] = getattr(import_module(module), name)
        except ImportError:
            return None
        return draw(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Its text, which stands beside the HTML, in place of what `repr` says."""
        return {"text/plain": str(self)}
