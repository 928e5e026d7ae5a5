"""Options that several verbs share, and how their text is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric_names


def _complete_metric(incomplete: str) -> list[str]:
    return [name for name in metric_names() if name.startswith(incomplete)]


MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help="A metric, or several with commas; repeatable. Parameters in brackets: 'rouge_l(beta=1.2)'. "
        "Without it: what the data's fields allow of sgi, semantic_similarity, lexical_aggregate.",
        autocompletion=_complete_metric,
    ),
]
EmbedderOption = Annotated[
    list[str] | None,
    typer.Option(
        "-e",
        "--embedder",
        help="minilm (embedded, the default), another of `sgi models`, a folder, torch:NAME, openai:MODEL, "
        "openai:MODEL@URL, azure:DEPLOYMENT; repeatable, the primary one first.",
    ),
]
BackendOption = Annotated[str, typer.Option(help="What runs a model known by name: auto, onnx, torch.")]
MapOption = Annotated[
    list[str] | None,
    typer.Option("--map", help="field=column, where a column's name is not recognised; repeatable."),
]
OnErrorOption = Annotated[
    str,
    typer.Option(help="A row that cannot be read: stop (exit 2), or skip it, keep it aside and exit 3."),
]
CacheOption = Annotated[Path | None, typer.Option("--cache", help="The vector cache, a file.")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Keep no vectors beyond this run.")]
FailuresOption = Annotated[
    str, typer.Option("--max-failures", help="Stop when more than this share of the rows failed: 5%, 0.05.")
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
        depth, start, quote = 0, 0, ""
        for place, sign in enumerate(text):
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "'\"":
                quote = sign
            elif sign == "," and depth == 0:
                names.append(text[start:place])
                start = place + 1
            else:
                depth += (sign in "([") - (sign in ")]")
        names.append(text[start:])
    return [name.strip() for name in names if name.strip()]


def column_map(texts: list[str] | None) -> dict[str, str]:
    """``field=column`` pairs as a mapping.

    >>> column_map(["response=model output"])
    {'response': 'model output'}
    """
    columns = {}
    for text in texts or ():
        field, equals, column = text.partition("=")
        if not (field and equals and column):
            raise UsageError(f"Cannot read --map {text!r}.", hint="Write --map field=column.")
        columns[field.strip()] = column
    return columns


def share(text: str) -> float:
    """A share of the rows, as percent or as a number in [0, 1].

    >>> share("5%"), share("0.5")
    (0.05, 0.5)
    """
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"Cannot read the share {text!r}.", hint="Write 5% or 0.05.")
    return value


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
