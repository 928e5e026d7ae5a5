"""The options of ``sgi run`` as one typed object, and the command function that takes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sgi.cli import options
from sgi.cli.option_values import cache_choice, column_map, judge_settings, metric_list, target_settings

if TYPE_CHECKING:
    pass

_target_option = options.option_group("RAG system under test")
_resume_option = options.option_group("Resume a run")
_ray_option = options.option_group("Ray cluster")

Data = Annotated[
    Path | None,
    typer.Argument(
        help="A .jsonl, .json, .csv, .tsv, .parquet, .arrow or .xlsx file of answers, traces or an export of "
        "another tool (langfuse:FILE forces a format); or a .toml file that describes a run."
    ),
]
OnError = Annotated[
    str | None,
    options.data_option(
        help="If a row cannot be read: stop (exit code 2; the default), or skip it and exit 3."
    ),
]
Failures = Annotated[
    str | None,
    typer.Option("--max-failures", help="Stop if more than this share of the rows failed. Default: 5%."),
]
Name = Annotated[
    str | None, options.storage_option("--name", help="Name of the run; it must be unique in the database.")
]
Tags = Annotated[
    list[str] | None, options.storage_option("--tag", help="Tag of the run, to find it again; repeatable.")
]
Resume = Annotated[
    str | None,
    _resume_option("--resume", help="Resume a run: its id or the beginning of its id, its name, or last."),
]
TakeOver = Annotated[
    bool,
    _resume_option(
        "--take-over",
        help="With --resume: take the run over from another process that writes it; the other process stops "
        "with an error.",
    ),
]
RetryFailed = Annotated[
    bool,
    _resume_option(
        "--retry-failed",
        help="With --resume: score failed rows again; the target is called for those rows only. Invalid "
        "replies in the cache are requested again from the judge, also in a new run.",
    ),
]
TrustTarget = Annotated[
    bool,
    _resume_option(
        "--trust-target",
        help="With --resume: use the target, the judge, the models and the output files named in the stored "
        "run. Otherwise you must give each again, because someone else may have written the stored run.",
    ),
]
NoStore = Annotated[bool, options.storage_option("--no-store", help="Do not store the run in a database.")]
NoTexts = Annotated[
    bool,
    options.storage_option(
        "--no-texts", help="For private data: store digests instead of texts, and nothing that a judge wrote."
    ),
]
Target = Annotated[
    str | None,
    _target_option("--target", help="System that answers the questions: module:function, or a URL."),
]
PerTurn = Annotated[
    bool,
    options.data_option(
        "--per-turn",
        help="Score every answer of a conversation in the column turns, not only the last: a row for each "
        "turn, with the columns session_id and turn. The turns of a conversation are one cluster.",
    ),
]
SplitContexts = Annotated[
    Literal["dashes", "bars", "numbers", "blank-lines"] | None,
    options.data_option(
        "--split-contexts",
        help="Split contexts that are one text: at lines of --- (dashes), at || (bars), at lines that begin "
        "with 1, 2, … (numbers), or at blank lines.",
    ),
]
Repeat = Annotated[
    int | None,
    _target_option(
        "--repeat", min=1, help="Number of answers to each question; `sgi repeats` compares them. Default: 1."
    ),
]
RepeatJudge = Annotated[
    int | None,
    options.judge_option(
        "--repeat-judge",
        min=1,
        help="Number of judgements of each answer; `sgi repeats` compares them. Default: 1.",
    ),
]
CascadeOption = Annotated[
    str | None,
    options.judge_option(
        "--cascade",
        metavar="alpha=A[,labelled=FILE]",
        help="Call the judge only for rows that the metric grounding does not accept as supported. At most "
        "the share A of the unsupported rows is accepted by mistake. The threshold is fitted on rows with a "
        "label (0 is unsupported), from FILE or from the data; they must be like the scored rows: same kind "
        "of questions, same system.",
    ),
]
TargetSet = Annotated[
    list[str] | None,
    _target_option(
        "--target-set",
        help="setting=value of the target: concurrency, timeout, retries, rate, question_field, "
        "answer_field, contexts_field, context_ids_field, context_scores_field, usage_field, cost_field, "
        "headers.NAME or body.NAME; repeatable.",
    ),
]
RayOption = Annotated[
    str | None,
    _ray_option(
        "--ray",
        metavar="local|auto|HOST:PORT",
        help="Score on a Ray cluster, and write to the folder given with -o. local starts a cluster on this "
        "machine, auto uses the one that runs here, HOST:PORT one elsewhere. The folder must be empty.",
    ),
]
WorkersOption = Annotated[
    int | None,
    _ray_option(
        "--workers",
        min=1,
        help="With --ray: number of workers. Default: one per core. Each may spend an equal share of "
        "--max-cost; a worker that dies is replaced by one that may spend the share again.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The values of the arguments of ``sgi run``: one field for each option."""

    data: Data = None
    metric: options.Metrics = None
    out: options.Out = None
    embedder: options.Embedders = None
    judge: options.Judge = None
    judge_set: options.JudgeSet = None
    judge_concurrency: options.JudgeConcurrency = None
    rpm: options.Rpm = None
    tpm: options.Tpm = None
    judge_timeout: options.JudgeTimeout = None
    max_cost: options.MaxCost = None
    batch: options.Batch = None
    define: options.Define = None
    calibration: options.Calibration = None
    nli: options.Nli = None
    nli_band: options.NliBand = None
    cascade: CascadeOption = None
    cluster: options.Cluster = None
    target: Target = None
    target_set: TargetSet = None
    repeat: Repeat = None
    repeat_judge: RepeatJudge = None
    name: Name = None
    tag: Tags = None
    resume: Resume = None
    retry_failed: RetryFailed = False
    trust_target: TrustTarget = False
    take_over: TakeOver = False
    db: options.Database = None
    no_store: NoStore = False
    no_texts: NoTexts = False
    long_texts: options.OptionalLongTexts = None
    columns: options.ColumnMap = None
    per_turn: PerTurn = False
    split_contexts: SplitContexts = None
    encoding: options.Encoding = None
    on_error: OnError = None
    rejects: options.Rejects = None
    max_failures: Failures = None
    cache: options.Cache = None
    no_cache: options.NoCache = False
    ray: RayOption = None
    workers: WorkersOption = None
    inputs: options.Inputs = False
    percent: options.Percent = True
    dry_run: options.DryRun = False
    as_json: options.Json = False
    quiet: options.Quiet = False

    @property
    def vector_cache(self) -> bool | Path:
        """The vector cache: a file, the user's default cache (True), or no cache on disk (False)."""
        return cache_choice(self.cache, no_cache=self.no_cache)

    def spec_values(self) -> dict[str, Any]:
        """Return the settings of the run that the user gave, by the names of `RunSpec`."""
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
                batch=self.batch,
            ),
            "columns": column_map(self.columns) or None,
            "inputs": self.inputs or None,
            "no_texts": self.no_texts or None,
            "per_turn": self.per_turn or None,
        }
        values |= {name: getattr(self, name) for name in _SAME_NAMES}
        return {name: value for name, value in values.items() if value is not None}


_SAME_NAMES = (
    *("define", "calibration", "nli", "nli_band", "cascade", "cluster", "name", "encoding", "long_texts"),
    *("on_error", "max_failures", "out", "rejects", "repeat", "repeat_judge", "split_contexts"),
)
"""Options that `RunSpec` has by the same name."""
