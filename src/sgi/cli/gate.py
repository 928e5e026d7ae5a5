"""``sgi gate``: is a run good enough?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sgi.cli.options import (
    AllowDifferentOption,
    DatabaseOption,
    JsonOption,
    RunArgument,
    RunClusterOption,
)

if TYPE_CHECKING:
    from sgi.analysis.gate.checks import On
    from sgi.analysis.gate.gate import GateReport, Options

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
Against = Annotated[str | None, typer.Option(help="The run before; rules on drops compare the run with it.")]
MaxDrop = Annotated[
    float | None,
    typer.Option(
        help="The largest drop allowed for each metric of the rules, or without rules for each metric of the"
        " run before, in its own unit; needs --against."
    ),
]
Coverage = Annotated[
    str,
    typer.Option(
        help="The share of rows that must have a value, where a rule says nothing else; rows that could not"
        " be read have none."
    ),
]
DecideOn = Annotated[
    str,
    typer.Option(
        "--on",
        help="interval: the end of the 95 % interval must meet the rule. mean: the mean must, and chance is"
        " not allowed for.",
    ),
]
Looks = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How many runs over the same questions you plan to gate. Each interval is then taken at the"
        " level 1 − 0.05 / LOOKS; further runs are not met.",
    ),
]
Worst = Annotated[int, typer.Option(min=0, help="Rows to list for each rule that is not met.")]
AllowUnfinished = Annotated[
    bool, typer.Option("--allow-unfinished", help="Decide also on runs that are not finished.")
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
    on: DecideOn = "interval",
    looks: Looks = None,
    worst: Worst = 5,
    allow_unfinished: AllowUnfinished = False,
    allow_different: AllowDifferentOption = False,
    report_file: ReportFile = None,
    cluster: RunClusterOption = None,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide whether a run is good enough; exit 4 if not.

    A rule is met if the end of the metric's 95 % interval meets it. It is not met if too few rows have a
    value, if there are no rows, if the metric is unknown or the run before has it and this one does not, if a
    run is not finished, or if the runs differ in more than their responses.

    Each look at the same questions is one more chance for a bad run to pass. The database counts the runs
    that were gated on them; --looks allows for them.

    Examples:

      sgi gate last "grounding>=0.6" "semantic_similarity>=0.7"

      sgi gate last rules.toml --junit gate.xml --looks 20

      sgi gate last --against main --max-drop 0.02
    """
    from sgi.cli.console import one_line, print_json, print_lines, print_tables, readers_may_leave, talk
    from sgi.cli.tables import gate_table, worst_tables
    from sgi.engine.spec import share
    from sgi.kernel.errors import UsageError

    if max_drop is not None and against is None:
        raise UsageError("--max-drop needs a run to compare with.", hint="Name it with --against.")
    options: Options = {
        "coverage": share(coverage),
        "max_drop": max_drop,
        "allow_unfinished": allow_unfinished,
        "allow_different": allow_different,
        "on": cast("On", on),
        "looks": looks,
        "worst": worst,
    }
    report, notes = _decided(db, run, against, rules or [], options, cluster)
    _write_junit(report, report_file)
    for line in (*report.notes, *notes):
        talk(one_line(line, longest=_LONGEST_NOTE))
    with readers_may_leave():
        if as_json:
            print_json(report.to_dict())
        else:
            print_tables([gate_table(report), *worst_tables(report)])
            print_lines([f"{one_line(report.run)}: {report.verdict}"])
    if not report.passed:
        raise typer.Exit(_NOT_MET)


def _decided(
    db: str | None,
    run: str,
    against: str | None,
    given: list[str],
    options: Options,
    cluster: str | None,
) -> tuple[GateReport, list[str]]:
    """The report, with earlier looks counted and this one recorded; and what to say of the looks."""
    from sgi.analysis.gate.gate import gate as decide
    from sgi.analysis.gate.gate import look_of
    from sgi.analysis.gate.looks import questions_key
    from sgi.analysis.gate.rules import read_rules
    from sgi.kernel.errors import StoreError
    from sgi.store.database import open_database
    from sgi.store.gates import earlier_looks, record_gate
    from sgi.store.run_queries import find_run
    from sgi.store.run_rows import scored_run

    rules = read_rules(given)
    with open_database(db, create=False) as database:
        record = find_run(database, run).clustered(cluster)
        before = None if against is None else find_run(database, against).clustered(cluster)
        base = None if before is None else scored_run(database, before)
        made = scored_run(database, record)
        questions = questions_key(made)
        earlier = earlier_looks(database, questions, record.id)
        report = decide(made, rules, against=base, earlier=earlier, **options)
        notes = _notes_on_looks(report)
        if made.finished:
            decided = ((look_of(made, check), check) for check in report.checks)
            rows = [(*look, check.rule, check.passed) for look, check in decided if look is not None]
            try:
                record_gate(database, questions, record.id, rows)
            except StoreError as error:
                notes.append(f"This look is not counted: {error}")
    return report, notes


def _notes_on_looks(report: GateReport) -> list[str]:
    """Which look at these questions this is, and what that means."""
    look = max((check.look or 1 for check in report.checks), default=1)
    if report.looks is not None:
        level = f"{100 * report.checks[0].level:.6g} %"
        return [f"This is look {look} of {report.looks} planned at these questions; intervals at {level}."]
    if look == 1:
        return []
    many = "Each look at 95 % is one more chance for a bad run to pass; plan for all of them with --looks."
    return [f"This is look {look} at these questions. {many}"]


def _write_junit(report: GateReport, path: Path | None) -> None:
    from sgi.analysis.gate.junit import junit
    from sgi.kernel.errors import UsageError

    if path is None:
        return
    try:
        path.write_bytes(junit(report))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", hint="Name another file.") from error
