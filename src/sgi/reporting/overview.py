"""The overview of a run: one sentence, and at most four numbers with their change since the run before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label, pluralize, pluralize_part
from sgi.metrics.calibrated_metric import SPEC as CALIBRATED
from sgi.reporting.answers_to_check import evidence_sentences, reason_to_check, review_clause
from sgi.reporting.formatting import (
    QUALITY,
    MetricFormat,
    beginning,
    format_interval,
    format_mean,
    format_scaled,
    importance,
    main_metric,
)
from sgi.reporting.safe_text import one_line
from sgi.reporting.terminal_style import FAINT, HEADING, style_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sgi.analysis.compare import Verdict
    from sgi.engine.summary import MetricSummary
    from sgi.reporting.views.row_view import LowestRows, SampleView
    from sgi.reporting.views.run_view import Earlier

# The first of these metrics that a run has is the number of its card.
_RETRIEVAL = (
    *("hit_rate", "recall", "ndcg", "mrr", "map", "precision", "r_precision", "context_recall"),
    *("context_entity_recall", "context_relevance", "question_context_similarity"),
)
_COST = ("latency", "cost", "total_tokens")
# What the number does not say.
_CAUTIONS = {
    "grounding": "From 0 to 1; not a probability; long answers score lower.",
    CALIBRATED.name: "Holds for answers like the labelled ones.",
    "sgi": "Rises with word overlap too; compare it with the baselines.",
    "semantic_similarity": "Hardly falls for a wrong number or a missing “not”.",
    "completeness": "Other words count as missing; an opposite can count as stated.",
    "hit_rate": "Counts only passages that are marked as relevant.",
    "recall": "Counts only passages that are marked as relevant.",
    "question_context_similarity": "Similar passages need not have the answer.",
    "context_entity_recall": "Sees names, numbers and dates, no other words.",
    "latency": "As your system reported it.",
    "cost": "As your system reported it.",
    "total_tokens": "As your system reported them.",
}
_LONGEST = 400  # characters of a line in a terminal
_SIGNS = {"better": "▲", "worse": "▼"}
_COVERAGE = "Rows without a value count in no mean."


@dataclass(frozen=True)
class Change:
    """The change of a metric since an earlier run.

    Attributes:
        run: the id of the earlier run.
        label: its name, or its id.
        difference: the formatted difference; empty if the runs are not comparable.
        verdict: the verdict of `sgi.analysis.compare.compare`; empty if the difference was not tested.
        obstacle: why the runs are not comparable; empty if they are.
    """

    run: str
    label: str
    difference: str
    verdict: Verdict | Literal[""] = ""
    obstacle: str = ""

    @property
    def text(self) -> str:
        """The verdict with the difference, or why the runs are not comparable."""
        if self.obstacle:
            return f"not comparable: {self.obstacle}"
        return f"{self.verdict}: {self.difference}" if self.verdict else self.difference


@dataclass(frozen=True)
class Card:
    """One of the main numbers of a run, as the overview shows it.

    Attributes:
        title: what it is about: quality, retrieval, coverage, or cost.
        metric: canonical name of the metric; "" for the coverage.
        value: the formatted mean, or the share of rows.
        interval: the formatted 95 % interval, or a short remark in its place.
        change: None without an earlier run of the same data and metric.
        caution: what the number does not say.
    """

    title: str
    metric: str
    value: str
    interval: str
    change: Change | None
    caution: str


@dataclass(frozen=True)
class Overview:
    """One sentence that says what to do first, what supports it, and the most important numbers."""

    sentence: str
    cards: tuple[Card, ...]
    evidence: tuple[str, ...] = ()


def overview(metrics: Sequence[MetricSummary], earlier: Earlier | None, blank: int = 0) -> Overview:
    """Return the overview of a run with these metrics and this number of blank responses."""
    cards = [
        _metric_card(title, metric, earlier)
        for title, names in (("Quality", QUALITY), ("Retrieval", _RETRIEVAL))
        if (metric := _first(metrics, names)) is not None
    ]
    if not cards and metrics:
        cards = [_metric_card("Quality", metrics[0], earlier)]
    if metrics:
        cards.append(_coverage_card(metrics))
    cost = _first(metrics, _COST)
    if cost is not None:
        cards.append(_metric_card("Cost", cost, earlier))
    return Overview(overview_sentence(metrics, blank), tuple(cards), evidence(metrics))


def evidence(metrics: Iterable[MetricSummary]) -> tuple[str, ...]:
    """Return what labels say about the main metric of a run."""
    main = main_metric(metrics)
    return () if main is None else tuple(evidence_sentences(main))


def overview_sentence(metrics: Sequence[MetricSummary], blank: int = 0) -> str:
    """Join the findings of at most three metrics, most important first; without any, the mean of the first.

    Blank responses, if there are any, are the last clause.
    """
    by_name = _scored(metrics)
    clauses = [say(by_name[name]) for name, say in _CLAUSES.items() if name in by_name]
    said = [clause for clause in clauses if clause][:3]
    if by_name and not said:
        first = min(by_name.values(), key=lambda metric: importance(metric.metric))
        rows = pluralize(first.ok, "row")
        said = [f"the mean of {metric_label(first.metric)} is {format_mean(first)} for {rows}"]
    said = said or ["no row has a value"]
    if blank:
        said = [*said, f"{pluralize(blank, 'response is', 'responses are')} blank"]
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _scored(metrics: Iterable[MetricSummary]) -> dict[str, MetricSummary]:
    """Return the metrics with a value by name; of several with the same name, such as recall@3, the first."""
    by_name: dict[str, MetricSummary] = {}
    for metric in metrics:
        if metric.ok:
            by_name.setdefault(metric_name(metric.metric), metric)
    return by_name


def _first(metrics: Iterable[MetricSummary], names: Iterable[str]) -> MetricSummary | None:
    """Return the metric whose name comes first in the names and that has a value, if there is one."""
    by_name = _scored(metrics)
    return next((by_name[name] for name in names if name in by_name), None)


def _metric_card(title: str, metric: MetricSummary, earlier: Earlier | None) -> Card:
    interval = "no interval" if metric.interval is None else format_interval(metric)
    caution = _CAUTIONS.get(metric_name(metric.metric), "")
    return Card(title, metric.metric, format_mean(metric), interval, change_since(metric, earlier), caution)


def _coverage_card(metrics: Iterable[MetricSummary]) -> Card:
    least = min(metrics, key=lambda metric: metric.coverage)
    have = pluralize_part(least.ok, least.rows, "row", "has", "have")
    remark = f"{have} {metric_label(least.metric)}"
    return Card("Coverage", "", format_scaled(least.coverage, is_share=True), remark, None, _COVERAGE)


def change_since(metric: MetricSummary, earlier: Earlier | None) -> Change | None:
    """Return the change of a metric since an earlier run; None if there is no such run or value."""
    change = None if earlier is None else earlier.changes.get(metric.metric)
    if earlier is None or change is None or metric.mean is None:
        return None
    if change.obstacle:
        return Change(earlier.id, earlier.label, "", obstacle=change.obstacle)
    if change.difference is None:
        return None
    text = MetricFormat.of(metric.metric, metric.is_share).difference(change.difference, sign="+")
    return Change(earlier.id, earlier.label, text, change.verdict or "")


def _share(value: float) -> str:
    return f"{value * 100:.0f} %"


def _say_calibrated(metric: MetricSummary) -> str:
    passed = metric.class_shares.get("passed")
    passing = f"of {pluralize(metric.ok, 'answer')} {'passes' if metric.ok == 1 else 'pass'}"
    return "" if passed is None else f"{_share(passed)} {passing} the calibrated threshold"


def _say_judged(metric: MetricSummary) -> str:
    return f"the judge finds {format_mean(metric)} of the statements supported"


def _mean_share(text: str) -> Callable[[MetricSummary], str]:
    return lambda metric: "" if metric.mean is None else text.format(_share(metric.mean))


_CLAUSES: Mapping[str, Callable[[MetricSummary], str]] = {
    "grounding": review_clause,
    CALIBRATED.name: _say_calibrated,
    "faithfulness": _say_judged,
    "hit_rate": _mean_share("retrieval found a relevant passage for {} of the questions"),
    "recall": _mean_share("retrieval found {} of the relevant passages"),
    "needless_refusal": _mean_share("{} of the answerable questions were refused"),
}
"""What the metrics say in a sentence, the most important first."""


def overview_lines(overview: Overview, rows: Iterable[Text] = ()) -> Iterator[Text]:
    """Yield the sentence, rows, what supports the sentence, and the changes since the earlier run."""
    yield Text(one_line(overview.sentence, longest=_LONGEST), style=HEADING)
    yield from rows
    yield from (Text(one_line(line, longest=_LONGEST)) for line in overview.evidence)
    yield from (_change_line(card.metric, card.change) for card in overview.cards if card.change is not None)


def row_lines(
    lowest: LowestRows[SampleView],
    value_text: Callable[[float | None], str],
    width: int,
    *,
    questions: bool = False,
) -> Iterator[Text]:
    """Yield the rows, each with its id, value and label, then why it needs a check, cut to the width."""
    for sample in lowest.samples:
        head = Text("  ").append(one_line(sample.id, longest=width // 2), style=HEADING)
        head.append(sample.system and f"  {one_line(sample.system, longest=width // 4)}")
        head.append(f"  {metric_label(lowest.metric)} {value_text(sample.scores[lowest.metric].value)}")
        yield head if sample.label is None else head.append(f"  label {int(sample.label)}")
        if questions and sample.question:
            yield Text(f"    {one_line(beginning(sample.question), longest=width - 4)}", style=FAINT)
        yield Text(f"    {one_line(reason_to_check(sample, lowest.metric), longest=width - 4)}")


def _change_line(metric: str, change: Change) -> Text:
    sign = f"{_SIGNS[change.verdict]} " if change.verdict in _SIGNS else ""
    text = Text(one_line(f"{metric_label(metric)} since {one_line(change.label)}: ", longest=_LONGEST))
    return text.append(f"{sign}{change.text}", style_of(change.verdict))
