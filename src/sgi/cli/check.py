"""``sgi check``: is one answer supported by its passages, sentence by sentence?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli.options import BackendOption, EmbedderOption, JsonOption, PrecisionOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from sgi.metrics.support.evidence_map import EvidenceMap, FactEvidence, SentenceEvidence

_NOT_MET = 4  # as `sgi gate`
_MARKS = {"supported": "✓", "absent": "?", "contradicted": "✗"}
_STYLES = {"supported": "green", "absent": "yellow", "contradicted": "red"}
_DOUBTFUL = 0.5
_QUOTED = 160


def check(
    c: Annotated[list[str], typer.Option("--c", help="A passage that was retrieved; once for each.")],
    r: Annotated[str, typer.Option("--r", help="The response.")],
    q: Annotated[str, typer.Option("--q", help="The question, where there is one.")] = "",
    fail_under: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Exit with 4 where the probability is below, or has no value."),
    ] = None,
    embedder: EmbedderOption = None,
    backend: BackendOption = "auto",
    precision: PrecisionOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Say how likely an answer is supported by its passages, and what in it is not.

    Each sentence has its probability, the passage that backs it best, and its numbers, dates and names with
    what the passages have of them. Stretches that no passage backs stand in [brackets]. The probability holds
    where supported and unsupported answers are equally frequent; see `sgi calibrate` for your own data.

    Examples:

      sgi check --q "How tall is it?" --c "The tower is 330 m tall." --r "It is 312 m tall."

      sgi check --c "$(cat passage.txt)" --c "$(cat other.txt)" --r "$(cat answer.txt)" --fail-under 0.5

      sgi check --c "…" --r "…" --json
    """
    from sgi.cli.console import print_json
    from sgi.engine.evaluate import evaluate
    from sgi.kernel.sample import Sample
    from sgi.metrics.support.evidence_map import EvidenceMap

    sample = Sample(id="answer", question=q, contexts=tuple(c), response=r)
    scores = evaluate([sample], "grounding", _embedders(embedder, backend, precision))["grounding"]
    value = float(scores.values[0]) if scores.ok[0] else None
    if as_json:
        told: dict[str, Any] = {"grounding": value, "status": scores.status[0], "reason": scores.reasons[0]}
        print_json(told | dict(scores.details[0]))
    elif value is None:
        typer.echo(f"No value: {scores.reasons[0]}.")
    else:
        _tell(value, EvidenceMap.model_validate(dict(scores.details[0])), c)
    if fail_under is not None and (value is None or value < fail_under):
        raise typer.Exit(_NOT_MET)


def _embedders(names: list[str] | None, backend: str, precision: str) -> Any:
    from sgi.embed.load import load_embedder
    from sgi.embed.models import DEFAULT_MODEL

    if (backend, precision) == ("auto", "auto"):
        return names
    return [load_embedder(name, backend=backend, precision=precision) for name in names or [DEFAULT_MODEL]]


def _tell(value: float, found: EvidenceMap, passages: list[str]) -> None:
    """Print the verdict and the evidence."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for line in _lines(value, found, passages):
        console.print(line)


def _lines(value: float, found: EvidenceMap, passages: list[str]) -> Iterator[Text]:
    from rich.text import Text

    yield Text(f"supported with probability {value:.2f}", style=_style(value))
    for number, sentence in enumerate(found.sentences, start=1):
        yield Text("")
        yield _sentence(number, sentence)
        if sentence.supported is not None:
            nearest = max(sentence.similarity, default=0.0)
            beside = _cut(sentence.beside)
            yield Text(f"     passage {sentence.passage + 1}, similarity {nearest:.2f}: {beside}", style="dim")
        yield from map(_fact, sentence.checks)
    for position in found.unused:
        yield Text(f"\nNo sentence rests on passage {position + 1}: {_cut(passages[position])}", style="dim")
    yield Text("\nfor and against, in log odds: " + _signals(found), style="dim")


def _sentence(number: int, sentence: SentenceEvidence) -> Text:
    """The sentence with its probability, and what is unbacked in brackets."""
    from rich.text import Text

    from sgi.cli.console import plain

    chance = "  – " if sentence.supported is None else f"{sentence.supported:.2f}"
    style = "dim" if sentence.supported is None else _style(sentence.supported)
    line = Text.assemble((f"{number:>2}  {chance}  ", style))
    at = 0
    for first, last in sentence.unbacked:
        start, end = first - sentence.start, last - sentence.start
        line.append(plain(sentence.text[at:start]))
        line.append(f"[{plain(sentence.text[start:end])}]", style="red")
        at = end
    line.append(plain(sentence.text[at:]))
    return line


def _fact(check: FactEvidence) -> Text:
    from rich.text import Text

    mark = f"     {_MARKS[check.verdict]} {check.kind} {_cut(check.fact)}"
    if check.verdict == "contradicted" and check.passage is not None:
        mark += f": passage {check.passage + 1} has {_cut(check.found)} ({check.how})"
    elif check.verdict == "absent":
        mark += ": in no passage"
    elif check.passage is None:
        mark += ": the question has it"
    else:
        mark += f": passage {check.passage + 1} ({check.how})"
    return Text(mark, style=_STYLES[check.verdict])


def _signals(found: EvidenceMap) -> str:
    parts = sorted(found.signals.items(), key=lambda item: item[1].log_odds)
    return ", ".join(f"{name} {part.log_odds:+.2f}" for name, part in parts)


def _cut(text: str) -> str:
    from sgi.cli.console import one_line

    return one_line(text, longest=_QUOTED)


def _style(value: float) -> str:
    return "bold green" if value >= _DOUBTFUL else "bold red"
