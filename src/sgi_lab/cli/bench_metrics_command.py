"""``sgi study bench``: which metric detects which error, measured on perturbed rows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_json, print_message, print_tables, progress
from sgi.cli.option_values import metric_list, scored_metrics, select_embedders
from sgi.cli.run_options import Values, with_run_options
from sgi.cli.run_output import print_columns
from sgi.kernel.clusters import BY_QUESTION
from sgi.reporting.table import Table
from sgi_lab.cli.study_output import make_folder, print_study, write_study

if TYPE_CHECKING:
    from sgi_lab.metric_bench.judge_faults import JudgeFault
    from sgi_lab.metric_bench.matrix import Bench
    from sgi_lab.metric_bench.perturbation import Perturbation


def _complete(incomplete: str) -> list[str]:
    from sgi_lab.metric_bench.catalogue import FAULTS, PERTURBATIONS

    return [name for name in (*PERTURBATIONS, *FAULTS) if name.startswith(incomplete)]


Metric = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help="A metric, or several separated by commas; repeatable. Default: every built-in metric that "
        "needs no judge and whose fields the data has.",
        autocompletion=options.complete_metric,
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(help="File of rows; label 1 means grounded. Default: the bundled sample of HaluEval QA."),
]
N = Annotated[int, typer.Option("-n", "--rows", min=1, help="Number of rows to sample.")]
Perturb = Annotated[
    list[str] | None,
    typer.Option(
        help="A perturbation, or several separated by commas; repeatable. Default: all.",
        autocompletion=_complete,
    ),
]
Listing = Annotated[bool, typer.Option("--list", help="List the perturbations and exit.")]
Out = Annotated[
    Path | None,
    options.output_option("-o", "--out", help="Folder for bench.md and bench.json."),
]


@with_run_options("embedders", "judge_model", "judge_set", "judge_max_cost", "columns", "cluster", "cache")
def bench_metrics(
    values: Values,
    metric: Metric = None,
    define: options.Define = None,
    data: Data = None,
    n: N = 200,
    perturb: Perturb = None,
    listing: Listing = False,
    seed: options.Seed = 0,
    out: Out = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Perturb grounded rows, and measure which metrics react.

    Perturbations change numbers, units, dates, names and the word "not"; drop, replace, shuffle and add
    passages; and paraphrase, refuse or shorten answers. For each metric and perturbation you see the share of
    rows whose score changes as it should, with an interval and a verdict. Rows without a score are counted as
    lost, never as detected. With a judge, the command also corrupts the replies of the judge: the metric must
    then give no score, or the same score. Prints tables on a terminal, Markdown elsewhere.

    Examples:
      sgi study bench
      sgi study bench -m sgi,rouge_l_precision --data answers.jsonl -n 100 -o bench
      sgi study bench -m sgi --perturb number_swap,negation --json | jq '.cells[].verdict'
      sgi study bench -m faithfulness --judge openai:gpt-4o-mini -n 20 --max-cost 1
      sgi study bench --list
    """
    from sgi_lab.metric_bench.bench import bench

    if listing:
        _list(as_json=as_json)
        return
    if out is not None:
        make_folder(out, figures=False)
    metrics = scored_metrics(metric, define)
    with ExitStack() as stack:
        rows = data if data is not None else _sample(stack, quiet=quiet)
        listener = stack.enter_context(progress(quiet=quiet))
        result = bench(
            rows,
            metrics,
            metric_list(perturb or []),
            n=n,
            seed=seed,
            embedder=select_embedders(values.get("embedders"), metrics) or None,
            judge=values.get("judge"),
            columns=values.get("columns"),
            cluster=values.get("cluster", BY_QUESTION),
            cache=values.get("cache", True),
            listener=listener if quiet else print_columns(listener),
        )
    _show(result, out, as_json=as_json, quiet=quiet)


def _sample(stack: ExitStack, *, quiet: bool) -> Path:
    """Return the path of the bundled sample; the file exists while the stack is open."""
    from importlib.resources import as_file, files

    if not quiet:
        print_message(
            "Data: the bundled sample of HaluEval QA (MIT licence), short answers, one passage each."
        )
    return stack.enter_context(as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl"))


def _list(*, as_json: bool) -> None:
    from sgi_lab.metric_bench.catalogue import FAULTS, PERTURBATIONS

    changes: list[Perturbation | JudgeFault] = [*PERTURBATIONS.values(), *FAULTS.values()]
    rows = [(change.name, change.kind.value, change.says) for change in changes]
    if as_json:
        print_json([dict(zip(("name", "kind", "says"), row, strict=True)) for row in rows])
        return
    print_tables([Table(("perturbation", "kind", "what it does"), rows, left=("kind", "what it does"))])


def _show(bench: Bench, folder: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Print the results, and write them to the folder."""
    from sgi_lab.metric_bench.bench_page import bench_markdown, bench_tables, headline, in_words

    markdown = bench_markdown(bench)
    print_study(
        bench.model_dump(mode="json"),
        markdown,
        bench_tables(bench, intervals=False),
        head=[headline(bench), *bench.notes, *(f"- {line}" for line in in_words(bench))],
        foot=[bench.signature],
        as_json=as_json,
    )
    if folder is not None:
        text = bench.model_dump_json(indent=2, ensure_ascii=True)
        write_study(folder, "bench", markdown=markdown, json=text, quiet=quiet)
