"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgi.kernel.errors import SgiError
from sgi.kernel.registry import metric_names


def _complete_metric(incomplete: str) -> list[str]:
    return [name for name in metric_names() if name.startswith(incomplete)]


def complete_run(context: typer.Context, incomplete: str) -> list[str]:
    """Complete names and ids of runs; names with unprintable characters are left out."""
    from sgi.store.database import open_database
    from sgi.store.run_queries import list_runs

    try:
        with open_database(context.params.get("db"), create=False) as database:
            runs = list_runs(database)
    except SgiError:
        return []
    names = ["last", *(name for run in runs for name in (run.name, run.id) if name and name.isprintable())]
    return [name for name in names if name.startswith(incomplete)]


DATA = "Data"
MODELS = "Models"
JUDGE = "Judge"
OUTPUT = "Output"
STATISTICS = "Statistics"
STORAGE = "Storage"
"""Titles of the groups of options in the help of a command."""

_METRICS = "A metric, or several separated by commas; repeatable."
_BACKEND = "Runtime of a known model or a folder: auto (onnx if possible), onnx, openvino or torch."

_PRECISION = (
    "Arithmetic: auto or f32; with openvino also bf16, or int8 for models with 8-bit weights (minilm). "
    "`sgi doctor` lists what this processor supports."
)
_CLUSTER = (
    "Which rows belong together in intervals and tests: question (rows with the same question), contexts "
    "(rows with the same passages), row (every row alone), or a column of the data."
)
_CLUSTER_VALUES = "COLUMN|question|contexts|row"

MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help=f"{_METRICS} Parameters go in parentheses: 'rouge_l(beta=1.2)'. Default: those of grounding, "
        "sgi, semantic_similarity and lexical_aggregate that the data has the fields for.",
        autocompletion=_complete_metric,
    ),
]
RunMetricsOption = Annotated[
    list[str] | None,
    typer.Option("-m", "--metric", help=f"{_METRICS} Default: all metrics of the run."),
]
EmbedderOption = Annotated[
    list[str] | None,
    typer.Option(
        "-e",
        "--embedder",
        help="minilm (bundled), another name from `sgi models`, a folder, torch:NAME, openai:MODEL, "
        "openai:MODEL@URL or azure:DEPLOYMENT; repeatable, the first is the primary one. Default: Azure "
        "OpenAI if AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, otherwise minilm.",
        rich_help_panel=MODELS,
    ),
]
BackendOption = Annotated[str, typer.Option(help=_BACKEND, rich_help_panel=MODELS)]
PrecisionOption = Annotated[str, typer.Option(help=_PRECISION, rich_help_panel=MODELS)]
GivenBackendOption = Annotated[str | None, typer.Option("--backend", help=_BACKEND, rich_help_panel=MODELS)]
GivenPrecisionOption = Annotated[
    str | None, typer.Option("--precision", help=_PRECISION, rich_help_panel=MODELS)
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="field=column, for a column that SGI does not recognise; repeatable. A path selects a value "
        "inside a column (response=outputs.answer, contexts=docs.*.text), commas join columns "
        "(contexts=ctx_1,ctx_2), and an empty column ignores the field (label=).",
        rich_help_panel=DATA,
    ),
]
QuestionOption = Annotated[str, typer.Option("--question", "--q", help="The question.")]
ContextsOption = Annotated[
    list[str], typer.Option("--context", "--c", help="A retrieved passage; repeatable.")
]
ResponseOption = Annotated[str, typer.Option("--response", "--r", help="The response.")]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        help="Encoding of a text file, such as cp1252. Default: UTF-8, or as its byte order mark says.",
        rich_help_panel=DATA,
    ),
]
OnErrorOption = Annotated[
    str,
    typer.Option(
        help="If a row cannot be read: stop (exit code 2), or skip it, write it to --rejects and exit 3.",
        rich_help_panel=DATA,
    ),
]
CacheOption = Annotated[
    Path | None, typer.Option("--cache", help="File of the vector cache.", rich_help_panel=STORAGE)
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Do not cache vectors on disk.", rich_help_panel=STORAGE)
]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--db",
        envvar="SGI_DATABASE_URL",
        show_envvar=False,
        help="Database of runs: a SQLite file or postgresql://… Default: SGI_DATABASE_URL, otherwise sgi.db "
        "in this folder.",
        rich_help_panel=STORAGE,
    ),
]
AllowDifferentOption = Annotated[
    bool,
    typer.Option(
        "--allow-different",
        help="Compare runs that differ in more than their responses: embedder, judge, prompts, metric "
        "version, references, rows that only one run has, or missing values.",
        rich_help_panel=STATISTICS,
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        help="A run: its id or the beginning of its id, its name, last, or last~1 for the one before last.",
        autocompletion=complete_run,
        show_default=False,
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="LLM for judged metrics: openai:NAME, azure:NAME, anthropic:NAME, google:NAME, ollama:NAME, or "
        "openai:NAME@http://host:port/v1 for a compatible server.",
        rich_help_panel=JUDGE,
    ),
]
JudgeSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--judge-set",
        help="setting=value of the judge: temperature, seed, max_tokens, budget, retries, input_price or "
        "output_price; repeatable.",
        rich_help_panel=JUDGE,
    ),
]
JudgeConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--judge-concurrency",
        min=1,
        help="Largest number of concurrent requests. Default: 16.",
        rich_help_panel=JUDGE,
    ),
]
RpmOption = Annotated[
    int | None,
    typer.Option("--rpm", min=1, help="Largest number of requests per minute.", rich_help_panel=JUDGE),
]
TpmOption = Annotated[
    int | None,
    typer.Option("--tpm", min=1, help="Largest number of tokens per minute.", rich_help_panel=JUDGE),
]
JudgeTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--judge-timeout", help="Seconds for one request, with its retries and waits.", rich_help_panel=JUDGE
    ),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0,
        help="Budget for the judge in US dollars, over all attempts. The run stops before it is exceeded.",
        rich_help_panel=JUDGE,
    ),
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        help="File from `sgi calibrate`. Adds its metric, the probability that the answer is grounded, and a "
        "verdict.",
        rich_help_panel=MODELS,
    ),
]
NliOption = Annotated[
    str | None,
    typer.Option(
        "--nli",
        help="Entailment model that `grounding` also uses for each sentence: a folder or owner/model of the "
        "hub, each with or without torch: before it.",
        rich_help_panel=MODELS,
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar=_CLUSTER_VALUES,
        help=f"{_CLUSTER} Default: question.",
        rich_help_panel=STATISTICS,
    ),
]
RunClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar=_CLUSTER_VALUES,
        help=f"{_CLUSTER} Default: as in the run.",
        rich_help_panel=STATISTICS,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]
InputsOption = Annotated[
    bool, typer.Option("--inputs", help="Write the texts beside the scores.", rich_help_panel=OUTPUT)
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", help="File for the scores: .jsonl, .csv or .parquet.", rich_help_panel=OUTPUT
    ),
]
RejectsOption = Annotated[
    Path | None,
    typer.Option(help="File for rejected rows. Default: beside the scores.", rich_help_panel=OUTPUT),
]
PercentOption = Annotated[bool, typer.Option(help="Print shares as percent.", rich_help_panel=OUTPUT)]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be done, and do nothing.", rich_help_panel=OUTPUT)
]
QuietOption = Annotated[
    bool, typer.Option("-q", "--quiet", help="Print no progress and no notes.", rich_help_panel=OUTPUT)
]
