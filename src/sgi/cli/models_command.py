"""``sgi study models``: lists known embedding models, verifies and downloads their files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli import options
from sgi.cli.console import plain, print_json

if TYPE_CHECKING:
    from sgi.models.known_models import ModelRecord

Source = Literal["embedded", "onnx", "torch"] | None
_SOURCES: dict[Source, str] = {
    "embedded": "bundled, no network",
    "onnx": "your models folder, no network",
    "torch": "your models folder, no network (extra torch)",
    None: "{hub} (extra hub)",
}

models = typer.Typer(
    name="models",
    help="List, verify and download models. Examples: sgi study models; sgi study models entailment; "
    "sgi study models verify minilm",
    invoke_without_command=True,
)

NameArgument = Annotated[str, typer.Argument(help="Name of a model, or a folder.")]


@models.callback()
def _models(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show()


@models.command("list")
def show(as_json: options.Json = False) -> None:
    """List the known models, and where their files are.

    Example:
      sgi study models list --json
    """
    from sgi.models.hub import models_folder
    from sgi.models.known_models import MODELS

    if as_json:
        print_json([asdict(record) | {"at_hand": _source(record)} for record in MODELS.values()])
        return
    typer.echo(f"{'name':<20}{'short':<8}{'dimension':>9}{'tokens':>8}  {'pooling':<9}{'licence':<12}from")
    for record in MODELS.values():
        numbers = f"{record.dimension:>9}{record.limit:>8}"
        source = _SOURCES[_source(record)].format(hub=record.hub)
        typer.echo(
            f"{record.name:<20}{record.alias:<8}{numbers}  {record.pooling:<9}{record.licence:<12}{source}"
        )
    typer.echo(plain(f"Your models folder: {models_folder()}/NAME (or set SGI_MODELS_DIR)."))
    typer.echo("You can also use: a folder, torch:NAME, openai:MODEL, openai:MODEL@URL, azure:DEPLOYMENT.")


@models.command()
def entailment(as_json: options.Json = False) -> None:
    """List the profiles of entailment models for --nli, with size, licence, source and what they need.

    Example:
      sgi study models entailment --json
    """
    from sgi.kernel.entailment_profile import entailment_profiles
    from sgi.models.hub import models_folder

    profiles = entailment_profiles().values()
    if as_json:
        print_json([profile.model_dump(mode="json") for profile in profiles])
        return
    typer.echo(f"{'name':<45}{'short':<21}{'size':>8}  {'licence':<12}{'runs with':<13}from")
    for profile in profiles:
        size = "?" if profile.megabytes is None else f"{profile.megabytes:,} MB"
        facts = f"{size:>8}  {profile.licence or '?':<12}{profile.runs:<13}{profile.model}"
        typer.echo(f"{profile.name:<45}{profile.alias:<21}{facts}")
    typer.echo(plain(f"Your models folder: {models_folder()}/OWNER/MODEL (or set SGI_MODELS_DIR)."))
    typer.echo("'own files': the files on the hub cannot be used as they are; --json says what to do.")
    typer.echo("You can also use: your profile file.toml, a folder, owner/model, torch:NAME.")


def _source(record: ModelRecord) -> Source:
    """Return where `load_embedder` finds the model on this machine; None if it must be downloaded."""
    from sgi.models.model_location import find_model

    if record.embedded:
        return "embedded"
    location = find_model(record.name)
    if location.folder is None:
        return None
    return "onnx" if location.has_graph else "torch"


@models.command()
def verify(name: NameArgument = "minilm") -> None:
    """Verify the checksums of a model's files, and print its fingerprint.

    Example:
      sgi study models verify minilm
    """
    from sgi.models.embedder.load_embedder import load_embedder

    typer.echo(plain(load_embedder(name).fingerprint))


@models.command()
def fetch(name: NameArgument) -> None:
    """Download a model's files from the hub, so that later runs need no network.

    The name can also be that of a profile of an entailment model.

    Examples:
      sgi study models fetch bge-base-en-v1.5
      sgi study models fetch nli-deberta-v3-xsmall
    """
    from sgi.kernel.entailment_profile import find_profile

    if find_profile(name) is None:
        from sgi.models.embedder.load_embedder import load_embedder

        load_embedder(name).embed(["A test sentence."])
    else:
        from sgi.models.entailment.load_entailment import load_entailment_model

        load_entailment_model(name).entail([("A test sentence.", "A sentence.")])
    typer.echo(plain(f"Downloaded the files of {name}."))
