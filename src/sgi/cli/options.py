"""Options that several verbs share, and how their text is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgi.kernel.metric import AnyMetric


def _complete_metric(incomplete: str) -> list[str]:
    return [name for name in metric_names() if name.startswith(incomplete)]


def complete_run(context: typer.Context, incomplete: str) -> list[str]:
    """Names and ids from the database; only what a shell can show as it is."""
    from sgi.kernel.errors import SgiError
    from sgi.store.database import open_database
    from sgi.store.run_queries import list_runs

    try:
        with open_database(context.params.get("db"), create=False) as database:
            runs = list_runs(database)
    except SgiError:
        return []
    known = ["last", *(name for run in runs for name in (run.name, run.id) if name and name.isprintable())]
    return [name for name in known if name.startswith(incomplete)]


MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help="A metric, or several with commas; repeatable. Parameters in brackets: 'rouge_l(beta=1.2)'. "
        "Without it: what the data's fields allow of grounding, sgi, semantic_similarity, lexical_aggregate.",
        autocompletion=_complete_metric,
    ),
]
EmbedderOption = Annotated[
    list[str] | None,
    typer.Option(
        "-e",
        "--embedder",
        help="minilm (embedded), another of `sgi models`, a folder, torch:NAME, openai:MODEL, "
        "openai:MODEL@URL, azure:DEPLOYMENT; repeatable, the primary one first. Without it: Azure OpenAI "
        "where AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, otherwise minilm.",
    ),
]
_BACKEND = "What runs a known model or a folder: auto (onnx where there is a graph), onnx, openvino, torch."
_PRECISION = (
    "In which arithmetic: auto, f32; with openvino also bf16, or int8 where weights are in 8 bits, as those "
    "of minilm. `sgi doctor` says what this processor does."
)
BackendOption = Annotated[str, typer.Option(help=_BACKEND)]
PrecisionOption = Annotated[str, typer.Option(help=_PRECISION)]
GivenBackendOption = Annotated[str | None, typer.Option("--backend", help=_BACKEND)]
GivenPrecisionOption = Annotated[str | None, typer.Option("--precision", help=_PRECISION)]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="field=column, where a column's name is not recognised; repeatable. A path leads into a column "
        "(response=outputs.answer, contexts=docs.*.text), commas join columns (contexts=ctx_1,ctx_2), and "
        "nothing drops the field (label=).",
    ),
]
QuestionOption = Annotated[str, typer.Option("--question", "--q", help="The question.")]
ContextsOption = Annotated[
    list[str], typer.Option("--context", "--c", help="A retrieved passage; repeatable, once for each.")
]
ResponseOption = Annotated[str, typer.Option("--response", "--r", help="The response.")]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of a text file, such as cp1252; UTF-8 by default, or the byte order mark's."),
]
OnErrorOption = Annotated[
    str,
    typer.Option(help="A row that cannot be read: stop (exit 2), or skip it, keep it aside and exit 3."),
]
CacheOption = Annotated[Path | None, typer.Option("--cache", help="The vector cache, a file.")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Keep no vectors beyond this run.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--db",
        envvar="SGI_DATABASE_URL",
        show_envvar=False,
        help="Where runs are kept: a file, or postgresql://…; sgi.db in this folder by default, or what "
        "SGI_DATABASE_URL says.",
    ),
]
AllowDifferentOption = Annotated[
    bool,
    typer.Option(
        "--allow-different",
        help="Compare runs that differ in more than their responses: another embedder, judge, prompt or"
        " metric version, other references, rows without a partner or without a value.",
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        help="A run: its id, a beginning of it, its name, last, or last~1 for the one before.",
        autocompletion=complete_run,
        show_default=False,
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="The LLM that judged metrics ask: openai:NAME, azure:NAME, anthropic:NAME, google:NAME, "
        "ollama:NAME, or openai:NAME@http://host:port/v1 for any compatible server.",
    ),
]
JudgeSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--judge-set",
        help="setting=value of the judge: temperature, seed, max_tokens, budget, retries, input_price, "
        "output_price; repeatable.",
    ),
]
JudgeConcurrencyOption = Annotated[
    int | None, typer.Option("--judge-concurrency", min=1, help="Calls in flight at most; 16 by default.")
]
RpmOption = Annotated[int | None, typer.Option("--rpm", min=1, help="Calls of the judge a minute at most.")]
TpmOption = Annotated[int | None, typer.Option("--tpm", min=1, help="Tokens of the judge a minute at most.")]
JudgeTimeoutOption = Annotated[
    float | None, typer.Option("--judge-timeout", help="Seconds for a call, retries and waits included.")
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0,
        help="US dollars the run may spend on the judge, over all attempts; it stops before.",
    ),
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        help="A file of `sgi calibrate`: its metric is scored, and beside it the probability of being "
        "grounded and the verdict that the calibration makes of it.",
    ),
]
NliOption = Annotated[
    str | None,
    typer.Option(
        "--nli",
        help="An entailment model that `grounding` asks too, of each sentence: a folder, owner/model of the "
        "hub, or torch: and either. Every grounding that names none gets it.",
    ),
]
_CLUSTER = (
    "Which rows are not independent, for intervals and tests: question (rows with the same question), "
    "contexts (rows with the same passages), row (none), or a column of the data."
)
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="COLUMN|question|contexts|row", help=f"{_CLUSTER} Default: question."),
]
RunClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="COLUMN|question|contexts|row", help=f"{_CLUSTER} Default: the run's own."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
InputsOption = Annotated[bool, typer.Option("--inputs", help="Write the texts beside the scores.")]
OutOption = Annotated[
    Path | None, typer.Option("-o", "--out", help="Where the scores go: .jsonl, .csv or .parquet.")
]
RejectsOption = Annotated[
    Path | None, typer.Option(help="Where rejected rows go; by default beside the scores.")
]
PercentOption = Annotated[bool, typer.Option(help="Print shares as percent.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no notes.")]


def metric_list(texts: list[str]) -> list[str]:
    """Split at commas outside brackets and quotes.

    >>> metric_list(["sgi,rouge_l(beta=1.2)", "semantic_similarity(models=['a', 'b'])"])
    ['sgi', 'rouge_l(beta=1.2)', "semantic_similarity(models=['a', 'b'])"]
    """
    names = []
    for text in texts:
        depth, start, quote, escaped = 0, 0, "", False
        for place, sign in enumerate(text):
            if quote:
                quote = "" if sign == quote and not escaped else quote
                escaped = sign == "\\" and not escaped
            elif sign in "'\"":
                quote = sign
            elif sign == "," and depth == 0:
                names.append(text[start:place])
                start = place + 1
            else:
                depth += (sign in "([") - (sign in ")]")
        names.append(text[start:])
    return [name.strip() for name in names if name.strip()]


def chosen_embedders(
    named: Sequence[str] | None,
    metrics: Iterable[str | AnyMetric] | None,
    *,
    backend: str = "auto",
    precision: str = "auto",
) -> list[str]:
    """The embedders that a command names or, without any, that the environment chooses.

    Prints a note on stderr where Azure is chosen by its variables. None stands for the embedded model.

    Args:
        named: with ``--embedder``, or in a TOML file.
        metrics: what is scored; None for metrics that the data decides.
        backend: what runs the model.
        precision: in which arithmetic.

    Raises:
        UsageError: none is named, and only some of Azure's variables are set.
    """
    from sgi.cli.console import talk
    from sgi.kernel.registry import metric
    from sgi.models.embedder.service import Service, default_embedder
    from sgi.models.known_models import DEFAULT_MODEL

    embeds = metrics is None or any(metric(wanted).embeds for wanted in metrics)
    if named or not embeds:
        return list(named or ())
    name = default_embedder(backend, precision)
    if name == DEFAULT_MODEL:
        return []
    where = f"{name} at {Service.azure().place}"
    talk(f"The AZURE_OPENAI_… variables are set: the texts go to {where}. Use -e minilm to embed them here.")
    return [name]


def with_entailment(metrics: Sequence[str], nli: str | None) -> list[str]:
    """The metrics, where every ``grounding`` that names no entailment model is given this one.

    A folder is named so that it is found from any other. Without a model the metrics stay as they are.

    Raises:
        UsageError: none of them is ``grounding``, or those that are name other models.

    >>> with_entailment(["sgi", "grounding"], "owner/model")
    ['sgi', 'grounding(nli="owner/model")']
    """
    from dataclasses import replace

    from sgi.kernel.registry import metric
    from sgi.metrics.grounding.detector import Grounding

    if nli is None:
        return [*metrics]
    if not nli.strip():
        raise UsageError("--nli names no model.", hint="Name a folder, or a model of the hub, owner/model.")
    named = _from_anywhere(nli)
    chosen = [metric(text) for text in metrics]
    grounding = [found for found in chosen if isinstance(found, Grounding)]
    if not grounding:
        raise UsageError("--nli is for the metric grounding, which is not named.", hint="Add -m grounding.")
    if all(found.nli not in {"", named} for found in grounding):
        hint = "Leave out --nli, or name grounding without a model."
        raise UsageError(f"{grounding[0].canonical} names an entailment model already.", hint=hint)
    given = [
        replace(found, nli=named) if isinstance(found, Grounding) and not found.nli else found
        for found in chosen
    ]
    return [found.canonical for found in given]


def _from_anywhere(nli: str) -> str:
    """A model's name, its folder, if it is one, by the whole path."""
    from sgi.models.entailment.files import existing_folder

    torch = "torch:" if nli.startswith("torch:") else ""
    name, bracket, labels = nli.removeprefix(torch).partition("(labels=")
    folder = existing_folder(name)
    return f"{torch}{name if folder is None else folder.absolute()}{bracket}{labels}"


