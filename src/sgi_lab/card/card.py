"""The data of a detector card: numbers with intervals, controls, and verdicts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.engine.summary import NotebookRepr
from sgi.kernel.short_text import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.analysis.agreement.report import Estimate
    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.calibration import Brier, Reliability
    from sgi.stats.confounds import Baseline, PermutationControl, StratifiedAuroc
    from sgi.stats.ranking import Ranking


SIGNIFICANT = 0.05


@dataclass(frozen=True)
class ShuffledControl:
    """AUROC of the same detector if each answer has the contexts of another question.

    Attributes:
        ranking: None if it was not measured.
        difference: AUROC with the right contexts minus AUROC with shuffled ones, over the same rows.
        reason: why it was not measured; empty if it was.
    """

    ranking: Ranking | None
    difference: AurocDifference | None = None
    reason: str = ""


@dataclass(frozen=True)
class MatchedControl:
    """AUROC over rows matched by a variable such as length, which then has the same values in both classes.

    Attributes:
        width: width of the bins within which rows are matched; 0 if only equal values match.
        pairs: number of rows of each class.
        ranking: AUROC of the score over these rows.
        baselines: AUROC of the trivial scores over these rows, in their direction on all rows.
        differences: AUROC of the score minus the AUROC of each baseline, by name, over rows that have both.
        shuffled: the same detector with contexts of other questions, over these rows.
    """

    width: float
    pairs: int
    ranking: Ranking
    baselines: tuple[Baseline, ...]
    differences: Mapping[str, AurocDifference]
    shuffled: ShuffledControl


@dataclass(frozen=True)
class Subgroup:
    """The rows with one value of a column.

    ``base_rate`` is the share of grounded rows; ``ranking`` is None if a class is absent.
    """

    column: str
    value: str
    rows: int
    base_rate: float
    ranking: Ranking | None


@dataclass(frozen=True)
class Calibration:
    """Quality of out-of-fold probabilities that an answer is grounded.

    Probabilities are rounded to two digits, because the parts of a Brier score are not informative if every
    row has its own probability.

    Attributes:
        method: ``platt``, ``isotonic``, or ``base rate``, which ignores the score.
        error_of_width: expected calibration error over ten bins of equal width.
        error_of_mass: the same over ten bins of equally many rows.
        brier: the Brier score and its parts.
        gain: Brier score of the base rate minus the Brier score of this method; None for the base rate.
        reliability: predicted and observed frequency in bins of equally many rows.
    """

    method: str
    error_of_width: float
    error_of_mass: float
    brier: Brier
    gain: Estimate | None
    reliability: Reliability


@dataclass(frozen=True)
class WithinGroups:
    """AUROC within the groups of a categorical column, and of the column alone.

    A score can rank all rows well only because it separates groups with different labels (Simpson's paradox).

    Attributes:
        column: the name of the column.
        values: number of distinct values.
        alone: AUROC of the share of grounded rows in each row's group, in [0.5, 1].
        left_out: the same with shares that leave out the row's own label; pairs of one group count half.
        p: p-value of the permutation test that the column is independent of the labels, corrected for the
            number of columns (Holm).
        within: AUROC of the score over pairs of rows of the same group.
        baselines: the same for the trivial scores, each in its direction on all rows.
    """

    column: str
    values: int
    alone: float
    left_out: float
    p: float
    within: StratifiedAuroc
    baselines: tuple[Baseline, ...]

    @property
    def ranks_labels(self) -> bool:
        """Whether the permutation test shows that the column alone predicts the labels."""
        return self.p < SIGNIFICANT


@dataclass(frozen=True)
class DetectorCard(NotebookRepr):
    """A score compared with labels, and with trivial scores that could rank as well.

    AUROC is the probability that a grounded answer scores better than an ungrounded one. Average precision
    and the false positive rate are about finding the ungrounded answers.

    Attributes:
        rows: number of rows with a label and a score.
        clusters: number of independent groups of rows, such as questions.
        dropped: number of rows that were left out, by reason.
        ranking: AUROC over all rows.
        average_precision: average precision of finding ungrounded answers; chance is their share.
        false_positive_rate: share of grounded answers that are flagged if 95 % of the ungrounded ones are.
        length_matched: AUROC over rows matched by length; None without lengths, or if no rows match.
        length_stratified: AUROC within deciles of length; None without lengths.
        length_within: AUROC of length alone within those deciles, in its direction on all rows.
        precision_matched: AUROC over rows matched by content-word precision; None without it.
        baselines: AUROC of trivial scores over the same rows.
        differences: AUROC of the score minus the AUROC of each baseline, by name, over rows that have both;
            the intervals hold together at 95 % (Bonferroni).
        permuted: AUROC with permuted labels; None if they cannot be permuted.
        shuffled: AUROC with shuffled contexts.
        subgroups: AUROC by value of a column.
        calibration: quality of each map to probabilities, the base rate last; empty if none was fitted.
        within: AUROC within the groups of each categorical column, and of the column alone.
        uncalibrated: why there is no map; empty if there is one.
        unpermuted: why labels were not permuted; empty if they were.
        notes: verdicts as sentences, decided by intervals.
        warnings: signs of leakage or of a confounder.
        signature: provenance of the scores, for printing.
    """

    name: str
    higher_is_better: bool
    rows: int
    grounded: int
    ungrounded: int
    clusters: int
    dropped: Mapping[str, int]
    ranking: Ranking
    average_precision: Estimate
    false_positive_rate: Estimate
    length_matched: MatchedControl | None
    length_stratified: StratifiedAuroc | None
    length_within: Ranking | None
    precision_matched: MatchedControl | None
    baselines: tuple[Baseline, ...]
    differences: Mapping[str, AurocDifference]
    permuted: PermutationControl | None
    shuffled: ShuffledControl
    subgroups: tuple[Subgroup, ...]
    calibration: tuple[Calibration, ...]
    within: tuple[WithinGroups, ...] = ()
    uncalibrated: str = ""
    unpermuted: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    draws: int = 1000
    seed: int = 0
    signature: str = ""

    _page = "sgi_lab.card.card_views:card_html"
    __repr__ = short_repr

    @property
    def ungrounded_share(self) -> float:
        """The share of ungrounded rows, in (0, 1)."""
        return self.ungrounded / self.rows

    def __str__(self) -> str:
        head = f"{self.name}: AUROC {self.ranking.auroc:.3f} over {self.rows:,} rows"
        return "\n".join([head, *(f"Warning: {text}" for text in self.warnings), *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON values."""
        within = [asdict(groups) | {"ranks_labels": groups.ranks_labels} for groups in self.within]
        return asdict(self) | {"ungrounded_share": self.ungrounded_share, "within": within}
