"""``sgi judge record`` and ``replay``: records the calls of a judge, and repeats a run without a key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgi.cli.console import print_message

_ARGUMENTS_OF_RUN = {"allow_extra_args": True, "ignore_unknown_options": True}

record = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
replay = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

FileArgument = Annotated[Path, typer.Argument(help="File of recorded calls, JSON lines.")]


@record.command(context_settings=_ARGUMENTS_OF_RUN)
def _record(context: typer.Context, file: FileArgument) -> None:
    """Score answers, and record every call of the judge in FILE. After FILE come the arguments of `sgi run`.

    Example:
      sgi judge record calls.jsonl answers.csv -m faithfulness --judge openai:gpt-4o-mini
    """
    _run(context, file, replaying=False)


@replay.command(context_settings=_ARGUMENTS_OF_RUN)
def _replay(context: typer.Context, file: FileArgument) -> None:
    """Score answers with the recorded replies in FILE, without a key and without network.

    After FILE come the arguments of `sgi run`; the judge is the recorded one. A row whose call is not in FILE
    fails; no request is sent.

    Example:
      sgi judge replay calls.jsonl answers.csv -m faithfulness
    """
    _run(context, file, replaying=True)


def _run(context: typer.Context, file: Path, *, replaying: bool) -> None:
    from sgi.engine.run_options import Cassette
    from sgi.llm.cassette import incomplete_end

    if file.exists() and (note := incomplete_end(file)):
        print_message(note)
    group = context.find_root().command
    run = group.get_command(context, "run")  # type: ignore[attr-defined]  # the root is a group of commands
    with run.make_context("sgi run", list(context.args), obj=Cassette(file, replaying=replaying)) as inner:
        run.invoke(inner)
