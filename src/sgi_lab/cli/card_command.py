"""``sgi study card``: how well a metric detects ungrounded answers, compared with trivial scores."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import progress
from sgi.cli.option_values import cache_choice, stored_metrics
from sgi_lab.cli.study_output import make_folder, print_study, write_study

if TYPE_CHECKING:
    from sgi_lab.card.card import DetectorCard

Beside = Annotated[
    list[str] | None, typer.Option(help="Another metric of the run to compare with; repeatable.")
]
By = Annotated[
    list[str] | None,
    options.statistics_option(
        help="Split the rows by this column: show each subgroup; repeatable. Default: all columns with "
        "2 to 12 distinct values."
    ),
]
Embedder = Annotated[
    str | None,
    options.model_option(
        "-e", "--embedder", help="Embedder for the cosine baselines. Default: the embedder of the run."
    ),
]
Shuffled = Annotated[
    bool,
    options.statistics_option(
        "--shuffled/--no-shuffled", help="Also score the metric with the contexts of other questions."
    ),
]
Out = Annotated[
    Path | None,
    options.output_option("-o", "--out", help="Folder for card.md, card.json, card.png and card.svg."),
]
Draws = Annotated[int, options.statistics_option(min=1, help="Number of bootstrap samples.")]


def card(
    run: options.Run,
    metric: options.RunMetric,
    define: options.Define = None,
    label: options.Label = None,
    beside: Beside = None,
    by: By = None,
    embedder: Embedder = None,
    shuffled: Shuffled = True,
    out: Out = None,
    draws: Draws = 1000,
    seed: options.Seed = 0,
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
      sgi study card last -m sgi
      sgi study card nightly -m faithfulness --label human --by model -o card
      sgi study card nightly -m grounding --beside sgi --beside theta_rc
      sgi study card nightly -m sgi --json | jq '.notes'
    """
    from sgi_lab.card.run_card import card_of_run

    metric, *others = stored_metrics([metric, *(beside or ())], define)
    if out is not None:
        make_folder(out)
    with progress(quiet=quiet) as listener, redirect_stdout(sys.stderr):
        result = card_of_run(
            run,
            metric,
            label=label,
            beside=others,
            by=by or (),
            embedder=embedder,
            shuffled=shuffled,
            cache=cache_choice(cache, no_cache=no_cache),
            draws=draws,
            seed=seed,
            cluster=cluster,
            db=db,
            listener=listener,
        )
    _show(result, out, as_json=as_json, quiet=quiet)


def _show(card: DetectorCard, folder: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Print the card, and write it to the folder."""
    from sgi_lab.card.card_views import card_chart, card_markdown, card_tables, headline, remarks

    facts, markdown = card.to_dict(), card_markdown(card)
    warnings = (f"Warning: {warning}" for warning in card.warnings)
    print_study(
        facts,
        markdown,
        card_tables(card),
        head=[card.name, headline(card), *warnings, *(f"- {note}" for note in card.notes)],
        foot=[*remarks(card), card.signature],
        as_json=as_json,
    )
    if folder is not None:
        text = json.dumps(facts, indent=2, ensure_ascii=True)
        write_study(folder, "card", markdown=markdown, json=text, chart=card_chart(card), quiet=quiet)
