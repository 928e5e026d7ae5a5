"""The result of `sgi.analysis.agreement.agree`: numbers and verdicts for each metric."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.short_text import short_repr
from sgi.stats.two_samples import UNLIKELY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sgi.analysis.labels import LabelKind
    from sgi.stats.agreement import Agreement, MeasurementScale, Weights
    from sgi.stats.intervals import Interval
    from sgi.stats.prediction_powered import LabelPlan
    from sgi.stats.two_samples import TwoSamples


_USEFUL = 0.95
"""Labels are useful if they make an interval narrower than this share of its width."""


@dataclass(frozen=True)
class Estimate:
    """A mean, its 95 % interval (None with too few rows), and the number of rows."""

    value: float
    interval: Interval | None
    rows: int


@dataclass(frozen=True)
class CorpusScore:
    """Three estimates of the mean over all rows with a value.

    Attributes:
        naive: the mean score.
        labels: the mean label.
        corrected: the mean score, corrected by the labels (`prediction_powered_mean`).
        power: λ, the weight of the scores; 0 uses only the labels.
        plan: how many more labels an interval of ± 5 % of the range needs; None if it is not known yet.
        sampling: comparison of the scores of the labelled rows with the scores of the other rows; None with
            too few.
    """

    naive: Estimate
    labels: Estimate
    corrected: Estimate
    power: float
    plan: LabelPlan | None = None
    sampling: TwoSamples | None = None

    @property
    def random(self) -> bool:
        """Whether the scores of the labelled rows are consistent with a random sample of all rows."""
        return self.sampling is None or self.sampling.p > UNLIKELY


@dataclass(frozen=True)
class MetricAgreement:
    """Agreement of one metric with the labels. A value is None if it does not apply or cannot be computed.

    Attributes:
        metric: its canonical string.
        rows: number of rows with a label and a value.
        lacking: number of labelled rows without a value, by the status of their scores.
        compared: what is compared with the labels; empty if nothing could be compared.
        threshold: score from which on the metric's verdict is yes.
        kappa: Cohen's κ.
        weights: weights of disagreements in κ.
        alpha: Krippendorff's α.
        scale: level of measurement in α.
        pearson: Pearson's correlation, for labels that are numbers or grades.
        spearman: Spearman's rank correlation, likewise.
        sensitivity: share of the rows labelled yes that the metric calls yes.
        specificity: share of the rows labelled no that the metric calls no.
        confusion: number of rows by label and by the metric's class or verdict.
        corpus: means over all rows; None if the labels are names of classes.
        is_share: whether the mean can be printed as percent.
        verdicts: sentences about the numbers.
        reason: why nothing could be compared; empty if something was.
    """

    metric: str
    rows: int
    lacking: Mapping[str, int]
    compared: str = ""
    threshold: float | None = None
    kappa: Agreement | None = None
    weights: Weights = "nominal"
    alpha: Agreement | None = None
    scale: MeasurementScale = "nominal"
    pearson: Agreement | None = None
    spearman: Agreement | None = None
    sensitivity: Estimate | None = None
    specificity: Estimate | None = None
    confusion: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    corpus: CorpusScore | None = None
    is_share: bool = False
    verdicts: tuple[str, ...] = ()
    reason: str = ""

    __repr__ = short_repr


@dataclass(frozen=True)
class AgreementReport:
    """Agreement of the metrics of a run with one column of labels.

    Attributes:
        rows: number of scored rows.
        labelled: number of rows with a label.
        notes: assumptions, and signs that they are violated.
        signature: provenance of the scores, for printing.
    """

    run: str
    column: str
    kind: LabelKind
    rows: int
    labelled: int
    metrics: tuple[MetricAgreement, ...]
    notes: tuple[str, ...]
    signature: str

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


def rate_verdicts(result: MetricAgreement) -> Iterator[str]:
    """Describe sensitivity, specificity and the corrected mean of a yes/no metric in words.

    >>> half = Estimate(0.5, None, 4)
    >>> next(rate_verdicts(MetricAgreement("squad_em", 8, {}, sensitivity=half, specificity=half)))
    'False positive rate 50.0 % (labelled no, metric yes); false negative rate 50.0 %.'
    """
    if result.sensitivity is not None and result.specificity is not None:
        wrong, missed = 1 - result.specificity.value, 1 - result.sensitivity.value
        yield (
            f"False positive rate {wrong * 100:.1f} % (labelled no, metric yes);"
            f" false negative rate {missed * 100:.1f} %."
        )
    yield from _corpus_verdicts(result)


def number_verdicts(result: MetricAgreement, gaps: NDArray[np.float64]) -> Iterator[str]:
    """Describe the differences between the values of a metric and the labels.

    >>> next(number_verdicts(MetricAgreement("groundedness", 2, {}), np.array([0.25, 0.0])))
    'On average 0.125 above the labels; mean absolute difference 0.125.'
    """
    mean, distance = float(gaps.mean()), float(np.abs(gaps).mean())
    side = "above" if mean >= 0 else "below"
    yield f"On average {abs(mean):.3g} {side} the labels; mean absolute difference {distance:.3g}."
    yield from _corpus_verdicts(result)


def class_verdicts(result: MetricAgreement) -> Iterator[str]:
    """Describe how well the classes of a metric agree with the labels.

    >>> confusion = {"b": {"a": 1, "b": 3}}
    >>> next(class_verdicts(MetricAgreement("factual_accuracy", 4, {}, confusion=confusion)))
    'Same class as the label in 75.0 % of the rows; most frequent error: b classified as a (1 row).'
    """
    cells = [(rows, label, name) for label, row in result.confusion.items() for name, rows in row.items()]
    right = sum(rows for rows, label, name in cells if label == name)
    wrong = [cell for cell in cells if cell[1] != cell[2]]
    most = ""
    if wrong:
        rows, label, name = min(wrong, key=lambda cell: (-cell[0], cell[1], cell[2]))
        most = f"; most frequent error: {label} classified as {name} ({rows} row{'s' if rows > 1 else ''})"
    yield f"Same class as the label in {right / result.rows * 100:.1f} % of the rows{most}."


def _corpus_verdicts(result: MetricAgreement) -> Iterator[str]:
    corpus = result.corpus
    if corpus is None or corpus.corrected.interval is None or corpus.labels.rows == corpus.naive.rows:
        return
    low, high = corpus.corrected.interval.low, corpus.corrected.interval.high
    naive, mean = corpus.naive.value, corpus.corrected.value
    if result.is_share:
        numbers = f"{naive * 100:.1f} %", f"{mean * 100:.1f} % [{low * 100:.1f}, {high * 100:.1f}]"
    else:
        numbers = f"{naive:.4g}", f"{mean:.4g} [{low:.4g}, {high:.4g}]"
    verdict = "is consistent with" if low <= naive <= high else "is above" if naive > high else "is below"
    yield f"The mean score, {numbers[0]}, {verdict} the estimated mean label of all rows, {numbers[1]}."
    yield from label_advice(corpus, is_share=result.is_share)


def label_advice(corpus: CorpusScore, *, is_share: bool) -> Iterator[str]:
    """Say how many more labels are useful.

    >>> from sgi.stats.prediction_powered import LabelPlan
    >>> half = Estimate(0.5, None, 40)
    >>> next(label_advice(CorpusScore(half, half, half, 0.5, LabelPlan(40, 0.1, 110, 0.05)), is_share=True))
    'The interval is about ± 10.0 pp; 110 more labels of random rows make it about ± 5.0 pp.'
    >>> next(label_advice(CorpusScore(half, half, half, 0.5, LabelPlan(46, 0.14, 4, 0.139)), is_share=True))
    'The interval is about ± 14.0 pp. More labels of this run narrow it by under 5 %; score more rows.'
    """
    plan = corpus.plan
    if not corpus.random:
        yield (
            "The labelled rows are not a random sample, so the corrected mean may be wrong. "
            "Label random rows."
        )
        return
    if plan is None:
        return
    now, then = (
        f"± {width * 100:.1f} pp" if is_share else f"± {width:.3g}"
        for width in (plan.half_width, plan.final_half_width)
    )
    if not plan.more:
        yield f"The interval is about {now}; you need no more labels."
    elif plan.final_half_width > _USEFUL * plan.half_width:
        yield f"The interval is about {now}. More labels of this run narrow it by under 5 %; score more rows."
    else:
        labels = (
            "1 more label of a random row makes"
            if plan.more == 1
            else f"{plan.more:,} more labels of random rows make"
        )
        yield f"The interval is about {now}; {labels} it about {then}."
