"""``sgi compute``: the Semantic Grounding Index of one question, context and response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import BackendOption, JsonOption, PrecisionOption

if TYPE_CHECKING:
    from sgi.kernel.ports import Embedder


def compute(
    q: Annotated[str, typer.Option("--q", help="The question.")],
    c: Annotated[str, typer.Option("--c", help="The context: what was retrieved.")],
    r: Annotated[str, typer.Option("--r", help="The response.")],
    deployment: Annotated[
        str | None, typer.Option(help="An Azure OpenAI deployment; the AZURE_OPENAI_… variables say where.")
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option("-e", "--embedder", help="Another embedder than the embedded model (see `sgi models`)."),
    ] = None,
    backend: BackendOption = "auto",
    precision: PrecisionOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Print the SGI of one triple, with its two angles in radians.

    Where AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, in the environment or in a file .env in this
    folder, Azure OpenAI embeds the texts; otherwise the embedded model does, offline.

    Examples:

      sgi compute --q "Who wrote Emma?" --c "Emma is a novel by Jane Austen." --r "Jane Austen."

      sgi compute --q "…" --c "…" --r "…" --json

      sgi compute --q "…" --c "…" --r "…" --backend openvino

      sgi compute --q "…" --c "…" --r "…" --deployment text-embedding-3-large
    """
    from sgi.core import sgi

    result = sgi(q, c, r, embedder=_embedder(deployment, embedder, backend, precision))
    if as_json:
        import json

        typer.echo(json.dumps(result, indent=2))
    else:
        typer.echo("SGI={sgi:.6f}  theta_rq={theta_rq:.6f}  theta_rc={theta_rc:.6f}".format(**result))


def _embedder(deployment: str | None, name: str | None, backend: str, precision: str) -> Embedder | None:
    from sgi.embed.load import load_embedder
    from sgi.embed.models import DEFAULT_MODEL
    from sgi.kernel.errors import UsageError

    if deployment and name:
        raise UsageError("--deployment and --embedder contradict each other.")
    here = name or (DEFAULT_MODEL if (backend, precision) != ("auto", "auto") else None)
    if deployment and here:
        raise UsageError("--deployment is Azure's; --backend and --precision are of models that run here.")
    if here:
        return load_embedder(here, backend=backend, precision=precision)
    from sgi.openai_embedder import AzureOpenAIEmbedder, azure_is_configured

    if deployment or azure_is_configured():
        from sgi.cli.console import talk

        azure = AzureOpenAIEmbedder(deployment=deployment)
        talk(f"The texts go to {azure.name} at {azure.service.place}.")
        return azure
    return None
