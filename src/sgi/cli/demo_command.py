"""``sgi demo``: scores the bundled sample, and writes a report."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_message
from sgi.cli.report_command import report
from sgi.cli.run_command import run

_TITLE = "HaluEval QA, the bundled sample"


def demo(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="File for the scores; the run (.db) and its report (.html) are written beside it.",
        ),
    ] = Path("sgi-demo.jsonl"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Score the bundled sample, offline, and write a report.

    The sample has 250 items of HaluEval QA (MIT licence), each with a right and a hallucinated answer. You
    need no network, no key and no account.

    Examples:
      sgi demo
      sgi demo -o /tmp/scores.csv
    """
    database = str(out.with_suffix(".db"))
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as sample:
        if not quiet:
            answers = "each with a right answer (label 1) and a hallucinated one (label 0)"
            print_message(f"HaluEval QA (MIT licence): 250 items, {answers}.")
        run(context=context, data=sample, out=out, inputs=True, db=database, as_json=as_json, quiet=quiet)
        report(["last"], out=out.with_suffix(".html"), title=_TITLE, db=database, quiet=quiet)
        if not quiet:
            print_message(
                "Read the AUROC with care: on this data, the length of an answer alone ranks as well as "
                "grounding and better than sgi, see the table. Grounding was fitted on pairs of this "
                "data set and of others."
            )
            print_message(f"Next: open {out.with_suffix('.html')}, then score your file: sgi run answers.csv")
