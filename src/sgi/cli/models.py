"""``sgi models``: the embedding models known by name, whether their files are sound, and how to get them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sgi.cli.options import JsonOption

models = typer.Typer(
    name="models",
    help="The embedding models known by name. Examples: sgi models; sgi models verify minilm",
    invoke_without_command=True,
)

NameArgument = Annotated[str, typer.Argument(help="A model's name, or a folder.")]


@models.callback()
def _models(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show()


@models.command("list")
def show(as_json: JsonOption = False) -> None:
    """List the models known by name.

    Example:

      sgi models list --json
    """
    from sgi.cli.console import print_json
    from sgi.embed.models import MODELS

    if as_json:
        print_json([asdict(record) for record in MODELS.values()])
        return
    typer.echo(f"{'name':<20}{'dimension':>10}{'tokens':>8}  {'pooling':<9}{'licence':<12}from")
    for record in MODELS.values():
        source = "embedded, no network" if record.embedded else f"{record.hub} (extra hub)"
        numbers = f"{record.dimension:>10}{record.limit:>8}"
        typer.echo(f"{record.name:<20}{numbers}  {record.pooling:<9}{record.licence:<12}{source}")
    typer.echo("Also: a folder, torch:NAME, openai:MODEL, openai:MODEL@URL, azure:DEPLOYMENT.")


@models.command()
def verify(name: NameArgument = "minilm") -> None:
    """Check a model's files against their published checksums, and print its fingerprint.

    Example:

      sgi models verify minilm
    """
    from sgi.cli.console import plain
    from sgi.embed.load import load_embedder

    typer.echo(plain(load_embedder(name).fingerprint))


@models.command()
def fetch(name: NameArgument) -> None:
    """Fetch a model's files from its hub, so that later runs need no network.

    Example:

      sgi models fetch bge-base-en-v1.5
    """
    from sgi.cli.console import plain
    from sgi.embed.load import load_embedder

    load_embedder(name).embed(["Is it there?"])
    typer.echo(plain(f"{name} is on this machine."))
