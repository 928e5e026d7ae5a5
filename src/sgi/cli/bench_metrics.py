"""``sgi bench-metrics``: which metric detects which error, measured on perturbed rows."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_tables, progress, readers_may_leave, talk
from sgi.cli.option_values import cache_choice, column_map, judge_settings, metric_list, select_embedders
from sgi.cli.run_output import print_columns
from sgi.kernel.clusters import BY_QUESTION
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from sgi.bench.judge_faults import JudgeFault
    from sgi.bench.matrix import Bench
    from sgi.bench.perturbation import Perturbation

_MAX_LINE = 400


def _complete(incomplete: str) -> list[str]:
    from sgi.bench.catalogue import FAULTS, PERTURBATIONS

    return [name for name in (*PERTURBATIONS, *FAULTS) if name.startswith(incomplete)]


def bench_metrics(
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            help="A metric, or several separated by commas; repeatable. Default: every built-in metric that "
            "needs no judge and whose fields the data has.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Rows with label 1 for grounded. Default: the bundled sample of HaluEval QA."),
    ] = None,
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="Number of rows to sample.")] = 200,
    perturb: Annotated[
        list[str] | None,
        typer.Option(
            help="A perturbation, or several separated by commas; repeatable. Default: all.",
            autocompletion=_complete,
        ),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the perturbations and exit.")] = False,
    seed: Annotated[int, options.statistics_option(min=0, help="Random seed.")] = 0,
    embedder: options.Embedders = None,
    judge: options.Judge = None,
    judge_set: options.JudgeSet = None,
    max_cost: options.MaxCost = None,
    columns: options.ColumnMap = None,
    cluster: options.Cluster = None,
    out: Annotated[
        Path | None,
        options.output_option(
            "-o", "--out", help="Folder for bench.md, bench.json, bench.png and bench.svg."
        ),
    ] = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Perturb grounded rows, and measure which metrics react.

    Perturbations change numbers, units, dates, names and the word "not"; drop, replace, shuffle and add
    passages; and paraphrase, refuse or shorten answers. For each metric and perturbation you see the share of
    rows whose score changes as it should, with an interval and a verdict. Rows without a score are counted as
    lost, never as detected. With a judge, its replies are corrupted too: that must give no score, or the same
    score. Prints tables on a terminal, Markdown elsewhere.

    Examples:
      sgi bench-metrics
      sgi bench-metrics -m sgi,rouge_l_precision --data answers.jsonl -n 100 -o bench
      sgi bench-metrics -m sgi --perturb number_swap,negation --json | jq '.cells[].verdict'
      sgi bench-metrics -m faithfulness --judge openai:gpt-4o-mini -n 20 --max-cost 1
      sgi bench-metrics --list
    """
    from sgi.bench.bench import bench
    from sgi.reporting.charts import check_figure

    if listing:
        _list(as_json=as_json)
        return
    if out is not None:
        check_figure(out / "bench.png")
        out.mkdir(parents=True, exist_ok=True)  # fails before the work if the folder cannot be made
    metrics = metric_list(metric or []) or None
    with ExitStack() as stack:
        rows = data if data is not None else _sample(stack, quiet=quiet)
        listener = stack.enter_context(progress(quiet=quiet))
        made = bench(
            rows,
            metrics,
            metric_list(perturb or []),
            n=n,
            seed=seed,
            embedder=select_embedders(embedder, metrics),
            judge=judge_settings(judge, judge_set, max_cost=max_cost),
            columns=column_map(columns),
            cluster=cluster or BY_QUESTION,
            cache=cache_choice(cache, no_cache=no_cache),
            listener=listener if quiet else print_columns(listener),
        )
    _show(made, as_json=as_json)
    if out is not None:
        _write(made, out, quiet=quiet)


def _sample(stack: ExitStack, *, quiet: bool) -> Path:
    """The bundled sample, available while the stack is open."""
    from importlib.resources import as_file, files

    if not quiet:
        talk("Data: the bundled sample of HaluEval QA (MIT licence), short answers, one passage each.")
    return stack.enter_context(as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl"))


def _list(*, as_json: bool) -> None:
    from sgi.bench.catalogue import FAULTS, PERTURBATIONS

    found: list[Perturbation | JudgeFault] = [*PERTURBATIONS.values(), *FAULTS.values()]
    if as_json:
        print_json([{"name": one.name, "kind": one.kind.value, "says": one.says} for one in found])
        return
    rows = [(one.name, one.kind.value, one.says) for one in found]
    print_tables([Table(("perturbation", "kind", "what it does"), rows, left=("kind", "what it does"))])


def _show(made: Bench, *, as_json: bool) -> None:
    from sgi.bench.page import bench_markdown

    with readers_may_leave():
        if as_json:
            print_json(made.model_dump(mode="json"))
        elif sys.stdout.isatty():
            _show_tables(made)
        else:
            print_lines([bench_markdown(made).rstrip("\n")])


def _show_tables(made: Bench) -> None:
    from sgi.bench.page import bench_tables, headline, in_words

    lines = [headline(made), *made.notes, *(f"- {line}" for line in in_words(made))]
    print_lines([*(one_line(line, longest=_MAX_LINE) for line in lines), ""])
    for part in bench_tables(made, intervals=False):
        print_lines([part.title])
        print_tables([part])
    print_lines([one_line(made.signature, longest=_MAX_LINE)])


def _write(made: Bench, folder: Path, *, quiet: bool) -> None:
    """Write the results as Markdown, JSON and figures."""
    from sgi.bench.page import bench_chart, bench_markdown
    from sgi.reporting.charts import save_figure

    (folder / "bench.md").write_text(bench_markdown(made), encoding="utf-8")
    (folder / "bench.json").write_text(
        made.model_dump_json(indent=2, ensure_ascii=True) + "\n", encoding="utf-8"
    )
    chart = bench_chart(made)
    for name in ("bench.png", "bench.svg"):
        save_figure(chart, folder / name)
    if not quiet:
        talk(f"Written to {folder}: bench.md, bench.json, bench.png, bench.svg.")
