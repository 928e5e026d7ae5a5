"""``sgi mcp``: serves tools for AI agents over MCP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import anyio
from pydantic import Field

from sgi.cli.console import json_text
from sgi.cli.run_options import Values, run_options, with_run_options
from sgi.cli.run_output import report_facts
from sgi.engine.progress import Began, Event, silent
from sgi.engine.run_options import DEFAULT_EMBEDDER, RunOptions
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import quote

MAX_ROWS = 20
"""Maximum number of rows in a result."""

_OPTIONS: Values = {"embedders": [DEFAULT_EMBEDDER]}  # variables of the environment choose no remote model

Text = Annotated[str, Field(max_length=100_000)]
Contexts = Annotated[list[Text], Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(max_length=200)]
Rows = Annotated[int, Field(ge=1, le=MAX_ROWS)]


@with_run_options("judge_model", "judge_set", "judge_max_cost", "db")
def mcp(values: Values) -> None:
    """Serve tools for AI agents over MCP, on stdin and stdout.

    The tools check, run, compare, show and diagnose return what the commands print with --json, with at most
    20 rows and shortened texts. `run` reads data files in this folder and below, and stores the run. No
    model is called over a network, unless you give --judge with --max-cost: the most that all runs of this
    server may cost together.

    Examples:
      sgi mcp
      sgi mcp --judge openai:gpt-4o-mini --max-cost 2
    """
    from sgi.integrations.mcp import make_server

    tools = Tools(Path.cwd().resolve(), values.get("db"), values.get("judge"))
    make_server((tools.check, tools.run, tools.compare, tools.show, tools.diagnose)).run("stdio")


class Tools:
    """The tools of the server; an agent reads their docstrings.

    Args:
        folder: the folder of the data files, without links.
        db: the database of the runs.
        judge: the settings of the judge, with ``max_cost``; None for no judge.
    """

    def __init__(self, folder: Path, db: str | None, judge: dict[str, Any] | None) -> None:
        if judge is not None and not {"model", "max_cost"} <= judge.keys():
            raise UsageError("A judge needs --judge and --max-cost.", hint="Give both, or none.")
        spec = RunOptions.of({"judge": judge}, source="the command line").judge
        self._folder, self._db, self._judge = folder, db, judge
        self._budget = 0.0 if spec is None else spec.max_cost or 0.0

    def check(self, contexts: Contexts, response: Text, question: Text = "") -> dict[str, Any]:
        """Score how well passages support one answer (0 to 1, not a probability), sentence by sentence.

        `grounding` is the score or null, with status and reason; `sentences` has the unsupported parts.
        """
        from sgi.cli.check_command import check_answer
        from sgi.kernel.sample import Sample

        sample = Sample(id="answer", question=question, contexts=tuple(contexts), response=response)
        return _as_json(check_answer(sample, {**_OPTIONS}).facts())

    def run(self, data: Name, metrics: list[Name] | None = None, name: Name | None = None) -> dict[str, Any]:
        """Score a data file of answers, and store the run. `data` is a path in the folder of the server.

        Without `metrics`, those that fit the columns are chosen. `name` is a new, unique name of the run.
        """
        from sgi.engine.runner import start_run

        limit = self._budget
        values = _OPTIONS | {"data": self._file(data), "db": self._db, "name": name}
        chosen = run_options(values | self._metrics(metrics or []))
        report = anyio.run(start_run, chosen, self._reserve_budget if chosen.judge else silent)
        if chosen.judge and report.usage.cost is not None:
            self._budget = limit - report.usage.cost
        return _as_json(report_facts(chosen, report, self._db))

    def compare(self, base: Name, new: Name, allow_different: bool = False) -> dict[str, Any]:
        """Compare two stored runs row by row: paired differences (new − base), intervals, tests, verdicts.

        A run is its id, its name, `last`, or `last~1` for the one before.
        """
        from sgi.reporting.views.comparison import comparison_view
        from sgi.store.open_runs import open_runs

        with open_runs(self._db, base, new) as (database, records):
            view = comparison_view(database, *records, changed=5, allow_different=allow_different)
        return _as_json(view.comparison.to_dict())

    def show(self, run: Name, metric: Name | None = None, rows: Rows = 10) -> dict[str, Any]:
        """Show a stored run: its summary, and in `worst` the worst rows of a metric, with the reason."""
        from sgi.cli.printed_tables import worst_facts
        from sgi.cli.show_command import summary_facts, worst_rows
        from sgi.reporting.views.headline import scored_rows
        from sgi.store.open_runs import open_runs

        with open_runs(self._db, run) as (database, (record,)):
            worst = worst_rows(database, record, scored_rows(database, record), metric, rows)
            facts = {"worst": None if worst is None else worst_facts(worst)}
            return _as_json(summary_facts(database, record) | facts)

    def diagnose(self, run: Name, rows: Rows = MAX_ROWS) -> dict[str, Any]:
        """Say what is wrong with the rows of a stored run, and what to do about it.

        `causes` has the share of each cause; `diagnoses` has rows with a fault, then rows to read.
        """
        from sgi.analysis.diagnosis.causes import CORRECT
        from sgi.api import diagnose

        result = diagnose(run, db=self._db, listener=silent)
        faults = [row for row in result.rows if row.cause not in {None, CORRECT}]
        shown = [*faults, *result.to_read][:rows]
        return _as_json(result.to_dict() | {"diagnoses": [row.to_dict() for row in shown]})

    def _file(self, name: str) -> Path:
        path = (self._folder / name).resolve()
        if path.is_relative_to(self._folder) and path.suffix.casefold() != ".toml" and path.is_file():
            return path
        hint = "Name a file in the folder of the server or below, not a link out of it or a .toml file."
        raise UsageError(f"{quote(name)!r} is not a data file of this server.", hint=hint)

    def _metrics(self, names: list[str]) -> Values:
        """Return the options for these metrics; the judge is given only if one of them needs it."""
        from sgi.kernel.judged_metric import judged_metrics
        from sgi.kernel.registry import resolve

        if any("(" in name for name in names):  # a parameter can name a file or a remote model
            raise UsageError("The server takes metrics without parameters.", hint="Write: grounding")
        if not names or not judged_metrics(resolve(names)):
            return {"metrics": names} if names else {}
        if self._judge is None or self._budget <= 0:
            hint = "A person can start it again with --judge and --max-cost."
            raise UsageError("The server has no judge, or its cost limit is used up.", hint=hint)
        return {"metrics": names, "judge": self._judge | {"max_cost": self._budget}}

    def _reserve_budget(self, event: Event) -> None:
        """Take the whole budget when a run begins: what a run that stops has cost is not known."""
        if isinstance(event, Began):
            self._budget = 0.0


def _as_json(facts: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json_text(facts)))
