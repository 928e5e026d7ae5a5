"""The options of ``sgi run`` as one typed object, and the command function that takes them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from sgi.cli.option_values import cache_choice, column_map, judge_settings, metric_list, target_settings
from sgi.cli.options import (
    DATA,
    JUDGE,
    STORAGE,
    CacheOption,
    CalibrationOption,
    ClusterOption,
    DatabaseOption,
    DryRunOption,
    EmbedderOption,
    EncodingOption,
    GivenBackendOption,
    GivenPrecisionOption,
    InputsOption,
    JsonOption,
    JudgeConcurrencyOption,
    JudgeOption,
    JudgeSetOption,
    JudgeTimeoutOption,
    MapOption,
    MaxCostOption,
    MetricOption,
    NliOption,
    NoCacheOption,
    OutOption,
    PercentOption,
    QuietOption,
    RejectsOption,
    RpmOption,
    TpmOption,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = "RAG system under test"
RESUME = "Resume a run"
DISTRIBUTED = "Ray cluster"
"""Titles of the groups of options that only `sgi run` has."""

Data = Annotated[
    Path | None,
    typer.Argument(
        help="A .jsonl, .json, .csv, .tsv or .parquet file; or a .toml file that describes a run."
    ),
]
OnError = Annotated[
    str | None,
    typer.Option(
        help="If a row cannot be read: stop (exit code 2; the default), or skip it and exit 3.",
        rich_help_panel=DATA,
    ),
]
Failures = Annotated[
    str | None,
    typer.Option("--max-failures", help="Stop if more than this share of the rows failed. Default: 5%."),
]
Name = Annotated[
    str | None,
    typer.Option("--name", help="Name of the run; unique in the database.", rich_help_panel=STORAGE),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="Tag of the run, to find it again; repeatable.", rich_help_panel=STORAGE),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume", help="Resume a run: its id or its beginning, its name, or last.", rich_help_panel=RESUME
    ),
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="With --resume: take the run over from another process that writes it; that one stops with an "
        "error.",
        rich_help_panel=RESUME,
    ),
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed",
        help="With --resume: score failed rows again; the target is called for those rows only. Cached bad "
        "replies of a judge are requested again, also in a new run.",
        rich_help_panel=RESUME,
    ),
]
TrustTarget = Annotated[
    bool,
    typer.Option(
        "--trust-target",
        help="With --resume: use the target, the judge, the models and the output files named in the stored "
        "run. Otherwise you must give each again, because someone else may have written the stored run.",
        rich_help_panel=RESUME,
    ),
]
NoStore = Annotated[
    bool, typer.Option("--no-store", help="Do not store the run in a database.", rich_help_panel=STORAGE)
]
NoTexts = Annotated[
    bool,
    typer.Option(
        "--no-texts",
        help="For private data: store digests instead of texts, and nothing that a judge wrote.",
        rich_help_panel=STORAGE,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="System that answers the questions: module:function, or a URL.",
        rich_help_panel=TARGET,
    ),
]
CascadeOption = Annotated[
    str | None,
    typer.Option(
        "--cascade",
        metavar="alpha=A[,labelled=FILE]",
        help="Call the judge only for rows that the metric grounding does not clear. At most the share A of "
        "the unsupported rows is cleared by mistake. The threshold is fitted on rows with a label (0 is "
        "unsupported), from FILE or from the data; they must be like the scored rows: same kind of "
        "questions, same system.",
        rich_help_panel=JUDGE,
    ),
]
TargetSet = Annotated[
    list[str] | None,
    typer.Option(
        "--target-set",
        help="setting=value of the target: concurrency, timeout, retries, rate, question_field, "
        "answer_field, contexts_field, headers.NAME or body.NAME; repeatable.",
        rich_help_panel=TARGET,
    ),
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="local|auto|HOST:PORT",
        help="Score on a Ray cluster, into the folder given with -o: a new one on this machine, the one that "
        "runs here, or one elsewhere. DATA may be a folder, a pattern or an address such as s3://bucket/rows.",
        rich_help_panel=DISTRIBUTED,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="With --ray: number of workers. Default: one per core. Each has its share of --max-cost; a "
        "worker that dies is replaced, and its share starts again.",
        rich_help_panel=DISTRIBUTED,
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What the user wrote on the command line of ``sgi run``: one field for each option."""

    data: Data = None
    metric: MetricOption = None
    out: OutOption = None
    embedder: EmbedderOption = None
    judge: JudgeOption = None
    judge_set: JudgeSetOption = None
    judge_concurrency: JudgeConcurrencyOption = None
    rpm: RpmOption = None
    tpm: TpmOption = None
    judge_timeout: JudgeTimeoutOption = None
    max_cost: MaxCostOption = None
    calibration: CalibrationOption = None
    nli: NliOption = None
    cascade: CascadeOption = None
    cluster: ClusterOption = None
    target: Target = None
    target_set: TargetSet = None
    name: Name = None
    tag: Tags = None
    resume: Resume = None
    retry_failed: RetryFailed = False
    trust_target: TrustTarget = False
    take_over: TakeOver = False
    db: DatabaseOption = None
    no_store: NoStore = False
    no_texts: NoTexts = False
    backend: GivenBackendOption = None
    precision: GivenPrecisionOption = None
    columns: MapOption = None
    encoding: EncodingOption = None
    on_error: OnError = None
    rejects: RejectsOption = None
    max_failures: Failures = None
    cache: CacheOption = None
    no_cache: NoCacheOption = False
    ray: RayOption = None
    workers: WorkersOption = None
    inputs: InputsOption = False
    percent: PercentOption = True
    dry_run: DryRunOption = False
    as_json: JsonOption = False
    quiet: QuietOption = False

    @property
    def vector_cache(self) -> bool | Path:
        """The vector cache: a file, the user's default cache (True), or none on disk (False)."""
        return cache_choice(self.cache, no_cache=self.no_cache)

    def spec_values(self) -> dict[str, Any]:
        """The settings of the run that the user gave, by the names of `RunSpec`."""
        values = {
            "data": self.data,
            "metrics": metric_list(self.metric) if self.metric else None,
            "embedders": self.embedder or None,
            "target": target_settings(self.target, self.target_set),
            "judge": judge_settings(
                self.judge,
                self.judge_set,
                concurrency=self.judge_concurrency,
                rpm=self.rpm,
                tpm=self.tpm,
                timeout=self.judge_timeout,
                max_cost=self.max_cost,
            ),
            "columns": column_map(self.columns) or None,
            "inputs": self.inputs or None,
            "no_texts": self.no_texts or None,
        }
        values |= {name: getattr(self, name) for name in _SAME_NAMES}
        return {name: value for name, value in values.items() if value is not None}


_SAME_NAMES = (
    "calibration",
    "nli",
    "cascade",
    "cluster",
    "name",
    "backend",
    "precision",
    "encoding",
    "on_error",
    "max_failures",
    "out",
    "rejects",
)
"""Options that `RunSpec` has by the same name."""


def with_run_options(command: Callable[[typer.Context, RunOptions], None]) -> Callable[..., None]:
    """Give a command one parameter for each field of `RunOptions`."""

    @wraps(command)
    def run(context: typer.Context, **values: Any) -> None:
        command(context, RunOptions(**values))

    kinds = get_type_hints(RunOptions, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(
            inspect.Parameter(field.name, keyword, default=field.default, annotation=kinds[field.name])
            for field in fields(RunOptions)
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    return run
