"""Collect rows from LangChain and LangGraph: one row for each call of a chain or graph."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sgi.integrations.langchain_rows import run_row
from sgi.io.write import open_writer
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.langchain", "langchain"):
    from langchain_core.tracers.base import BaseTracer

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from langchain_core.tracers.schemas import Run


class RowCollector(BaseTracer):  # type: ignore[misc]  # Any where LangChain is not installed
    """Callback that collects a row with question, contexts, response, id and latency for each root call.

    Pass it in ``config={"callbacks": [collector]}``. It works with ``invoke``, ``stream``, ``batch`` and
    their async forms. ``rows`` goes into `sgi.evaluate`, and `write` writes a file for ``sgi run``.

    Attributes:
        rows: the rows of chains, graphs and agents, in the order in which the calls end.
        skipped: the number of root calls that are not a chain, by type, such as a model called alone.

    Args:
        tools: names of tools whose text output is a passage, such as a web search.
    """

    run_inline = True

    def __init__(self, *, tools: Collection[str] = ()) -> None:
        super().__init__()
        self.tools = frozenset(tools)
        self.rows: list[dict[str, Any]] = []
        self.skipped: Counter[str] = Counter()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the rows to a file, as JSON lines, CSV or Parquet by its suffix."""
        with open_writer(path) as writer:
            writer.write(list(self.rows))

    def _persist_run(self, run: Run) -> None:
        if run.run_type == "chain":
            self.rows.append(run_row(run, tools=self.tools))
        else:
            self.skipped[run.run_type] += 1
        self._forget(run)

    def _forget(self, run: Run) -> None:
        """Remove the tree from the base class's table, which otherwise grows for ever."""
        self.order_map.pop(run.id, None)
        for child in run.child_runs:
            self._forget(child)
