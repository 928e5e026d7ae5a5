"""Formats numbers, times, texts and values of metrics for reports, pages, Markdown and the terminal."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Self

from sgi.analysis.amounts import format_amount
from sgi.engine.review import FINDING
from sgi.kernel.errors import SgiError
from sgi.kernel.metric import COST_UNITS, PERCENT, Status
from sgi.kernel.registry import metric_class, metric_name
from sgi.kernel.short_text import pluralize
from sgi.metrics.calibrated_metric import SPEC as CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.metric import MetricSpec
    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.intervals import Interval
    from sgi.stats.ranking import Ranking

NOTHING = "–"
"""Placeholder for a missing number."""

_LEAST_P = 0.0001


def number(value: float | None, *, sign: str = "-", digits: int = 4) -> str:
    """Format a number with a fixed count of decimals; None gives a dash."""
    return NOTHING if value is None else f"{value:{sign}.{digits}f}"


def format_scaled(value: float | None, is_share: bool, *, unit: str = "%", sign: str = "-") -> str:
    """Format a share in [0, 1] as percent, and any other number unchanged; None gives a dash.

    ``unit`` is ``pp`` for differences of shares; ``sign="+"`` shows the sign of positive numbers.

    >>> format_scaled(0.25, True), format_scaled(0.25, False), format_scaled(0.25, True, unit="pp", sign="+")
    ('25.00 %', '0.2500', '+25.00 pp')
    """
    if value is None or not is_share:
        return number(value, sign=sign)
    return f"{value * 100:{sign}.2f} {unit}"


def span(interval: Interval | None, is_share: bool = False) -> str:  # noqa: FBT002 - Jinja filters pass it by position
    """Format both ends of an interval; an unknown end is ∞."""
    if interval is None:
        return NOTHING
    scale, digits = (100, 2) if is_share else (1, 4)
    low, high = (f"{end * scale:.{digits}f}".replace("inf", "∞") for end in (interval.low, interval.high))
    return f"[{low}, {high}]"


def format_mean(summary: MetricSummary, *, percent: bool = True) -> str:
    """Format the mean of a metric, or the total of a counting metric; shares as percent."""
    if summary.total is not None:
        return f"{summary.total:,.0f}"
    if summary.is_percentage and summary.mean is not None:
        return f"{summary.mean:.2f} %"
    if summary.unit and summary.mean is not None:
        return format_amount(summary.mean, summary.unit)
    return format_scaled(summary.mean, percent and summary.is_share)


def format_interval(summary: MetricSummary, *, percent: bool = True) -> str:
    """Format the interval of the mean in the unit that `format_mean` uses."""
    interval = summary.interval
    if interval is None:
        return NOTHING
    if summary.total is not None:
        return f"[{interval.low * summary.ok:,.1f}, {interval.high * summary.ok:,.1f}]"
    if summary.is_percentage:
        return f"[{interval.low:.2f}, {interval.high:.2f}]"
    if summary.unit:
        return f"[{format_amount(interval.low, summary.unit)}, {format_amount(interval.high, summary.unit)}]"
    return span(interval, percent and summary.is_share)


def format_extreme(value: float | None, summary: MetricSummary, *, percent: bool = True) -> str:
    """Format the best or worst value of a metric, in the unit that `format_mean` uses."""
    if summary.is_percentage and value is not None:
        return f"{value:.2f} %"
    if summary.unit and value is not None:
        return format_amount(value, summary.unit)
    return format_scaled(value, percent and summary.is_share)


def format_class(summary: MetricSummary, name: str) -> str:
    """Format the number of rows of a class, and their share of all rows with a class."""
    return format_count(summary.classes.get(name, 0), sum(summary.classes.values()))


def format_count(rows: int, total: int) -> str:
    """Format a number of rows and its share of all; 0 has no share."""
    return f"{rows:,} ({rows / total * 100:.1f} %)" if rows else "0"


def format_classes(summary: MetricSummary) -> str:
    """Format all classes of a metric with counts and shares, in the order of the metric."""
    return ", ".join(f"{name} {format_class(summary, name)}" for name in summary.classes)


def format_parts(summary: MetricSummary) -> str:
    """Format how many of the values of a composite metric contain each of its parts."""
    parts = ", ".join(f"{name} in {count:,}" for name, count in summary.parts.items())
    return f"of {pluralize(summary.ok, 'value')}, {parts}"


def format_percentiles(summary: MetricSummary) -> str:
    """Format the percentiles of a metric with their intervals and the unit."""
    return ", ".join(
        f"p{100 * each.share:.0f} {format_amount(each.value, summary.unit)} "
        f"[{format_amount(each.low, summary.unit)}, {format_amount(each.high, summary.unit)}]"
        for each in summary.percentiles
    )


def calibration_hint(metric: str) -> str:
    """Return a hint with the command that calibrates a score on a run with labelled rows."""
    command = f"sgi judge calibrate RUN -m {shlex.quote(metric)}"
    return f"{metric} is a score, not a probability. To calibrate it on a run with labelled rows: {command}"


def format_difference(difference: AurocDifference | None) -> str:
    """Format a difference of AUROCs with its interval; None gives an empty text.

    >>> from sgi.stats.auroc_difference import AurocDifference
    >>> format_difference(AurocDifference(0.1, None, 9))
    '+0.100'
    """
    if difference is None:
        return ""
    interval = difference.interval
    limits = "" if interval is None else f" [{interval.low:+.3f}, {interval.high:+.3f}]"
    return f"{difference.value:+.3f}{limits}"


def format_ranking(ranking: Ranking) -> list[str]:
    """Format AUROC, its interval, and the number of rows of each label."""
    interval = ranking.interval
    interval_text = NOTHING if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"
    return [f"{ranking.auroc:.3f}", interval_text, f"{ranking.positives:,} / {ranking.negatives:,}"]


def missing_values(summary: MetricSummary, rows: int) -> str:
    """Format the counts of rows without a value by status; the text is empty if there are none."""
    gaps = [
        f"{summary.counts[s]:,} {s.value}" for s in Status if s is not Status.OK and summary.counts.get(s)
    ]
    left = rows - summary.rows
    return ", ".join([*gaps, f"{left:,} not scored"] if left > 0 else gaps)


def probability(p: float | None) -> str:
    """Format a p-value; a value below 0.0001 is given as an upper bound.

    >>> probability(0.03125), probability(0.00001), probability(None)
    ('0.0312', '< 0.0001', '–')
    """
    if p is None:
        return NOTHING
    return f"{p:.4f}" if p >= _LEAST_P else f"< {_LEAST_P}"


def moment(time: str | None) -> str:
    """Format a stored time to the second.

    >>> moment("2026-01-01T12:00:00.123+00:00"), moment(None)
    ('2026-01-01 12:00:00 UTC', '–')
    """
    return f"{time[:19].replace('T', ' ')} UTC" if time else NOTHING


def beginning(text: str, longest: int = 160) -> str:
    r"""Return the start of a text on one line.

    >>> beginning("one\n two", 5), beginning("  one ")
    ('one …', 'one')
    """
    line = " ".join(text[: 4 * longest].split())
    cut = len(line) > longest or len(text) > 4 * longest
    return f"{line[: longest - 1]}…" if cut else line


def shorten(text: str, longest: int) -> str:
    """Cut a text to at most ``longest`` characters, and add its full length if it is cut.

    >>> shorten("abc", 3), shorten("abcd", 3)
    ('abc', 'abc … (3 of 4 characters)')
    """
    if len(text) <= longest:
        return text
    return f"{text[:longest]} … ({longest:,} of {len(text):,} characters)"


QUALITY = (
    CALIBRATED.name,
    *("faithfulness", "groundedness", "grounding", "factual_accuracy", "answer_correctness"),
    *("semantic_similarity", "reference_aggregate", "squad_token_f1", "rouge_l", "sgi", "sgi_bounded"),
)
"""Metrics of the quality of answers, the most important first."""


def main_metric(metrics: Iterable[MetricSummary]) -> MetricSummary | None:
    """Return the metric that selects the answers to check: one with findings, or the most important one."""
    scored = [metric for metric in metrics if metric.ok]
    return min(scored, key=lambda one: (one.review is None, importance(one.metric)), default=None)


def importance(metric: str) -> int:
    """Return the rank of a metric by its importance for the quality of answers; 0 is the most important."""
    name = metric_name(metric)
    return QUALITY.index(name) if name in QUALITY else len(QUALITY)


def share_of_range(metric: str, value: float | None) -> float | None:
    """Return the position of a value in the finite range of its metric, from 0 to 1; None if infinite.

    >>> share_of_range("rouge_l", 0.25), share_of_range("sgi", 0.25), share_of_range("unknown", 0.25)
    (0.25, None, None)
    """
    spec = _spec(metric)
    if value is None or spec is None:
        return None
    is_finite = isfinite(spec.low) and isfinite(spec.high) and spec.low < spec.high
    return (value - spec.low) / (spec.high - spec.low) if is_finite else None


def is_higher_better(metric: str) -> bool:
    """Return whether higher values of a metric are better; true for a metric that is not known here."""
    spec = _spec(metric)
    return spec is None or spec.higher_is_better


def has_findings(metric: str) -> bool:
    """Return whether the details of a metric have a finding for each row."""
    spec = _spec(metric)
    return spec is not None and spec.category == FINDING


def _spec(metric: str) -> MetricSpec | None:
    try:
        return metric_class(metric_name(metric)).spec
    except SgiError:  # a metric of a plugin or definition that is not known here
        return None


@dataclass(frozen=True)
class MetricFormat:
    """Formats the numbers of one metric: latency, tokens and cost with their unit, shares in percent.

    ``unit`` is the unit of the metric; ``is_share`` says whether to display it in percent. A metric from 0 to
    100 is always in percent.

    >>> form = MetricFormat("ms", is_share=False)
    >>> form.value(1250.4), form.difference(-3.25)
    ('1,250 ms', '-3.2 ms')
    """

    unit: str
    is_share: bool

    @classmethod
    def of(cls, metric: str, is_share: bool) -> Self:
        """Return the format of a metric by its canonical string; without a unit if it is not installed."""
        spec = _spec(metric)
        return cls("" if spec is None else spec.unit, is_share)

    def value(self, value: float | None) -> str:
        """Format a value or a mean; None is a dash."""
        return self._number(value, "%", "-")

    def difference(self, value: float | None, *, sign: str = "-") -> str:
        """Format a difference of two values; ``sign="+"`` shows the sign of positive numbers."""
        return self._number(value, "pp", sign)

    def interval(self, interval: Interval | None) -> str:
        """Format both ends of an interval."""
        if interval is not None and self.unit == PERCENT:
            return span(replace(interval, low=interval.low / 100, high=interval.high / 100), is_share=True)
        if interval is None or self.unit not in COST_UNITS:
            return span(interval, self.is_share)
        return f"[{self.value(interval.low)}, {self.value(interval.high)}]"

    def _number(self, value: float | None, unit: str, sign: str) -> str:
        if value is not None and self.unit == PERCENT:
            return format_scaled(value / 100, is_share=True, unit=unit, sign=sign)
        if value is None or self.unit not in COST_UNITS:
            return format_scaled(value, self.is_share, unit=unit, sign=sign)
        return format_amount(value, self.unit, sign=sign)
