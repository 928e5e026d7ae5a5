"""The flags of the fields of `RunOptions` on the command line, with their help texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sgi.kernel.registry import DEFAULTS

TEXTS = list[str] | None
"""The type of an option that can be repeated."""


@dataclass(frozen=True)
class Flag:
    """An option of a command that sets a field.

    Attributes:
        help: what it does, in a sentence or two.
        names: the option as it is written; empty for the name of the field.
        group: the title under which the help of a command lists it.
        kind: the type of the value on the command line.
        part: the key of a field that is a table, such as ``concurrency`` of the judge; ``*`` for KEY=VALUE.
        minimum: the smallest value of a number.
        metavar: how the help shows the value; None for its type.
        completion: what completes the value: ``metric``, ``entailment`` or nothing.
        envvar: the environment variable that also sets it.
    """

    help: str
    names: tuple[str, ...] = ()
    group: str | None = None
    kind: object = str | None
    part: str = ""
    minimum: float | None = None
    metavar: str | None = None
    completion: str = ""
    envvar: str | None = None


DATA, MODELS, JUDGES, OUTPUT = "Data", "Models", "Judge", "Output"
STATISTICS, STORAGE, TARGETS, RESUMING = "Statistics", "Storage", "RAG system under test", "Resume a run"

METRICS_HELP = "A metric, or several separated by commas; repeatable."
CLUSTER_HELP = (
    "Which rows belong together in intervals and tests: question (rows with the same question), contexts "
    "(rows with the same passages), row (every row alone), or a column of the data."
)
CLUSTER_VALUES = "COLUMN|question|contexts|row"

METRICS = Flag(
    f"{METRICS_HELP} Parameters go in parentheses: 'rouge_l(beta=1.2)'. Default: {', '.join(DEFAULTS)}, "
    "except those whose fields the data lacks.",
    ("-m", "--metric"),
    kind=TEXTS,
    completion="metric",
)
OUT = Flag("File for the scores: .jsonl, .csv or .parquet.", ("-o", "--out"), OUTPUT, Path | None)
EMBEDDERS = Flag(
    "minilm (bundled), another name from `sgi study models`, a folder, torch:NAME, openai:MODEL, "
    "openai:MODEL@URL or azure:DEPLOYMENT; repeatable, the first is the primary one. Default: Azure "
    "OpenAI if AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, otherwise minilm.",
    ("-e", "--embedder"),
    MODELS,
    TEXTS,
)
JUDGE = Flag(
    "LLM for judged metrics: SERVICE:NAME, where SERVICE is openai, azure, anthropic, google, "
    "bedrock, openrouter, ollama or vllm; or openai:NAME@http://host:port/v1 for a compatible server.",
    ("--judge",),
    JUDGES,
    part="model",
)
JUDGE_SET = Flag(
    "setting=value of the judge: temperature, seed, max_tokens, budget, retries, input_price or "
    "output_price; repeatable.",
    ("--judge-set",),
    JUDGES,
    TEXTS,
    part="*",
)
JUDGE_CONCURRENCY = Flag(
    "Maximum number of concurrent requests. Default: 16.",
    ("--judge-concurrency",),
    JUDGES,
    int | None,
    part="concurrency",
    minimum=1,
)
RPM = Flag("Maximum number of requests per minute.", ("--rpm",), JUDGES, int | None, part="rpm", minimum=1)
TPM = Flag("Maximum number of tokens per minute.", ("--tpm",), JUDGES, int | None, part="tpm", minimum=1)
JUDGE_TIMEOUT = Flag(
    "Maximum seconds for one request, with retries and waits.",
    ("--judge-timeout",),
    JUDGES,
    float | None,
    part="timeout",
)
MAX_COST = Flag(
    "Budget for the judge in US dollars, for a run and all its resumes. The run stops before it is exceeded.",
    ("--max-cost",),
    JUDGES,
    float | None,
    part="max_cost",
    minimum=0,
)
BATCH = Flag(
    "Send the requests in batches: half the price at OpenAI and no rate limits, but up to 24 hours. "
    "A resumed run reads the replies of its batches. For openai:NAME and compatible servers.",
    ("--batch/--no-batch",),
    JUDGES,
    bool | None,
    part="batch",
)
DEFINE = Flag(
    "TOML file that defines metrics: a table for each, such as \\[quality], with a metric and its "
    "parameters. -m can name them. Without -m, commands for several metrics use all of the file.",
    ("--define",),
    MODELS,
    Path | None,
)
NLI = Flag(
    "Entailment model that `grounding` also uses for each sentence, and that citation metrics use "
    "instead of it: a profile (`sgi study models entailment` lists them) or your profile file, a folder, or "
    "owner/model on the Hugging Face hub; torch: before one of these runs it with PyTorch.",
    ("--nli",),
    MODELS,
    completion="entailment",
)
NLI_BAND = Flag(
    "With --nli: the model reads only sentences whose first score, from words alone, is from LOW to "
    "HIGH, such as 0.2:0.9. The summary shows what this costs and gains.",
    ("--nli-band",),
    MODELS,
    metavar="LOW:HIGH",
)
CLUSTER = Flag(f"{CLUSTER_HELP} Default: question.", ("--cluster",), STATISTICS, metavar=CLUSTER_VALUES)
DATABASE = Flag(
    "Database of runs: a SQLite file or postgresql://… Default: SGI_DATABASE_URL, otherwise sgi.db "
    "in this folder.",
    ("--db",),
    STORAGE,
    envvar="SGI_DATABASE_URL",
)
LONG_TEXTS = Flag(
    "How the model reads a text that exceeds its limit: windows (overlapping parts, whose vectors are "
    "averaged) or truncate (only its beginning). Remote models ignore it.",
    ("--long-texts",),
    MODELS,
    Literal["windows", "truncate"] | None,
)
COLUMNS = Flag(
    "field=column, for a column that SGI does not recognise; repeatable. Dots select a value inside "
    "a column (response=outputs.answer, contexts=docs.*.text), commas join columns "
    "(contexts=ctx_1,ctx_2), and an empty column ignores the field (label=).",
    ("--map",),
    DATA,
    TEXTS,
)
ENCODING = Flag(
    "Encoding of a text file, such as cp1252. Default: that of its byte order mark, otherwise UTF-8.",
    ("--encoding",),
    DATA,
)
CACHE = Flag("File of the vector cache.", ("--cache",), STORAGE, Path | None, part="file")
NO_CACHE = Flag("Do not cache vectors on disk.", ("--no-cache",), STORAGE, bool, part="off")
INPUTS = Flag("Write the texts of each row, too.", ("--inputs",), OUTPUT, bool)
CASCADE = Flag(
    "Call the judge only for rows that the metric grounding does not accept as supported. At most "
    "the share A of the unsupported rows is accepted by mistake. The threshold is fitted on rows "
    "with a label (0 is unsupported), from FILE or from the data; they must be like the scored rows: "
    "same kind of questions, same system.",
    group=JUDGES,
    metavar="alpha=A[,labelled=FILE]",
)
TARGET = Flag(
    "System that answers the questions: module:function, or a URL.", ("--target",), TARGETS, part="where"
)
TARGET_SET = Flag(
    "setting=value of the target: concurrency, timeout, retries, rate, question_field, "
    "answer_field, contexts_field, context_ids_field, context_scores_field, usage_field, cost_field, "
    "headers.NAME or body.NAME; repeatable.",
    ("--target-set",),
    TARGETS,
    TEXTS,
    part="*",
)
