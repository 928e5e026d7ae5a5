"""``sgi judge``: the calls of a judge in a file, so that a run can be done again exactly, without a key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

judge = typer.Typer(
    name="judge",
    help="Write the calls of a judge to a file, or answer from it. "
    "Example: sgi judge record calls.jsonl answers.csv -m faithfulness --judge openai:gpt-4o-mini",
    no_args_is_help=True,
)

FileArgument = Annotated[Path, typer.Argument(help="The file of calls, JSON lines.")]


@judge.command(context_settings=_PASSED_ON)
def record(context: typer.Context, file: FileArgument) -> None:
    """Do a run, and write every call of its judge to FILE. After FILE comes what `sgi run` takes.

    Example:

      sgi judge record calls.jsonl answers.csv -m faithfulness --judge openai:gpt-4o-mini
    """
    _run(context, file, replaying=False)


@judge.command(context_settings=_PASSED_ON)
def replay(context: typer.Context, file: FileArgument) -> None:
    """Do a run with FILE for a judge: no key, no network, the same replies.

    After FILE comes what `sgi run` takes; the judge is the one of FILE. A call that is not in FILE fails its
    row; nothing is asked in its place.

    Example:

      sgi judge replay calls.jsonl answers.csv -m faithfulness
    """
    _run(context, file, replaying=True)


def _run(context: typer.Context, file: Path, *, replaying: bool) -> None:
    from sgi.cli.console import talk
    from sgi.cli.main import app
    from sgi.engine.open_judge import Cassette
    from sgi.llm.cassette import incomplete_end

    if file.exists() and (note := incomplete_end(file)):
        talk(note)
    command = typer.main.get_command(app)
    verb = command.get_command(context, "run")  # type: ignore[attr-defined]  # the app is a group of verbs
    with verb.make_context("sgi run", list(context.args), obj=Cassette(file, replaying=replaying)) as inner:
        verb.invoke(inner)
