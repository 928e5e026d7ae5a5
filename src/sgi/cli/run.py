"""``sgi run``: a file of answers in, a file of scores and a summary out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli.options import (
    BackendOption,
    CacheOption,
    DryRunOption,
    EmbedderOption,
    FailuresOption,
    InputsOption,
    JsonOption,
    MapOption,
    MetricOption,
    NoCacheOption,
    OnErrorOption,
    OutOption,
    PercentOption,
    QuietOption,
    RejectsOption,
    cache_choice,
    column_map,
    metric_list,
    share,
    skipping,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sgi.engine.plan import Plan
    from sgi.engine.run import RunReport


def run(
    data: Annotated[Path, typer.Argument(help="A .jsonl, .json, .csv, .tsv or .parquet file.")],
    metric: MetricOption = None,
    out: OutOption = None,
    embedder: EmbedderOption = None,
    backend: BackendOption = "auto",
    columns: MapOption = None,
    on_error: OnErrorOption = "stop",
    rejects: RejectsOption = None,
    max_failures: FailuresOption = "5%",
    cache: CacheOption = None,
    no_cache: NoCacheOption = False,
    inputs: InputsOption = False,
    percent: PercentOption = True,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score a file of answers.

    Examples:

      sgi run answers.csv

      sgi run answers.jsonl -m sgi,semantic_similarity -o scores.jsonl

      sgi run answers.parquet -m 'rouge_l(beta=1.2)' --map response=output -o scores.parquet

      sgi run answers.jsonl -m sgi --dry-run
    """
    from functools import partial

    from sgi.cli.console import print_json, print_summary, progress, talk
    from sgi.engine.plan import plan
    from sgi.engine.run import run as run_plan
    from sgi.io.dataset import open_dataset

    skip, allowed = skipping(on_error), share(max_failures)
    kept = cache_choice(cache, no_cache=no_cache)
    aside = (rejects or _beside(out or data)) if skip else None
    _check_files(data, out, aside)
    dataset = open_dataset(data, columns=column_map(columns))
    with progress(quiet=quiet) as listener:
        named, ignore = metric_list(metric) if metric else None, (lambda _: None) if skip else None
        planned = plan(dataset, named, on_reject=ignore, count_texts=dry_run, listener=listener)
        if dry_run:
            _tell_plan(planned, as_json=as_json)
            return
        options: dict[str, Any] = {"output": out, "inputs": inputs, "rejects": aside, "max_failures": allowed}
        work = partial(run_plan, dataset, planned, listener=listener, **options)
        report = _with_tools(work, planned, embedder, kept, backend)
    if as_json:
        print_json(_as_json(report, out, aside))
    else:
        print_summary(report.summary, percent=percent)
    for line in () if quiet else _notes(report, out, aside):
        talk(line)
    _leave(report)


def _with_tools(
    work: Callable[..., Awaitable[RunReport]],
    planned: Plan,
    embedder: list[str] | None,
    cache: bool | Path,
    backend: str,
) -> RunReport:
    """Open the embedders the plan wants, and do the work with them."""
    import anyio

    from sgi.engine.tools import open_tools

    with open_tools(planned.metrics, embedder, cache=cache, backend=backend) as tools:
        return anyio.run(lambda: work(tools=tools))


def _leave(report: RunReport) -> None:
    """With exit code 3 where rows failed, could not be read, or lack a model."""
    if report.failures or report.rejected or report.summary.left_out:
        raise typer.Exit(3)


def _beside(path: Path) -> Path:
    """``scores.jsonl`` → ``scores.rejected.jsonl``."""
    return path.with_name(f"{path.stem}.rejected.jsonl")


def _check_files(data: Path, out: Path | None, aside: Path | None) -> None:
    """What is read and what is written are different files, and of kinds that can be written."""
    from sgi.io.write import check_target
    from sgi.kernel.errors import UsageError

    named = {"the data": data, "--out": out, "the file of rejected rows": aside}
    places: dict[Path, str] = {}
    for name, path in named.items():
        if path is None:
            continue
        other = places.setdefault(path.resolve(), name)
        if other != name:
            raise UsageError(f"{path} is both {other} and {name}.", hint="Name another file.")
        if path is not data:
            check_target(path)


def _tell_plan(planned: Plan, *, as_json: bool) -> None:
    from sgi.cli.console import plain, print_json

    facts: dict[str, Any] = {
        "data": planned.dataset,
        "rows": planned.rows,
        "rejected": planned.rejected,
        "fields": {str(name): count for name, count in planned.present.items()},
        "metrics": [metric.canonical for metric in planned.metrics],
        "distinct_texts": planned.texts,
        "characters": planned.characters,
    }
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(value, dict):
            shown = ", ".join(f"{key} {count:,}" for key, count in value.items())
        typer.echo(plain(f"{name.replace('_', ' ')}: {shown}"))


def _as_json(report: RunReport, out: Path | None, aside: Path | None) -> dict[str, Any]:
    return report.summary.to_dict() | {
        "output": str(out) if out else None,
        "rejected": report.rejected,
        "rejects": str(aside) if report.rejected else None,
    }


def _notes(report: RunReport, out: Path | None, aside: Path | None) -> list[str]:
    summary = report.summary
    notes = [
        f"In {rows:,} of {summary.rows:,} rows the {name} went beyond what the embedder reads; the ends were "
        "not seen."
        for name, rows in summary.truncated.items()
    ]
    notes += [
        f"{rows:,} rows were scored without {model}, which gave no vectors; their details say why."
        for model, rows in summary.left_out.items()
    ]
    if summary.copies:
        notes.append(
            f"In {summary.copies:,} of {summary.labelled:,} labelled rows the response is the reference"
            " itself: scores that compare the two rank those rows by construction."
        )
    if report.rejected:
        notes.append(f"{report.rejected:,} rows could not be read; they are in {aside}, with the reasons.")
    if report.failures:
        notes.append(f"{report.failures:.1%} of the rows failed; their reasons stand beside their scores.")
    if out is not None:
        notes.append(f"The scores of each row are in {out}.")
    return notes
