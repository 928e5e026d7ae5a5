"""The options of ``sgi serve`` about what its pages show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from sgi.cli import options
from sgi.kernel.errors import UsageError

_LONGEST_GUIDE = 20_000
TRACE_ID = "{trace_id}"
"""The part of the address of a trace that its id replaces."""

_option = options.option_group("Pages")

LabelGuide = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        rich_help_panel="Pages",
        help="Text file with the guide for people who label answers. Default: a guide for supported answers.",
    ),
]
TraceUrl = Annotated[
    str | None,
    _option(
        metavar="URL",
        help="Address of a trace in your tracing tool, with {trace_id}. Rows with a trace_id link to it.",
    ),
]


class PageSettings(TypedDict):
    """The settings of a site that these options set."""

    label_guide: str
    trace_url: str


@dataclass(frozen=True, kw_only=True)
class PageFlags:
    """The values of the options about pages: one field for each option."""

    label_guide: LabelGuide = None
    trace_url: TraceUrl = None

    def settings(self) -> PageSettings:
        """Return the settings; raise UsageError for a guide that is not text, or a bad address."""
        return {"label_guide": self._guide(), "trace_url": self._trace_url()}

    def _guide(self) -> str:
        if self.label_guide is None:
            return ""
        try:
            return self.label_guide.read_text(encoding="utf-8")[:_LONGEST_GUIDE]
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.label_guide} is not a text file in UTF-8.") from error

    def _trace_url(self) -> str:
        url = self.trace_url or ""
        if url and not (url.startswith(("https://", "http://")) and TRACE_ID in url):
            hint = f"Example: --trace-url https://langfuse.example.org/project/p/traces/{TRACE_ID}"
            raise UsageError(f"--trace-url needs http or https, and {TRACE_ID}; it is {url!r}.", hint=hint)
        return url
