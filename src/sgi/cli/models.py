"""``sgi models``: the embedding models known by name, whether their files are sound, and how to get them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli.options import JsonOption

if TYPE_CHECKING:
    from sgi.models.known_models import ModelRecord

AtHand = Literal["embedded", "onnx", "torch"] | None
_SOURCES: dict[AtHand, str] = {
    "embedded": "embedded, no network",
    "onnx": "your models, no network",
    "torch": "your models, no network (extra torch)",
    None: "{hub} (extra hub)",
}

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
    """List the models known by name, and which of them are at hand.

    Example:

      sgi models list --json
    """
    from sgi.cli.console import plain, print_json
    from sgi.models.files import models_folder
    from sgi.models.known_models import MODELS

    if as_json:
        print_json([asdict(record) | {"at_hand": _at_hand(record)} for record in MODELS.values()])
        return
    typer.echo(f"{'name':<20}{'short':<8}{'dimension':>9}{'tokens':>8}  {'pooling':<9}{'licence':<12}from")
    for record in MODELS.values():
        numbers = f"{record.dimension:>9}{record.limit:>8}"
        source = _SOURCES[_at_hand(record)].format(hub=record.hub)
        typer.echo(
            f"{record.name:<20}{record.alias:<8}{numbers}  {record.pooling:<9}{record.licence:<12}{source}"
        )
    typer.echo(plain(f"Models of yours go into {models_folder()}/NAME (or where SGI_MODELS_DIR says)."))
    typer.echo("Also: a folder, torch:NAME, openai:MODEL, openai:MODEL@URL, azure:DEPLOYMENT.")


def _at_hand(record: ModelRecord) -> AtHand:
    """Where a model is on this machine, as `load_embedder` would find it."""
    from sgi.models.files import has_graph, kept_folder

    if record.embedded:
        return "embedded"
    folder = kept_folder(record)
    if folder is None:
        return None
    return "onnx" if has_graph(folder) else "torch"


@models.command()
def verify(name: NameArgument = "minilm") -> None:
    """Check a model's files against their published checksums, and print its fingerprint.

    Example:

      sgi models verify minilm
    """
    from sgi.cli.console import plain
    from sgi.models.embedder.load import load_embedder

    typer.echo(plain(load_embedder(name).fingerprint))


@models.command()
def fetch(name: NameArgument) -> None:
    """Fetch a model's files from its hub, so that later runs need no network.

    Example:

      sgi models fetch bge-base-en-v1.5
    """
    from sgi.cli.console import plain
    from sgi.models.embedder.load import load_embedder

    load_embedder(name).embed(["Is it there?"])
    typer.echo(plain(f"{name} is on this machine."))
