"""Separation of grounded and hallucinated answers by a score, beside that of length alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.paper.findings import Column, format_ranking
from sgi.stats.effects import cohen_d, welch_p
from sgi.stats.ranking import Ranking, auroc, ranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sgi.paper.answers import Answers

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]


CLASS_COLUMNS = (
    Column("n", "n"),
    Column("grounded", "base_rate", digits=2),
    Column("SGI grounded", "grounded"),
    Column("SGI hallucinated", "hallucinated"),
    Column("d", "effect", digits=2, signed=True),
    Column("AUROC", "auroc"),
    Column("95 %", "auroc_interval"),
)
"""The columns of what `Separation.row` gives."""

LENGTH_COLUMN = Column("length alone", "length_auroc")


@dataclass(frozen=True)
class Separation:
    """Two classes under one score, higher = grounded.

    Attributes:
        n: number of rows.
        base_rate: share of grounded rows; None without rows.
        grounded: mean score of grounded rows.
        hallucinated: mean score of the others.
        effect: Cohen's d, grounded − hallucinated.
        p: p-value of Welch's test.
        ranking: AUROC; None if a class is absent.
        length: AUROC of length alone, in its better direction; None if a class is absent.
    """

    n: int
    base_rate: float | None
    grounded: float | None
    hallucinated: float | None
    effect: float | None
    p: float | None
    ranking: Ranking | None
    length: float | None

    def row(self) -> dict[str, Any]:
        """The separation as entries of a row."""
        return {
            "n": self.n,
            "base_rate": self.base_rate,
            "grounded": self.grounded,
            "hallucinated": self.hallucinated,
            "effect": self.effect,
            "p": self.p,
            **format_ranking(self.ranking),
            "length_auroc": self.length,
        }


def separation(scores: Floats, answers: Answers, rows: Rows) -> Separation:
    """Separation of the classes over some rows; ``scores`` cover all answers, shape (n,)."""
    column, labels, clusters = scores[rows], answers.labels[rows], answers.clusters[rows]
    first, second = column[labels], column[~labels]
    by_length = auroc(answers.lengths[rows], labels)
    return Separation(
        n=len(rows),
        base_rate=float(labels.mean()) if len(rows) else None,
        grounded=_mean(first),
        hallucinated=_mean(second),
        effect=cohen_d(first, second),
        p=welch_p(first, second),
        ranking=ranking(column, labels, clusters),
        length=None if by_length is None else max(by_length, 1.0 - by_length),
    )


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
