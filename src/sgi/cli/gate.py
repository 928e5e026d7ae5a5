"""``sgi gate``: is a run good enough?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import DatabaseOption, JsonOption, RunArgument

if TYPE_CHECKING:
    from sgi.engine.gating.gate import GateReport
    from sgi.kernel.scored import ScoredRun
    from sgi.store.queries import RunRecord

_NOT_MET = 4
_LONGEST_NOTE = 400


Rules = Annotated[
    list[str] | None,
    typer.Argument(
        help='Rules such as "faithfulness>=0.8", in quotes, since shells take > and < for themselves; or'
        " .toml files of rules.",
        show_default=False,
    ),
]
Against = Annotated[str | None, typer.Option(help="The run before, which rules on drops compare with.")]
MaxDrop = Annotated[
    float | None,
    typer.Option(
        help="How much each metric of the rules, or without rules each metric of the run before, may have"
        " lost, in its own unit; goes with --against."
    ),
]
Coverage = Annotated[
    str,
    typer.Option(
        help="The share of rows that must have a value, where a rule says nothing else; rows that could not"
        " be read have none."
    ),
]
AllowUnfinished = Annotated[
    bool, typer.Option("--allow-unfinished", help="Decide also on runs of which rows are still to be done.")
]
ReportFile = Annotated[
    Path | None, typer.Option("--junit", help="Also write the checks as JUnit XML, for build servers.")
]


def gate(
    run: RunArgument,
    rules: Rules = None,
    against: Against = None,
    max_drop: MaxDrop = None,
    coverage: Coverage = "95%",
    allow_unfinished: AllowUnfinished = False,
    report_file: ReportFile = None,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide whether a run is good enough; exit 4 if not.

    A rule is met if the end of the metric's 95 % interval meets it, so what is not shown by the data is not
    met. Too few rows with a value, no rows, an unknown metric, a metric that the run before had and this one
    lacks or has in another version, a run that is not finished: not met.

    Examples:

      sgi gate last "rouge_l>=0.4" "sgi>1"

      sgi gate last rules.toml --junit gate.xml

      sgi gate last --against main --max-drop 0.02
    """
    from sgi.cli.console import one_line, print_json, print_lines, print_tables, readers_may_leave, talk
    from sgi.cli.tables import gate_table
    from sgi.engine.compare import unknown_versions
    from sgi.engine.gating import gate as engine
    from sgi.engine.spec import share
    from sgi.kernel.errors import UsageError
    from sgi.report.views.comparison import other_data

    if max_drop is not None and against is None:
        raise UsageError("--max-drop needs a run to compare with.", hint="Name it with --against.")
    least = share(coverage)
    records, (made, *before) = _read(db, [run] if against is None else [run, against])
    base = before[0] if before else None
    report = engine.gate(
        made,
        rules or [],
        coverage=least,
        against=base,
        max_drop=max_drop,
        allow_unfinished=allow_unfinished,
    )
    _write_junit(report, report_file)
    notes = (note for base in before for note in unknown_versions(base, made))
    for line in (*notes, *other_data(records)):
        talk(one_line(line, longest=_LONGEST_NOTE))
    with readers_may_leave():
        if as_json:
            print_json(report.to_dict())
        else:
            print_tables([gate_table(report)])
            print_lines([_verdict(report)])
    if not report.passed:
        raise typer.Exit(_NOT_MET)


def _read(db: str | None, names: list[str]) -> tuple[list[RunRecord], list[ScoredRun]]:
    from sgi.store.database import open_database
    from sgi.store.queries import find_run
    from sgi.store.run_rows import scored_run

    with open_database(db, create=False) as database:
        records = [find_run(database, name) for name in names]
        return records, [scored_run(database, record) for record in records]


def _verdict(report: GateReport) -> str:
    from sgi.cli.console import one_line

    failed = sum(not check.passed for check in report.checks)
    verdict = f"{failed} of {len(report.checks)} rules not met" if failed else "all rules met"
    return f"{one_line(report.run)}: {verdict}"


def _write_junit(report: GateReport, path: Path | None) -> None:
    from sgi.engine.gating.junit import junit
    from sgi.kernel.errors import UsageError

    if path is None:
        return
    try:
        path.write_bytes(junit(report))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", hint="Name another file.") from error
