"""``sgi check``: score how well passages support one answer, sentence by sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sgi.cli import options
from sgi.cli.console import is_styled, print_json, print_lines
from sgi.cli.option_values import scored_metrics, select_embedders
from sgi.cli.run_options import Values, with_run_options
from sgi.kernel.short_text import metric_label
from sgi.reporting.formatting import calibration_hint
from sgi.reporting.formatting import number as number_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Sample
    from sgi.metrics.citations.citation_map import CitationMap

Metric = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help="Also print this metric, or several separated by commas; repeatable. It needs no judge and no "
        "other columns than --q, --c and --r.",
        autocompletion=options.complete_metric,
    ),
]
_NOT_MET = 4  # the exit code of a failed gate
_HINT = "Give an answer that states something (--r) and a passage that is not blank (--c), in English."


@with_run_options("define", "nli", "nli_band", "embedders", "long_texts")
def check(
    values: Values,
    c: options.Contexts,
    r: options.Response,
    q: options.Question = "",
    fail_under: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Exit with 4 if the score is lower or missing.")
    ] = None,
    metric: Metric = None,
    as_json: options.Json = False,
) -> None:
    """Score how well passages support one answer, and show what they do not support.

    The support score is from 0 to 1; higher means better supported. It is not a probability; to get one,
    fit a calibration on your labelled rows with `sgi judge calibrate`. For each sentence you see its score,
    its best passage, and its numbers, dates and names with what the passages say. Unsupported parts are in
    square brackets. Citation markers, such as [1], are checked too, and have the sign of their verdict.

    With --json you get: grounding, the score or null; status; reason, if there is no score; signals, the
    features that the score combines, each with its value and its contribution in log odds; sentences, each
    with its position in the answer, score, best passage, unsupported parts, and checks of numbers, dates and
    names; passages; unused, the passages that support no sentence; and citation_map, if the answer has
    citation markers; and metrics, the values of -m and --define. Positions and passages count from 0.

    Examples:
      sgi check --q "How tall is it?" --c "The tower is 330 m tall." --r "It is 312 m tall."
      sgi check --c "$(cat passage.txt)" --c "$(cat other.txt)" --r "$(cat answer.txt)" --fail-under 0.5
      sgi check --c "The tower is 330 m tall." --r "It is 330 m tall." --json
      sgi check --c "The tower is 330 m tall." --r "It is 330 m tall." -m "contains(text='330')"
    """
    from sgi.kernel.sample import Sample

    answer = check_answer(Sample(id="answer", question=q, contexts=tuple(c), response=r), values, metric)
    if as_json:
        print_json(answer.facts())
    else:
        _print(answer.scores, c, answer.citations)
        _print_further(answer.further)
    value = _value(answer.scores)
    if fail_under is not None and (value is None or value < fail_under):
        raise typer.Exit(_NOT_MET)


class CheckedAnswer(NamedTuple):
    """The scores of an answer.

    Attributes:
        scores: those of ``grounding``.
        citations: the verdicts of citation markers; None if there are none.
        cited: the names of the metrics of citations; empty for an answer without markers.
        further: the scores of the metrics that were asked for, by canonical string.
    """

    scores: Scores
    citations: CitationMap | None
    cited: Sequence[str]
    further: Mapping[str, Scores]

    def facts(self) -> dict[str, Any]:
        """Return the facts of the answer as JSON values."""
        facts = _facts(self.scores, "grounding") | dict(self.scores.details[0])
        if self.cited:
            facts["citation_map"] = None if self.citations is None else self.citations.model_dump(mode="json")
        if self.further:
            facts["metrics"] = {name: _facts(other, "value") for name, other in self.further.items()}
        return facts


def check_answer(sample: Sample, values: Values, metric: list[str] | None = None) -> CheckedAnswer:
    """Score an answer; ``metric`` are further metrics, ``values`` options of a run."""
    from sgi.engine.evaluate import evaluate
    from sgi.engine.open_resources import given_options
    from sgi.engine.plan import merge_metrics
    from sgi.metrics.citations.citation_map import first_citation_map
    from sgi.text.citation_markers import find_markers

    names = ("grounding", "citation_recall") if find_markers(sample.response or "") else ("grounding",)
    entailment = {name: values.pop(name, None) for name in ("nli", "nli_band")}
    chosen = given_options({"metrics": names, **entailment}, source="the command line")
    grounding, *others = chosen.metrics or ()
    further = scored_metrics(metric, values.get("define")) or ()
    metrics = merge_metrics(chosen.named_metrics or (), further)
    embedders = select_embedders(values.pop("embedders", None), metrics)
    result = evaluate([sample], metrics, embedders or None, **values)
    citations = first_citation_map(result[other].details[0] for other in others)
    return CheckedAnswer(
        result[grounding], citations, others, {one.canonical: result[one.canonical] for one in further}
    )


def _value(scores: Scores) -> float | None:
    return float(scores.values[0]) if scores.ok[0] else None


def _facts(scores: Scores, name: str) -> dict[str, Any]:
    return {name: _value(scores), "status": scores.status[0], "reason": scores.reasons[0]}


def _print_further(further: Mapping[str, Scores]) -> None:
    if further:
        print_lines(["", *(_metric_line(name, scores) for name, scores in further.items())])


def _metric_line(metric: str, scores: Scores) -> str:
    value = number_text(scores.values[0]) if scores.ok[0] else f"no value: {scores.reasons[0]}"
    return f"{metric_label(metric)}  {value}"


def _print(scores: Scores, contexts: Sequence[str], citations: CitationMap | None) -> None:
    from rich.console import Console
    from rich.text import Text

    from sgi.metrics.grounding.evidence_map import EvidenceMap
    from sgi.metrics.grounding.language_tables import ENGLISH
    from sgi.reporting.answers_to_check import unmeasured_languages
    from sgi.reporting.evidence_lines import map_lines
    from sgi.reporting.terminal_style import FAINT, HEADING, bar, style_of
    from sgi.reporting.views.evidence_view import LOW_SCORE, citation_view, evidence_view

    value, evidence = _value(scores), EvidenceMap.read(scores.details[0])
    if value is None or evidence is None:
        print_lines([f"No value: {scores.reasons[0]}. {_HINT}"])
        return
    style = f"{HEADING} {style_of('bad' if value < LOW_SCORE else 'good')}"
    score = Text.assemble((f"support score {value:.2f} (0 to 1, not a probability)", style))
    print_lines([score.append(" ").append_text(bar(value)) if is_styled(Console()) else score])
    view = evidence_view(evidence, contexts, citations)
    print_lines(map_lines(view if citations is None else replace(view, legend=())))
    if citations is not None:  # this map has the legend
        print_lines(["", *map_lines(citation_view(citations))])
    language = evidence.language
    other = [] if language == ENGLISH else [Text(unmeasured_languages({language: 1}), style=FAINT)]
    print_lines(["", *other, Text(calibration_hint("grounding"), style=FAINT)])
