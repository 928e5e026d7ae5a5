"""Arguments and options that several commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sgi.engine import flags
from sgi.kernel.errors import SgiError
from sgi.kernel.registry import metric_names

if TYPE_CHECKING:
    from sgi.engine.flags import Flag


def complete_metric(context: typer.Context, incomplete: str) -> list[str]:
    """Complete names of metrics, also those of the file of ``--define``; a file with errors is ignored."""
    from sgi.metrics.definitions import Definitions

    try:
        defined = [*Definitions.of(context.params.get("define")).metrics]
    except SgiError:
        defined = []
    before, comma, last = incomplete.rpartition(",")
    names = [name for name in (*defined, *metric_names()) if name.startswith(last)]
    return [f"{before}{comma}{name}" for name in names]


def complete_entailment(incomplete: str) -> list[str]:
    """Complete names of profiles of entailment models."""
    from sgi.kernel.entailment_profile import entailment_profiles

    return [name for name in entailment_profiles() if name.startswith(incomplete)]


def complete_run(context: typer.Context, incomplete: str) -> list[str]:
    """Complete names and ids of runs; names with unprintable characters are left out."""
    from sgi import api

    try:
        runs = api.runs(db=context.params.get("db"))
    except SgiError:
        return []
    names = ["last", *(name for run in runs for name in (run.name, run.id) if name and name.isprintable())]
    return [name for name in names if name.startswith(incomplete)]


def option_group(title: str) -> partial[Any]:
    """Return `typer.Option` for options that the help of a command lists under this title."""
    return partial(typer.Option, rich_help_panel=title)


def typer_option(flag: Flag) -> Any:
    """Return the option of a command that a flag describes."""
    completions: dict[str, Any] = {"metric": complete_metric, "entailment": complete_entailment}
    return typer.Option(
        *flag.names,
        help=flag.help,
        rich_help_panel=flag.group,
        min=flag.minimum,
        metavar=flag.metavar,
        autocompletion=completions.get(flag.completion),
        envvar=flag.envvar,
        show_envvar=False,
    )


model_option = option_group("Models")
output_option = option_group("Output")
statistics_option = option_group("Statistics")

RunMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help=f"{flags.METRICS_HELP} Default: all metrics of the run.",
        autocompletion=complete_metric,
    ),
]
RunMetric = Annotated[
    str, typer.Option("-m", "--metric", help="Metric of the run.", autocompletion=complete_metric)
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Column of the data that says whether an answer is grounded: yes (1) or no (0). `people` stands "
        "for labels from the dashboard. Default: label if the data has it, otherwise people."
    ),
]
Seed = Annotated[int, statistics_option(min=0, help="Random seed.")]
LongTexts = Annotated[Literal["windows", "truncate"] | None, typer_option(flags.LONG_TEXTS)]
Question = Annotated[str, typer.Option("--question", "--q", help="The question.")]
Contexts = Annotated[list[str], typer.Option("--context", "--c", help="A retrieved passage; repeatable.")]
Response = Annotated[str, typer.Option("--response", "--r", help="The response.")]
Cache = Annotated[Path | None, typer_option(flags.CACHE)]
NoCache = Annotated[bool, typer_option(flags.NO_CACHE)]
Database = Annotated[str | None, typer_option(flags.DATABASE)]
AllowDifferent = Annotated[
    bool,
    statistics_option(
        "--allow-different",
        help="Compare the runs even if more than the responses differs: embedder, judge, prompts, metric "
        "version, references, rows that only one run has, or missing values.",
    ),
]
_RUN = "its id or the beginning of its id, its name, last, or last~1 for the one before last."
Run = Annotated[
    str,
    typer.Argument(help=f"A run: {_RUN}", autocompletion=complete_run, show_default=False),
]
Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...", help=f"Runs; each is {_RUN}", autocompletion=complete_run, show_default=False
    ),
]
SystemColumn = Annotated[
    str | None,
    typer.Option("--by", help="Split the rows of one run by this column: each group is a system."),
]
Within = Annotated[
    str | None,
    typer.Option(
        help="Column of the data, such as a question type: also rank the systems for each of its values."
    ),
]
Pareto = Annotated[
    str | None,
    typer.Option(
        metavar="QUALITY,COST", help="Two metrics: also show which systems no other system beats on both."
    ),
]
JudgeSet = Annotated[list[str] | None, typer_option(flags.JUDGE_SET)]
Define = Annotated[Path | None, typer_option(flags.DEFINE)]
Cluster = Annotated[str | None, typer_option(flags.CLUSTER)]
RunCluster = Annotated[
    str | None,
    statistics_option(
        "--cluster", metavar=flags.CLUSTER_VALUES, help=f"{flags.CLUSTER_HELP} Default: the rule of the run."
    ),
]
Weights = Annotated[
    str | None,
    statistics_option(
        "--weights",
        metavar="COLUMN",
        help="Column of the data with the weight of each row, a number above 0, such as how often its "
        "question is asked. Means, intervals and tests are then weighted.",
    ),
]
Json = Annotated[bool, output_option("--json", help="Print JSON.")]
Inputs = Annotated[bool, typer_option(flags.INPUTS)]
Percent = Annotated[bool, output_option(help="Print shares as percent.")]
DryRun = Annotated[bool, output_option("--dry-run", help="Print what would be done, and do nothing.")]
Quiet = Annotated[bool, output_option("-q", "--quiet", help="Print no progress and no notes.")]
