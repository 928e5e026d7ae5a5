"""``sgi judge rescore``: recomputes judged metrics of a run from stored judge replies."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_json, print_message, print_summary, progress
from sgi.cli.option_values import cache_choice, metric_list
from sgi.cli.run_output import database_option
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.rescore import RescoreResult


Metric = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help="A judged metric, with other parameters in parentheses, or several separated by commas; "
        "repeatable. Default: every metric of the run with stored replies.",
        autocompletion=options.complete_metric,
    ),
]
Name = Annotated[str | None, typer.Option("--name", help="Name of the new run; unique in the database.")]
Embedders = Annotated[
    list[str] | None, typer.Option("-e", "--embedder", help="Embedder; repeatable. Default: as in the run.")
]


def rescore(
    run: options.Run,
    metric: Metric = None,
    name: Name = None,
    embedder: Embedders = None,
    define: options.Define = None,
    db: options.Database = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    percent: options.Percent = True,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Recompute judged metrics from the stored replies of the judge, and store them as a new run.

    No request is sent. You can change how replies become a score, such as weights, scales and the score of an
    empty answer, but not the questions to the judge. Rows without stored replies keep their status and
    reason. The exit code is 3 if rows failed or were rejected.

    Examples:
      sgi judge rescore last
      sgi judge rescore nightly -m "ragas_score(weights=[0.4,0.2,0.2,0.2])" --name weighted
      sgi judge rescore nightly -m "faithfulness(empty=full)" --json
    """
    import anyio

    from sgi.analysis import rescore as engine
    from sgi.metrics.definitions import Definitions

    texts = metric_list(metric) if metric else None
    definitions = Definitions.of(define)
    vectors: bool | Path = cache_choice(cache, no_cache=no_cache)
    with (
        open_runs(db, run) as (database, (record,)),
        progress(quiet=quiet) as listener,
        redirect_stdout(sys.stderr),
    ):
        work = partial(engine.rescore, name=name, embedders=embedder, cache=vectors)
        work = partial(work, define=definitions, listener=listener)
        result = anyio.run(work, database, record, texts)
    if as_json:
        facts = {"run": result.report.run, "rescored_from": record.id, "sources": dict(result.sources)}
        print_json(result.report.summary.to_dict() | facts | {"notes": list(result.notes)})
    else:
        print_summary(result.report.summary, percent=percent)
    for line in () if quiet else _notes(result, db):
        print_message(line)
    if result.report.failures or result.report.rejected:
        raise typer.Exit(3)


def _notes(rescored: RescoreResult, db: str | None) -> Iterator[str]:
    for metric, source in rescored.sources.items():
        if metric != source:
            yield f"{metric} is computed from the stored replies for {source}."
    yield from rescored.notes
    if rescored.report.failures:
        yield f"{rescored.report.failures:.1%} of the rows failed; `sgi show` prints the reasons."
    yield f"The new run is stored. Show it: sgi show {rescored.report.run}{database_option(db)}"
