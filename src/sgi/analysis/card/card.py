"""The data of a detector card: numbers with intervals, controls, and verdicts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.kernel.short_repr import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.analysis.agreement.report import Estimate
    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.calibration import Brier, Reliability
    from sgi.stats.confounds import Baseline, PermutationControl, StratifiedAuroc
    from sgi.stats.ranking import Ranking


@dataclass(frozen=True)
class Shuffled:
    """AUROC of the same detector where every answer has the contexts of another question.

    Attributes:
        ranking: None where that was not measured.
        difference: AUROC with the right contexts minus AUROC with shuffled ones, over the same rows.
        reason: why nothing was measured; empty where something was.
    """

    ranking: Ranking | None
    difference: AurocDifference | None = None
    reason: str = ""


@dataclass(frozen=True)
class Matched:
    """How well the score ranks rows among which a nuisance is equal in both classes, or nearly so.

    What the nuisance still ranks there stands among the baselines.

    Attributes:
        width: of the bins within which both classes have equally many rows; 0 where values are equal.
        pairs: rows of each class that were kept.
        ranking: of the score, over these rows.
        baselines: what the trivial scores rank over the same rows, in the direction they have on all rows.
        differences: the score's AUROC minus theirs, by name, over rows that have both.
        shuffled: what the same detector ranks over them with contexts of other questions.
    """

    width: float
    pairs: int
    ranking: Ranking
    baselines: tuple[Baseline, ...]
    differences: Mapping[str, AurocDifference]
    shuffled: Shuffled


@dataclass(frozen=True)
class Subgroup:
    """The rows that share a value.

    Attributes:
        column: of what.
        value: the one they share.
        rows: how many there are.
        base_rate: the share of them that is grounded.
        ranking: None where a class is absent.
    """

    column: str
    value: str
    rows: int
    base_rate: float
    ranking: Ranking | None


@dataclass(frozen=True)
class Calibration:
    """How far the score, made a probability of being grounded, can be believed; out of fold.

    Probabilities of a map are rounded to two digits, as people read them: of a Brier score taken apart over
    as many probabilities as there are rows, the parts say nothing.

    Attributes:
        method: ``platt``, ``isotonic``, or ``base rate``, which takes no notice of the score.
        error_of_width: expected calibration error over ten bins of equal width.
        error_of_mass: the same over ten bins of equally many rows.
        brier: the Brier score and its parts.
        gain: by how much its Brier score lies below that of the base rate; None for the base rate itself.
        reliability: what was foretold and what came true, in bins of equally many rows.
    """

    method: str
    error_of_width: float
    error_of_mass: float
    brier: Brier
    gain: Estimate | None
    reliability: Reliability


SIGNIFICANT = 0.05


@dataclass(frozen=True)
class WithinGroups:
    """The score among rows that share a value of a column, and the column as a ranking of its own.

    A score can rank all rows well because it tells groups apart whose labels differ (Simpson's paradox).

    Attributes:
        column: the name of the column.
        values: how many distinct values it has.
        alone: AUROC of the share of grounded rows in each row's group, in [0.5, 1]; the column's own ranking.
        left_out: the same with each row's own label left out of that share; pairs of one group count half.
        p: of the permutation test that the column says nothing of the labels, corrected for the number of
            columns (Holm).
        within: AUROC of the score over pairs of rows of the same group.
        baselines: the same of the trivial scores, each in its direction on all rows.
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
        """Whether the column alone is shown to rank the labels."""
        return self.p < SIGNIFICANT


@dataclass(frozen=True)
class DetectorCard:
    """A score compared with labels, and with trivial scores that could rank as well.

    AUROC is the chance that a grounded answer scores better than an ungrounded one. Average precision and
    the false positive rate are of the search for ungrounded answers, which is what a detector is for.

    Attributes:
        name: of the detector.
        higher_is_better: whether a higher score means grounded.
        rows: with a label and a score.
        grounded: rows labelled so.
        ungrounded: the others.
        clusters: how many independent groups the rows form, say, questions.
        dropped: rows that take no part, by reason.
        ranking: AUROC over all rows.
        average_precision: of finding the ungrounded; chance is their share.
        false_positive_rate: the share of the grounded that is flagged where 95 % of the ungrounded are.
        length_matched: over rows of equal length; None without lengths, or without any pair.
        length_stratified: AUROC within tenths of length; None without lengths.
        length_within: what length alone still ranks within those tenths, in its direction on all rows.
        overlap_matched: over rows of equal overlap with their contexts; None without overlaps.
        baselines: what trivial scores rank over the same rows.
        differences: the score's AUROC minus theirs, by name, over rows that have both; the intervals hold
            together at 95 % (Bonferroni).
        permuted: AUROC where labels are shuffled; None where they cannot be.
        shuffled: AUROC where contexts are.
        subgroups: AUROC over the rows that share a value of a column.
        within: AUROC within the groups of each categorical column, and of the column alone.
        calibration: maps to probabilities, the base rate last; empty where none could be fitted.
        uncalibrated: why there is none.
        unpermuted: why labels were not shuffled; empty where they were.
        notes: verdicts in plain words, decided from intervals.
        warnings: signs of a leak or of a confounder.
        draws: number of bootstrap draws.
        seed: random seed.
        signature: identifies what made the scores.
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
    length_matched: Matched | None
    length_stratified: StratifiedAuroc | None
    length_within: Ranking | None
    overlap_matched: Matched | None
    baselines: tuple[Baseline, ...]
    differences: Mapping[str, AurocDifference]
    permuted: PermutationControl | None
    shuffled: Shuffled
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

    __repr__ = short_repr

    @property
    def ungrounded_share(self) -> float:
        """The share of ungrounded rows, in (0, 1)."""
        return self.ungrounded / self.rows

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON values."""
        within = [asdict(one) | {"ranks_labels": one.ranks_labels} for one in self.within]
        return asdict(self) | {"ungrounded_share": self.ungrounded_share, "within": within}
