"""Output of ``sgi gate``: terminal, files for build servers, and the files and commands of GitHub Actions."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import typer

from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables, styled, with_options
from sgi.cli.printed_tables import gate_reasons, gate_table, worst_tables
from sgi.kernel.errors import UsageError
from sgi.reporting.terminal_style import style_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sgi.analysis.compare import Comparison
    from sgi.analysis.gate.gate import GateReport
    from sgi.reporting.views.failing_rows import FailingRow
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_LONGEST_NOTE = 400


@dataclass(frozen=True)
class GateOutput:
    """The outputs of a gate that the user selected.

    ``junit`` and ``code_quality`` are files. ``github`` stands for the job summary, the outputs of the step
    and the annotations of GitHub Actions. ``as_json`` prints JSON instead of tables. ``worst`` is the number
    of rows of each failed rule.
    """

    junit: Path | None
    code_quality: Path | None
    github: bool
    as_json: bool
    worst: int

    def check(self) -> None:
        """Raise a UsageError for GitHub's output outside of GitHub Actions, or together with JSON."""
        if self.github and self.as_json:
            raise UsageError("--github and --json both write to stdout.", hint="Leave out one of them.")
        if self.github and not os.environ.get("GITHUB_STEP_SUMMARY"):
            message = "--github needs the variable GITHUB_STEP_SUMMARY, which GitHub Actions sets."
            raise UsageError(message, hint="Leave out --github; --junit FILE works on every build server.")

    def write(
        self, database: Database, records: Sequence[RunRecord], report: GateReport, notes: Sequence[str]
    ) -> list[str]:
        """Write the files, and return the workflow commands to print; ``records`` are run and baseline."""
        from sgi.reporting.gate_summary import code_quality, file_in_repository, github_commands, junit
        from sgi.reporting.views.failing_rows import data_file, failing_rows, worst_rows

        _write(self.junit, lambda: junit(report))
        if self.code_quality is None and not self.github:
            return []
        file = file_in_repository(data_file(records[0]))
        rows = failing_rows(database, records[0], report, most=self.worst)
        _write(self.code_quality, lambda: orjson.dumps(code_quality(rows, file), option=orjson.OPT_INDENT_2))
        if not self.github:
            return []
        passed = [check.metric for check in report.checks if check.passed]
        worst = worst_rows(database, records[0], passed, most=self.worst) if self.worst else ()
        summary = _summary(database, records, report, (rows, worst), file, notes)
        _append(os.environ["GITHUB_STEP_SUMMARY"], summary)
        if output := os.environ.get("GITHUB_OUTPUT"):
            _append(output, f"passed={str(report.passed).lower()}\nrun={records[0].id}\n")
        return list(github_commands(report, rows, file))


def print_gate(report: GateReport, notes: Sequence[str], commands: Sequence[str], output: GateOutput) -> None:
    """Print tables and verdict, or JSON; for GitHub Actions, then the annotations."""
    if not output.github:
        print_notes([*report.notes, *notes])
        if output.as_json:
            print_json(report.to_dict())
        else:
            _print_tables(report)
        return
    with _without_commands():
        print_lines(one_line(with_options(note), longest=_LONGEST_NOTE) for note in (*report.notes, *notes))
        _print_tables(report)
    print_lines(commands)


def _print_tables(report: GateReport) -> None:
    print_tables([gate_table(report)])
    print_lines(gate_reasons(report))
    print_tables(worst_tables(report))
    style = style_of("passed" if report.passed else "failed")
    print_lines([styled(f"{one_line(report.run)}: ", (report.verdict, style))])


@contextmanager
def _without_commands() -> Iterator[None]:
    """Context manager in which GitHub takes no line of the output for a workflow command."""
    token = secrets.token_hex(16)
    typer.echo(f"::stop-commands::{token}")
    try:
        yield
    finally:
        typer.echo(f"::{token}::")


def _summary(
    database: Database,
    records: Sequence[RunRecord],
    report: GateReport,
    rows: tuple[Sequence[FailingRow], Sequence[FailingRow]],
    file: str | None,
    notes: Sequence[str],
) -> str:
    from sgi.reporting.gate_summary import gate_summary
    from sgi.reporting.views.headline import headline

    comparison, reason = _comparison(database, records)
    return gate_summary(
        report,
        headline(database, records[0]),
        *rows,
        data=file,
        comparison=comparison,
        notes=[*notes, *reason],
    )


def _comparison(database: Database, records: Sequence[RunRecord]) -> tuple[Comparison | None, list[str]]:
    """Return the differences to the baseline, or why there are none."""
    from sgi.analysis.compare import compare
    from sgi.engine.stored_runs import read_run

    if len(records) == 1:
        return None, []
    run, baseline = (read_run(database, record) for record in records)
    try:
        return compare(baseline, run, changed=0, allow_different=True), []
    except UsageError as error:
        return None, [f"The run cannot be compared with the baseline: {error}"]


def _write(path: Path | None, content: Callable[[], bytes]) -> None:
    from sgi.io.write import write_whole

    if path is not None:
        write_whole(path, content())


def _append(path: str, text: str) -> None:
    with _as_usage_error(path), Path(path).open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)


@contextmanager
def _as_usage_error(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise UsageError(message, hint="Choose another file.") from error
