"""``sgi judge labels``: shows and exports the labels that people gave to a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_message, print_tables
from sgi.kernel.short_text import pluralize
from sgi.store.open_runs import open_runs

Out = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", help="File for all labels, one row for each label: .csv, .jsonl or .parquet."
    ),
]


def labels(
    run: options.Run, out: Out = None, db: options.Database = None, as_json: options.Json = False
) -> None:
    """Show the labels that people gave to a run: agreement, corrected means, and how many more are useful.

    People label answers in the dashboard, on the page of a run: sgi serve. `agree`, `calibrate` and `card`
    use the labels if the data has none.

    Examples:
      sgi judge labels last
      sgi judge labels nightly -o labels.csv
      sgi judge agree nightly --label people
    """
    from sgi.analysis.labelling import label_rows, labelling
    from sgi.io.write import open_writer
    from sgi.reporting.label_tables import label_lines, label_tables

    with open_runs(db, run) as (database, (record,)):
        state = labelling(database, record)
    rows = label_rows(state)
    if out is not None:
        with open_writer(out) as writer:
            writer.write(rows)
    if as_json:
        print_json(
            {
                "run": record.id,
                "rows": len(state.labels.ids),
                "labelled": state.labelled,
                "sampled": state.sampled,
                "drawn": None
                if state.drawn is None
                else {"metric": state.drawn.metric, "rows": state.drawn.labelled},
                "disputed": state.labels.disputed,
                "authors": [asdict(author) for author in state.authors],
                "pairs": [asdict(pair) for pair in state.pairs],
                "metrics": [asdict(metric) for metric in state.metrics],
                "labels": rows,
            }
        )
        return
    print_lines([*(one_line(line, longest=400) for line in label_lines(state)), ""])
    print_tables(label_tables(state))
    if out is not None:
        print_message(f"Wrote {pluralize(len(rows), 'label')} to {out}.")
    if not rows:
        print_message(f"Nobody has labelled a row. Run sgi serve, and open /runs/{record.id}/labels.")
