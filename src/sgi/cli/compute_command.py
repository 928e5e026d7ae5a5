"""``sgi compute``: computes the Semantic Grounding Index of one question, context and response."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_message
from sgi.cli.option_values import select_embedders
from sgi.kernel.errors import UsageError

Deployment = Annotated[
    str | None,
    typer.Option(help="Azure OpenAI deployment; the AZURE_OPENAI_… variables hold the endpoint and the key."),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        "-e",
        "--embedder",
        help="Embedder, see `sgi study models`. Default: Azure OpenAI if its variables are set, "
        "otherwise the bundled one.",
    ),
]


def compute(
    q: options.Question,
    c: options.Contexts,
    r: options.Response,
    deployment: Deployment = None,
    embedder: Embedder = None,
    long_texts: options.LongTexts = None,
    as_json: options.Json = False,
) -> None:
    """Compute the SGI of one question, context and response.

    Prints the SGI and its two angles in radians. With several contexts, the one nearest to the response is
    used, as in the metric `sgi`.

    If AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, in the environment or in a file .env in this
    folder, Azure OpenAI embeds the texts; otherwise the bundled model does, offline. Setting only one of them
    is an error. `sgi run` follows the same rule.

    With --long-texts truncate, a note on stderr, and `truncated` in the JSON, name the texts that exceed the
    limit of the model. If the response is nearly equal to the context, a note and `note` in the JSON say so.

    Examples:
      sgi compute --q "Who wrote Emma?" --c "Emma is a novel by Jane Austen." --r "Jane Austen."
      sgi compute --question "…" --context "…" --context "…" --response "…" --json
      sgi compute --q "…" --c "…" --r "…" --deployment text-embedding-3-large
    """
    from sgi.core import sgi_with_truncation
    from sgi.geometry.passages import VERBATIM_ANGLE
    from sgi.models.embedder.load_embedder import load_embedder
    from sgi.models.known_models import DEFAULT_MODEL

    if deployment and embedder:
        raise UsageError("Use --deployment or --embedder, not both.")
    named = [f"azure:{deployment}"] if deployment else [embedder] if embedder else None
    name = next(iter(select_embedders(named, None)), DEFAULT_MODEL)
    model = load_embedder(name, long_texts=long_texts or "windows")
    result, truncated = sgi_with_truncation(q, c if len(c) > 1 else c[0], r, model)
    for text in truncated:
        print_message(f"Note: {text}.")
    note = ""
    if result["theta_rc"] < VERBATIM_ANGLE:
        note = f"{_tiny_angle(r, c, is_cut=bool(truncated))}, so the ratio only reflects a tiny angle"
        print_message(f"Note: {note}.")
    if as_json:
        cut = {text.field: {"tokens": text.tokens, "limit": text.limit} for text in truncated}
        more = {"truncated": cut} if cut else {}
        typer.echo(json.dumps({**result, **more, **({"note": note} if note else {})}, indent=2))
    else:
        typer.echo("SGI={sgi:.6f}  theta_rq={theta_rq:.6f}  theta_rc={theta_rc:.6f}".format(**result))
        if len(c) > 1:
            print_message(f"Context {int(result['context']) + 1} of {len(c)} is nearest to the response.")


def _tiny_angle(response: str, contexts: list[str], *, is_cut: bool) -> str:
    """Say why the angle between the response and the nearest context is nearly 0."""
    if is_cut and response not in contexts:
        return "the parts of the response and the context that the model reads are nearly equal"
    return "the response copies the context"
