"""``sgi runs annotate``: adds a note to the trends of data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_message

Data = Annotated[
    str,
    typer.Argument(
        help="Name of the data, a run with this data, or 'traces' for live traces.", show_default=False
    ),
]
Text = Annotated[
    str, typer.Argument(help="Text of the note, such as the name of a release.", show_default=False)
]
At = Annotated[
    str, typer.Option("--at", help="Time, ISO 8601; UTC if it has no zone. Default: now.", show_default=False)
]


def annotate(
    data: Data, text: Text, at: At = "", db: options.Database = None, as_json: options.Json = False
) -> None:
    """Add a note, such as a release, to the trends of data.

    Examples:
      sgi runs annotate answers.jsonl "release 2.4"
      sgi runs annotate last "new embedder" --at 2026-11-23T16:00
    """
    from sgi.analysis.trend import find_series
    from sgi.store.database import open_database
    from sgi.store.run_history import annotate as add_annotation

    with open_database(db, create=False) as database:
        note = add_annotation(database, find_series(database, data), text, at)
    if as_json:
        print_json(asdict(note))
    else:
        print_message(f"Annotated {one_line(note.data)} at {note.at}: {note.text}")
