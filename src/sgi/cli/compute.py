"""``sgi compute``: the Semantic Grounding Index of one question, context and response."""

from __future__ import annotations

from typing import Annotated

import typer

from sgi.cli.options import (
    BackendOption,
    ContextsOption,
    JsonOption,
    PrecisionOption,
    QuestionOption,
    ResponseOption,
    chosen_embedders,
)


def compute(
    q: QuestionOption,
    c: ContextsOption,
    r: ResponseOption,
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

    Of several contexts, the one nearest to the response counts, as in the metric `sgi`.

    Where AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, in the environment or in a file .env in this
    folder, Azure OpenAI embeds the texts; otherwise the embedded model does, offline. Only one of the two set
    is an error. `sgi run` chooses in the same way.

    A note on stderr, and `truncated` in the JSON, say which text is longer than the model reads.

    Examples:

      sgi compute --q "Who wrote Emma?" --c "Emma is a novel by Jane Austen." --r "Jane Austen."

      sgi compute --question "…" --context "…" --context "…" --response "…" --json

      sgi compute --q "…" --c "…" --r "…" --backend openvino

      sgi compute --q "…" --c "…" --r "…" --deployment text-embedding-3-large
    """
    from sgi.cli.console import talk
    from sgi.core import sgi_with_truncation
    from sgi.geometry.passages import VERBATIM_ANGLE
    from sgi.models.embedder.load import load_embedder
    from sgi.models.known_models import DEFAULT_MODEL

    name = _embedder_name(deployment, embedder, backend, precision) or DEFAULT_MODEL
    used = load_embedder(name, backend=backend, precision=precision)
    result, truncated = sgi_with_truncation(q, c if len(c) > 1 else c[0], r, used)
    for text in truncated:
        talk(f"Note: {text}.")
    if result["theta_rc"] < VERBATIM_ANGLE:
        talk("Note: the response copies the context, so the ratio only shows how small the angle is.")
    if as_json:
        import json

        cut = {text.field: {"tokens": text.tokens, "limit": text.limit} for text in truncated}
        typer.echo(json.dumps(result | ({"truncated": cut} if cut else {}), indent=2))
    else:
        typer.echo("SGI={sgi:.6f}  theta_rq={theta_rq:.6f}  theta_rc={theta_rc:.6f}".format(**result))
        if len(c) > 1:
            talk(f"The nearest to the response is context {int(result['context']) + 1} of {len(c)}.")


def _embedder_name(deployment: str | None, name: str | None, backend: str, precision: str) -> str:
    """What embeds the three texts; blank for the embedded model."""
    from sgi.kernel.errors import UsageError

    if deployment and name:
        raise UsageError("--deployment and --embedder contradict each other.")
    if deployment and (backend, precision) != ("auto", "auto"):
        raise UsageError("--deployment is Azure's; --backend and --precision are of models that run here.")
    named = [f"azure:{deployment}"] if deployment else [name] if name else None
    return "".join(chosen_embedders(named, None, backend=backend, precision=precision))
