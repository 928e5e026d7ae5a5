"""The result of `sgi.analysis.agreement.agree`: numbers and verdicts for each metric."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.short_repr import short_repr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sgi.analysis.labels import LabelKind
    from sgi.stats.agreement import Agreement, MeasurementScale, Weights
    from sgi.stats.intervals import Interval


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval.

    Attributes:
        value: the mean.
        interval: 95 %; None where the rows are too few.
        rows: how many it is over.
    """

    value: float
    interval: Interval | None
    rows: int


@dataclass(frozen=True)
class CorpusScore:
    """The mean over all rows with a value, in three ways.

    Attributes:
        naive: of the metric's scores, as if they were never wrong.
        labels: of the labels alone.
        corrected: of the scores of all rows, corrected by the labels (`prediction_powered_mean`).
        power: λ, the weight of the scores; 0 uses the labels alone.
    """

    naive: Estimate
    labels: Estimate
    corrected: Estimate
    power: float


@dataclass(frozen=True)
class MetricAgreement:
    """One metric compared with the labels.

    Attributes:
        metric: its canonical string.
        compared: what was compared with the labels; empty where nothing could be.
        rows: how many have both a label and a value.
        lacking: labelled rows without a value, by their status.
        threshold: from where on (or up to where, if lower is better) the metric says yes; None unless labels
            are yes or no.
        kappa: Cohen's κ; None where nothing could be compared.
        weights: what a disagreement costs in κ.
        alpha: Krippendorff's α; None where nothing could be compared.
        scale: what of the values counts in α.
        pearson: Pearson's correlation of values and labels; None unless they are numbers or grades.
        spearman: Spearman's rank correlation; None likewise.
        sensitivity: the share of rows labelled yes of which the metric says yes.
        specificity: the share of rows labelled no of which the metric says no.
        confusion: rows by label and by what the metric says, where both are names or yes and no.
        corpus: the score of all rows, corrected; None where labels are names.
        is_share: whether the corpus score can be read as percent.
        verdicts: the numbers in plain words.
        reason: why nothing could be compared; empty where it was.
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
    """A run's metrics compared with the labels of one column.

    Attributes:
        run: its name.
        column: the column of the labels.
        kind: what the labels are.
        rows: rows of the run that are done.
        labelled: rows with a label.
        metrics: in the run's order.
        notes: assumptions, and signs that they do not hold.
        signature: identifies what made the scores.
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
        """The report as JSON values."""
        return asdict(self)


def rate_verdicts(made: MetricAgreement) -> Iterator[str]:
    """What sensitivity, specificity and the corrected score mean.

    >>> half = Estimate(0.5, None, 4)
    >>> next(rate_verdicts(MetricAgreement("squad_em", 8, {}, sensitivity=half, specificity=half)))
    'It says yes to 50.0 % of the rows that people labelled no, and no to 50.0 % of those labelled yes.'
    """
    if made.sensitivity is not None and made.specificity is not None:
        wrong, missed = 1 - made.specificity.value, 1 - made.sensitivity.value
        yield (
            f"It says yes to {wrong * 100:.1f} % of the rows that people labelled no,"
            f" and no to {missed * 100:.1f} % of those labelled yes."
        )
    yield from _corpus_verdicts(made)


def number_verdicts(made: MetricAgreement, gaps: NDArray[np.float64]) -> Iterator[str]:
    """What the distances of a metric's values from the labels mean.

    >>> next(number_verdicts(MetricAgreement("groundedness", 2, {}), np.array([0.25, 0.0])))
    'It lies 0.125 above the labels on average; the mean distance is 0.125.'
    """
    mean, distance = float(gaps.mean()), float(np.abs(gaps).mean())
    side = "above" if mean >= 0 else "below"
    yield f"It lies {abs(mean):.3g} {side} the labels on average; the mean distance is {distance:.3g}."
    yield from _corpus_verdicts(made)


def class_verdicts(made: MetricAgreement) -> Iterator[str]:
    """What the classes given to rows mean.

    >>> said = {"b": {"a": 1, "b": 3}}
    >>> next(class_verdicts(MetricAgreement("factual_accuracy", 4, {}, confusion=said)))
    'It gives the class that people gave to 75.0 % of the rows; most often wrong: b called a (1 row).'
    """
    cells = [(rows, label, said) for label, found in made.confusion.items() for said, rows in found.items()]
    right = sum(rows for rows, label, said in cells if label == said)
    wrong = [cell for cell in cells if cell[1] != cell[2]]
    most = ""
    if wrong:
        rows, label, said = min(wrong, key=lambda cell: (-cell[0], cell[1], cell[2]))
        most = f"; most often wrong: {label} called {said} ({rows} row{'s' if rows > 1 else ''})"
    yield f"It gives the class that people gave to {right / made.rows * 100:.1f} % of the rows{most}."


def _corpus_verdicts(made: MetricAgreement) -> Iterator[str]:
    """Whether the mean score can be taken as it is."""
    corpus = made.corpus
    if corpus is None or corpus.corrected.interval is None or corpus.labels.rows == corpus.naive.rows:
        return
    found, naive = corpus.corrected.interval, corpus.naive.value
    shown = (
        f"{corpus.corrected.value * 100:.1f} %" if made.is_share else f"{corpus.corrected.value:.4g}",
        f"[{found.low * 100:.1f}, {found.high * 100:.1f}]"
        if made.is_share
        else f"[{found.low:.4g}, {found.high:.4g}]",
    )
    side = "above" if naive > found.high else "below"
    verdict = "is consistent with" if found.low <= naive <= found.high else f"is {side}"
    own = f"{naive * 100:.1f} %" if made.is_share else f"{naive:.4g}"
    yield f"Its own mean, {own}, {verdict} the mean label of all rows, estimated as {shown[0]} {shown[1]}."