def column_map(texts: list[str] | None) -> dict[str, str]:
    """``field=column`` pairs as a mapping.

    >>> column_map(["response=model output", "label="])
    {'response': 'model output', 'label': ''}

    Raises:
        UsageError: a text is not such a pair, or a field is mapped twice.
    """
    columns: dict[str, str] = {}
    for text in texts or ():
        field, equals, column = text.partition("=")
        field = field.strip()
        if not (field and equals):
            raise UsageError(f"Cannot read --map {text!r}.", hint="Write --map field=column.")
        if field in columns:
            hint = f"To join columns: --map {field}={columns[field]},{column}."
            raise UsageError(f"--map names the field {field!r} twice.", hint=hint)
        columns[field] = column
    return columns


def target_settings(where: str | None, settings: list[str] | None) -> dict[str, Any] | None:
    """A target and its ``setting=value`` pairs as the values of its spec; None where nothing is said.

    An empty value stands for none.

    >>> target_settings("app:answer", ["concurrency=2", "body.top_k=5", "headers.X-Key=${KEY}"])
    {'where': 'app:answer', 'concurrency': '2', 'body': {'top_k': 5}, 'headers': {'X-Key': '${KEY}'}}
    """
    values: dict[str, Any] = {} if where is None else {"where": where}
    for text in settings or ():
        key, equals, value = text.partition("=")
        group, dot, name = key.strip().partition(".")
        if not (key.strip() and equals) or (dot and group not in {"body", "headers"}):
            raise UsageError(f"Cannot read --target-set {text!r}.", hint="Write --target-set concurrency=16.")
        if dot:
            values.setdefault(group, {})[name] = _literal(value) if group == "body" else value
        else:
            values[group] = value or None
    return values or None


