"""Separation of grounded and hallucinated answers by a score, and by length alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.stats.effects import cohen_d, welch_p
from sgi.stats.ranking import auroc, ranking
from sgi_lab.paper.findings import Column, format_ranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sgi_lab.paper.paper_answers import Answers

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
"""Columns of the entries of `separation`."""

LENGTH_COLUMN = Column("length alone", "length_auroc")


def separation(scores: Floats, answers: Answers, rows: Rows) -> dict[str, Any]:
    """Compute the separation of the classes over some rows, as entries of a table row.

    ``scores`` cover all answers, shape (n,); higher means grounded. An entry is None if a class is absent.

    Returns:
        ``n``, ``base_rate`` (share of grounded rows), the mean scores ``grounded`` and ``hallucinated``,
        ``effect`` (Cohen's d, grounded − hallucinated), ``p`` (Welch's test), ``auroc``, ``auroc_interval``,
        and ``length_auroc`` (length alone, in its better direction).
    """
    column, labels, clusters = scores[rows], answers.labels[rows], answers.clusters[rows]
    first, second = column[labels], column[~labels]
    by_length = auroc(answers.lengths[rows], labels)
    return {
        "n": len(rows),
        "base_rate": float(labels.mean()) if len(rows) else None,
        "grounded": _mean(first),
        "hallucinated": _mean(second),
        "effect": cohen_d(first, second),
        "p": welch_p(first, second),
        **format_ranking(ranking(column, labels, clusters)),
        "length_auroc": None if by_length is None else max(by_length, 1.0 - by_length),
    }


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
