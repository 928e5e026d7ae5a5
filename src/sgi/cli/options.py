"""Arguments and options that several commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sgi.kernel.errors import SgiError
from sgi.kernel.registry import metric_names


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


data_option = option_group("Data")
model_option = option_group("Models")
judge_option = option_group("Judge")
output_option = option_group("Output")
statistics_option = option_group("Statistics")
storage_option = option_group("Storage")

_METRICS = "A metric, or several separated by commas; repeatable."
_LONG_TEXTS = (
    "How the model reads a text that exceeds its limit: windows (overlapping parts, whose vectors are "
    "averaged) or truncate (only its beginning). Remote models ignore it."
)
_CLUSTER = (
    "Which rows belong together in intervals and tests: question (rows with the same question), contexts "
    "(rows with the same passages), row (every row alone), or a column of the data."
)
_CLUSTER_VALUES = "COLUMN|question|contexts|row"

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help=f"{_METRICS} Parameters go in parentheses: 'rouge_l(beta=1.2)'. Default: grounding, sgi, "
        "semantic_similarity and lexical_aggregate, except those whose fields the data lacks.",
        autocompletion=complete_metric,
    ),
]
RunMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help=f"{_METRICS} Default: all metrics of the run.",
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
Embedders = Annotated[
    list[str] | None,
    model_option(
        "-e",
        "--embedder",
        help="minilm (bundled), another name from `sgi models`, a folder, torch:NAME, openai:MODEL, "
        "openai:MODEL@URL or azure:DEPLOYMENT; repeatable, the first is the primary one. Default: Azure "
        "OpenAI if AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, otherwise minilm.",
    ),
]
LongTexts = Annotated[Literal["windows", "truncate"], model_option("--long-texts", help=_LONG_TEXTS)]
OptionalLongTexts = Annotated[
    Literal["windows", "truncate"] | None, model_option("--long-texts", help=_LONG_TEXTS)
]
ColumnMap = Annotated[
    list[str] | None,
    data_option(
        "--map",
        help="field=column, for a column that SGI does not recognise; repeatable. Dots select a value inside "
        "a column (response=outputs.answer, contexts=docs.*.text), commas join columns "
        "(contexts=ctx_1,ctx_2), and an empty column ignores the field (label=).",
    ),
]
Question = Annotated[str, typer.Option("--question", "--q", help="The question.")]
Contexts = Annotated[list[str], typer.Option("--context", "--c", help="A retrieved passage; repeatable.")]
Response = Annotated[str, typer.Option("--response", "--r", help="The response.")]
Encoding = Annotated[
    str | None,
    data_option(
        help="Encoding of a text file, such as cp1252. Default: that of its byte order mark, otherwise UTF-8."
    ),
]
OnError = Annotated[
    str,
    data_option(
        help="If a row cannot be read: stop (exit code 2), or skip it, write it to --rejects and exit 3."
    ),
]
Cache = Annotated[Path | None, storage_option("--cache", help="File of the vector cache.")]
NoCache = Annotated[bool, storage_option("--no-cache", help="Do not cache vectors on disk.")]
Database = Annotated[
    str | None,
    storage_option(
        "--db",
        envvar="SGI_DATABASE_URL",
        show_envvar=False,
        help="Database of runs: a SQLite file or postgresql://… Default: SGI_DATABASE_URL, otherwise sgi.db "
        "in this folder.",
    ),
]
AllowDifferent = Annotated[
    bool,
    statistics_option(
        "--allow-different",
        help="Compare runs that differ in more than their responses: embedder, judge, prompts, metric "
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
    typer.Option("--by", help="Column of one run's data that names the system of each row."),
]
Within = Annotated[
    str | None,
    typer.Option(help="Column of the data, such as a question type: also show each system by its values."),
]
Pareto = Annotated[
    str | None,
    typer.Option(
        metavar="QUALITY,COST", help="Two metrics: also show which systems no other system beats on both."
    ),
]
Judge = Annotated[
    str | None,
    judge_option(
        "--judge",
        help="LLM for judged metrics: SERVICE:NAME, where SERVICE is openai, azure, anthropic, google, "
        "bedrock, openrouter, ollama or vllm; or openai:NAME@http://host:port/v1 for a compatible server.",
    ),
]
JudgeSet = Annotated[
    list[str] | None,
    judge_option(
        "--judge-set",
        help="setting=value of the judge: temperature, seed, max_tokens, budget, retries, input_price or "
        "output_price; repeatable.",
    ),
]
JudgeConcurrency = Annotated[
    int | None,
    judge_option("--judge-concurrency", min=1, help="Maximum number of concurrent requests. Default: 16."),
]
Rpm = Annotated[int | None, judge_option("--rpm", min=1, help="Maximum number of requests per minute.")]
Tpm = Annotated[int | None, judge_option("--tpm", min=1, help="Maximum number of tokens per minute.")]
JudgeTimeout = Annotated[
    float | None,
    judge_option("--judge-timeout", help="Maximum seconds for one request, with retries and waits."),
]
Batch = Annotated[
    bool | None,
    judge_option(
        "--batch/--no-batch",
        help="Send the requests in batches: half the price at OpenAI and no rate limits, but up to 24 hours. "
        "A resumed run reads the replies of its batches. For openai:NAME and compatible servers.",
    ),
]
MaxCost = Annotated[
    float | None,
    judge_option(
        "--max-cost",
        min=0,
        help="Budget for the judge in US dollars, for a run and all its resumes. The run stops before "
        "it is exceeded.",
    ),
]
Calibration = Annotated[
    Path | None,
    model_option(
        "--calibration",
        help="File from `sgi calibrate`. Its metric is scored, too, and each row gets the probability that "
        "the answer is grounded, and a verdict.",
    ),
]
Define = Annotated[
    Path | None,
    model_option(
        "--define",
        help="TOML file that defines metrics: a table for each, such as \\[quality], with a metric and its "
        "parameters. -m can name them. If -m takes several metrics, all of the file are the default.",
    ),
]
Nli = Annotated[
    str | None,
    model_option(
        "--nli",
        help="Entailment model that `grounding` also uses for each sentence, and that citation metrics use "
        "instead of it: a profile (`sgi models entailment` lists them) or your profile file, a folder, or "
        "owner/model on the Hugging Face hub; torch: before one of these runs it with PyTorch.",
        autocompletion=complete_entailment,
    ),
]
NliBand = Annotated[
    str | None,
    model_option(
        "--nli-band",
        metavar="LOW:HIGH",
        help="With --nli: the model reads only sentences whose first score, from words alone, is from LOW to "
        "HIGH, such as 0.2:0.9. The summary shows what this costs and gains.",
    ),
]
Cluster = Annotated[
    str | None, statistics_option("--cluster", metavar=_CLUSTER_VALUES, help=f"{_CLUSTER} Default: question.")
]
RunCluster = Annotated[
    str | None,
    statistics_option("--cluster", metavar=_CLUSTER_VALUES, help=f"{_CLUSTER} Default: the rule of the run."),
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
Inputs = Annotated[bool, output_option("--inputs", help="Write the texts of each row, too.")]
Out = Annotated[
    Path | None, output_option("-o", "--out", help="File for the scores: .jsonl, .csv or .parquet.")
]
Rejects = Annotated[
    Path | None, output_option(help="File for rejected rows. Default: a file beside the scores.")
]
Percent = Annotated[bool, output_option(help="Print shares as percent.")]
DryRun = Annotated[bool, output_option("--dry-run", help="Print what would be done, and do nothing.")]
Quiet = Annotated[bool, output_option("-q", "--quiet", help="Print no progress and no notes.")]
