"""``sgi gate``: decides whether a run is good enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sgi.cli import options
from sgi.cli.gate_output import GateOutput, print_gate
from sgi.cli.option_fields import with_option_fields
from sgi.kernel.errors import UsageError
from sgi.reporting.weighted_runs import open_weighted_runs

if TYPE_CHECKING:
    from sgi.analysis.gate.gate import Options

_NOT_MET = 4
_baseline_option = options.option_group("Baseline run")


Rules = Annotated[
    list[str] | None,
    typer.Argument(
        help='Rules such as "faithfulness>=0.8", in quotes because shells interpret > and <; or .toml files'
        " with rules.",
        show_default=False,
    ),
]
Against = Annotated[str | None, _baseline_option(help="Baseline run, for rules on drops.")]
MaxDrop = Annotated[
    float | None,
    _baseline_option(
        help="Maximum drop of each metric named in the rules, in the unit of the metric; without rules, of "
        "each metric of the baseline run. It passes if the run is shown to be no worse than this. Needs "
        "--against."
    ),
]
Coverage = Annotated[
    str,
    typer.Option(
        help="Minimum share of rows with a value, unless a rule sets another. Rows that could not be read "
        "have no value."
    ),
]
DecideOn = Annotated[
    str,
    options.statistics_option(
        "--on",
        help="interval: the worse end of the 95 % interval must meet the rule. mean: the mean must meet it, "
        "which ignores chance.",
    ),
]
Looks = Annotated[
    int | None,
    options.statistics_option(
        min=1,
        help="Number of runs over the same questions that you plan to gate. The level of each interval is "
        "then 1 − 0.05 / LOOKS, and every further run fails.",
    ),
]
Worst = Annotated[int, options.output_option(min=0, help="Number of rows to list for each failed rule.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Split the rows by this column: check each rule for each of its values. To check one of them, "
        'begin the rule with it: "kind=regression: recall>=0.8".',
    ),
]
AllowUnfinished = Annotated[
    bool, typer.Option("--allow-unfinished", help="Accept runs that are not finished.")
]
RequireAudit = Annotated[
    bool,
    typer.Option(
        "--require-audit",
        help="A rule on a metric with a judge fails unless `sgi audit` has certified the judge with these "
        "prompts.",
    ),
]
JunitFile = Annotated[
    Path | None, options.output_option("--junit", help="Also write the checks as JUnit XML, for CI.")
]
QualityFile = Annotated[
    Path | None,
    options.output_option(
        "--code-quality",
        help="Also write the failing rows and their lines in the data file as a GitLab Code Quality report.",
    ),
]
GitHub = Annotated[
    bool,
    options.output_option(
        "--github",
        help="In GitHub Actions: also write the job summary and the outputs `passed` and `run`, and annotate "
        "the failing rows in the data file.",
    ),
]


@dataclass(frozen=True)
class DecisionFlags:
    """Flags of the decision: the options of `sgi.analysis.gate.gate.gate`."""

    max_drop: MaxDrop = None
    coverage: Coverage = "95%"
    on: DecideOn = "interval"
    looks: Looks = None
    worst: Worst = 5
    by: By = None
    allow_unfinished: AllowUnfinished = False
    allow_different: options.AllowDifferent = False

    def gate_options(self) -> Options:
        """Return the options; raise a UsageError if the coverage is not a share."""
        from sgi.engine.option_parsing import share

        return cast("Options", asdict(self) | {"coverage": share(self.coverage)})


@with_option_fields
def gate(
    run: options.Run,
    rules: Rules = None,
    against: Against = None,
    flags: DecisionFlags = DecisionFlags(),
    require_audit: RequireAudit = False,
    junit: JunitFile = None,
    code_quality: QualityFile = None,
    github: GitHub = False,
    cluster: options.RunCluster = None,
    weights: options.Weights = None,
    db: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Decide whether a run is good enough; exit 4 if not.

    A rule passes if the worse end of the metric's 95 % interval meets it. It fails if too few rows have a
    value, there are no rows, a group has fewer than 5 questions, the run does not have the metric, a run is
    not finished, or the runs differ in more than their responses. A misspelt metric is a usage error: exit 2.

    Do not set a limit for `grounding` itself: its level depends on the length of the answers. Compare with a
    baseline run, or set a limit for the probability of a run with --calibration.

    Every gate on the same questions is one more chance for a bad run to pass. The database counts the runs
    that were gated on them; --looks corrects for them.

    Examples:
      sgi gate last --against main --max-drop 0.02
      sgi gate last "calibrated>=0.8" "semantic_similarity>=0.7"
      sgi gate last rules.toml --junit gate.xml --looks 20
      sgi gate last "faithfulness>=0.8" --weights traffic
      sgi gate last "recall>=0.8" --by kind
      sgi gate last "faithfulness>=0.8" --require-audit
      sgi gate last --against main --max-drop 0.02 --github
    """
    from sgi.analysis.gate.looks import gate_stored_run
    from sgi.analysis.gate.rules import read_rules

    if flags.max_drop is not None and against is None:
        raise UsageError("--max-drop needs a baseline run.", hint="Add --against RUN.")
    settings = flags.gate_options()
    checked_rules = read_rules(rules or [])
    output = GateOutput(junit, code_quality, github, as_json, flags.worst)
    output.check()
    names = (run,) if against is None else (run, against)
    with open_weighted_runs(db, *names, cluster=cluster, weights=weights) as (database, records):
        report, notes = gate_stored_run(
            database, records[0], checked_rules, *records[1:], require_audit=require_audit, **settings
        )
        commands = output.write(database, records, report, notes)
    print_gate(report, notes, commands, output)
    if not report.passed:
        raise typer.Exit(_NOT_MET)
