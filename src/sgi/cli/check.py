"""``sgi check``: is one answer supported by its passages, sentence by sentence?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli.options import (
    BackendOption,
    EmbedderOption,
    JsonOption,
    NliOption,
    PrecisionOption,
    chosen_embedders,
    with_entailment,
)

if TYPE_CHECKING:
    from sgi.report.views.support import SupportView

_NOT_MET = 4  # as `sgi gate`
_LIKELY = 0.5
_WAY_OUT = "It takes an answer that states something (--r) and a passage that is not blank (--c), in English."


def check(
    c: Annotated[list[str], typer.Option("--c", help="A passage that was retrieved; once for each.")],
    r: Annotated[str, typer.Option("--r", help="The response.")],
    q: Annotated[str, typer.Option("--q", help="The question, where there is one.")] = "",
    fail_under: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Exit with 4 where the probability is below, or has no value."),
    ] = None,
    nli: NliOption = None,
    embedder: EmbedderOption = None,
    backend: BackendOption = "auto",
    precision: PrecisionOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Say how likely an answer is supported by its passages, and what in it is not.

    Each sentence has its probability, the passage that backs it best, and its numbers, dates and names with
    what the passages have of them. Stretches that no passage backs stand in square brackets. The probability
    holds where supported and unsupported answers are equally frequent; see `sgi calibrate` for your own data.

    With --json: grounding, the probability or null; status, and reason where there is none; and what it was
    made of: signals with their value and part in the log odds; sentences with their place in the answer,
    probability (supported), best passage, similarity to each of passages, unbacked stretches and checks; the
    passages unused. Places and passages count from 0.

    Examples:

      sgi check --q "How tall is it?" --c "The tower is 330 m tall." --r "It is 312 m tall."

      sgi check --c "$(cat passage.txt)" --c "$(cat other.txt)" --r "$(cat answer.txt)" --fail-under 0.5

      sgi check --c "The tower is 330 m tall." --r "It is 330 m tall." --json
    """
    from sgi.cli.console import print_json, print_lines
    from sgi.engine.evaluate import evaluate
    from sgi.kernel.sample import Sample
    from sgi.report.views.support import support_view

    sample = Sample(id="answer", question=q, contexts=tuple(c), response=r)
    (metric,) = with_entailment(["grounding"], nli)
    scores = evaluate([sample], metric, _embedders(embedder, metric, backend, precision))[metric]
    value = float(scores.values[0]) if scores.ok[0] else None
    if as_json:
        told: dict[str, Any] = {"grounding": value, "status": scores.status[0], "reason": scores.reasons[0]}
        print_json(told | dict(scores.details[0]))
    elif value is None:
        print_lines([f"No value: {scores.reasons[0]}. {_WAY_OUT}"])
    else:
        found = support_view(scores.details[0], c)
        assert found is not None  # noqa: S101 - a value of this metric comes with its map
        _tell(value, found)
    if fail_under is not None and (value is None or value < fail_under):
        raise typer.Exit(_NOT_MET)


def _embedders(names: list[str] | None, metric: str, backend: str, precision: str) -> Any:
    from sgi.embed.load import load_embedder
    from sgi.embed.models import DEFAULT_MODEL

    chosen = chosen_embedders(names, [metric], backend=backend, precision=precision)
    if (backend, precision) == ("auto", "auto"):
        return chosen
    return [load_embedder(name, backend=backend, precision=precision) for name in chosen or [DEFAULT_MODEL]]


def _tell(value: float, found: SupportView) -> None:
    """Print the verdict and the evidence."""
    from rich.console import Console
    from rich.text import Text

    from sgi.cli.support_lines import support_lines

    console = Console(highlight=False, soft_wrap=True)
    style = "bold green" if value >= _LIKELY else "bold red"
    console.print(Text(f"supported with probability {value:.2f}", style=style))
    for line in support_lines(found, width=console.width):
        console.print(line)
