"""``sgi card``: how well a metric detects ungrounded answers, compared with trivial scores."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_tables, progress, readers_may_leave, talk
from sgi.cli.option_values import cache_choice

if TYPE_CHECKING:
    from sgi.analysis.card.card import DetectorCard

_MAX_LINE = 400


def card(
    run: options.Run,
    metric: Annotated[str, typer.Option("-m", "--metric", help="Metric to compare with the labels.")],
    label: Annotated[
        str,
        typer.Option(help="Column of the data with the labels; 1 means grounded."),
    ] = "label",
    beside: Annotated[
        list[str] | None,
        typer.Option(help="Another metric of the run to compare with; repeatable."),
    ] = None,
    by: Annotated[
        list[str] | None,
        options.statistics_option(
            help="Column of subgroups; repeatable. Default: all with 2 to 12 distinct values."
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        options.model_option(
            "-e", "--embedder", help="Embedder for the cosine baselines. Default: as in the run."
        ),
    ] = None,
    shuffled: Annotated[
        bool,
        options.statistics_option(
            "--shuffled/--no-shuffled", help="Also score the metric with the contexts of other questions."
        ),
    ] = True,
    out: Annotated[
        Path | None,
        options.output_option("-o", "--out", help="Folder for card.md, card.json, card.png and card.svg."),
    ] = None,
    draws: Annotated[int, options.statistics_option(min=1, help="Number of bootstrap samples.")] = 1000,
    seed: Annotated[int, options.statistics_option(min=0, help="Random seed.")] = 0,
    cluster: options.RunCluster = None,
    db: options.Database = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a detector card: a metric against labels, trivial baselines and controls.

    Prints AUROC, average precision and false positives with intervals over clusters (by default questions);
    the same for answers matched by length and by overlap; AUROC within each categorical column; length,
    overlap, verbatim copies and cosines as baselines; shuffled labels and contexts; subgroups; probabilities
    against the constant base rate; and verdicts in plain words. Prints tables on a terminal, Markdown
    elsewhere.

    Examples:
      sgi card last -m sgi
      sgi card nightly -m faithfulness --label human --by model -o card
      sgi card nightly -m grounding --beside sgi --beside theta_rc
      sgi card nightly -m sgi --json | jq '.notes'
    """
    import anyio

    from sgi.analysis.card.from_run import CardOptions, card_of_run
    from sgi.reporting.charts import check_figure
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    if out is not None:
        check_figure(out / "card.png")
        out.mkdir(parents=True, exist_ok=True)  # fails before the work if the folder cannot be made
    vectors = cache_choice(cache, no_cache=no_cache)
    options = CardOptions(label, beside or (), by or (), embedder, shuffled, vectors, draws, seed)
    with open_database(db, create=False) as database:
        record = find_run(database, run).with_clusters(cluster)
        with progress(quiet=quiet) as listener, redirect_stdout(sys.stderr):
            work = partial(card_of_run, listener=listener)
            made = anyio.run(work, database, record, metric, options)
    _show(made, as_json=as_json)
    if out is not None:
        _write(made, out, quiet=quiet)


def _show(detector_card: DetectorCard, *, as_json: bool) -> None:
    from sgi.reporting.card import card_markdown, card_tables

    with readers_may_leave():
        if as_json:
            print_json(detector_card.to_dict())
        elif sys.stdout.isatty():
            print_lines(_head(detector_card))
            for shown in card_tables(detector_card):
                print_lines([shown.title])
                print_tables([shown])
            print_lines(_foot(detector_card))
        else:
            print_lines([card_markdown(detector_card).rstrip("\n")])


def _head(detector_card: DetectorCard) -> list[str]:
    from sgi.reporting.card import headline

    lines = [
        detector_card.name,
        headline(detector_card),
        *(f"Warning: {warning}" for warning in detector_card.warnings),
    ]
    return [
        *(
            one_line(line, longest=_MAX_LINE)
            for line in [*lines, *(f"- {note}" for note in detector_card.notes)]
        ),
        "",
    ]


def _foot(detector_card: DetectorCard) -> list[str]:
    from sgi.reporting.card import remarks

    return [one_line(line, longest=_MAX_LINE) for line in [*remarks(detector_card), detector_card.signature]]


def _write(detector_card: DetectorCard, folder: Path, *, quiet: bool) -> None:
    """Write the card as Markdown, JSON and figures."""
    from sgi.reporting.card import card_markdown
    from sgi.reporting.card_figure import card_chart
    from sgi.reporting.charts import save_figure

    (folder / "card.md").write_text(card_markdown(detector_card), encoding="utf-8")
    (folder / "card.json").write_text(_json(detector_card.to_dict()), encoding="utf-8")
    chart = card_chart(detector_card)
    for name in ("card.png", "card.svg"):
        save_figure(chart, folder / name)
    if not quiet:
        talk(f"Written to {folder}: card.md, card.json, card.png, card.svg.")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"