def _literal(text: str) -> Any:
    """JSON where it is that, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def judge_settings(
    model: str | None,
    settings: list[str] | None = None,
    *,
    concurrency: int | None = None,
    rpm: int | None = None,
    tpm: int | None = None,
    timeout: float | None = None,
    max_cost: float | None = None,
) -> dict[str, Any] | None:
    """A judge and its settings as the values of its spec; None where nothing is said.

    >>> judge_settings("openai:gpt-4o-mini", ["seed=7"], rpm=500)
    {'model': 'openai:gpt-4o-mini', 'rpm': 500, 'seed': '7'}
    """
    said = {
        "model": model,
        "concurrency": concurrency,
        "rpm": rpm,
        "tpm": tpm,
        "timeout": timeout,
        "max_cost": max_cost,
    }
    values: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise UsageError(f"Cannot read --judge-set {text!r}.", hint="Write --judge-set seed=7.")
        values[key.strip()] = value or None
    return values or None


def skipping(on_error: str) -> bool:
    """Whether rows that cannot be read are skipped."""
    if on_error not in {"stop", "skip"}:
        raise UsageError(f"Unknown --on-error {on_error!r}.", hint="It is stop or skip.")
    return on_error == "skip"


def cache_choice(path: Path | None, *, no_cache: bool) -> bool | Path:
    """The cache to use: a file, the user's own (True) or none that lasts (False)."""
    if path is not None and no_cache:
        raise UsageError("--cache and --no-cache contradict each other.")
    return path if path is not None else not no_cache
