"""Samples of answers for an experiment: the paper's selection, all answers, or pairs of equal length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.stats.confounds import matched_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sgi_lab.paper.paper_answers import Answers

SampleName = Literal["paper", "full", "matched"]
SAMPLES: tuple[SampleName, ...] = ("paper", "full", "matched")

SHORTEST = 20
"""Least length of an answer in the author's loader, in characters."""
MOST = 5000
"""Greatest number of answers in the paper's sample."""
DRAWS = 200
"""Number of draws that show how much a number depends on the draw."""


@dataclass(frozen=True, eq=False)
class Selection:
    """A selection of answers.

    ``rows`` are ascending row numbers, shape (m,); ``filtered`` counts omitted rows by reason.
    """

    name: SampleName
    rows: NDArray[np.int64]
    filtered: Mapping[str, int] = field(default_factory=dict)

    @property
    def omissions(self) -> str:
        """Describe the omitted rows."""
        return "; ".join(f"{rows:,} {reason}" for reason, rows in self.filtered.items() if rows) or "nothing"


def select(answers: Answers, name: SampleName, *, seed: int = 0) -> Selection:
    """Select the rows of a sample.

    * ``paper``: the selection of the author's published loader: one random answer per item, then only answers
      of at least 20 characters, then the first 5,000. Most correct answers are shorter, so about 84 % of the
      selected answers are hallucinated.
    * ``full``: every answer.
    * ``matched``: for each length in characters, equally many answers of both classes, so that length is
      uninformative.
    """
    everything = np.arange(len(answers.labels))
    if name == "full":
        return Selection(name, everything)
    if name == "matched":
        values = matched_rows(answers.lengths, answers.labels, seed=seed)
        return Selection(name, values, {"without a partner of equal length": len(everything) - len(values)})
    return _paper_sample(answers, seed)


def _paper_sample(answers: Answers, seed: int) -> Selection:
    one = _one_per_cluster(answers.clusters, seed)
    long = one[answers.lengths[one] >= SHORTEST]
    filtered = {
        "other answers of the same items": len(answers.labels) - len(one),
        f"answers shorter than {SHORTEST} characters": len(one) - len(long),
        f"answers after the first {MOST:,}": max(0, len(long) - MOST),
    }
    return Selection("paper", long[:MOST], filtered)


def _one_per_cluster(clusters: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return one random row of each cluster."""
    shuffled = np.random.default_rng(seed).permutation(len(clusters))
    _, first = np.unique(clusters[shuffled], return_index=True)
    return np.sort(shuffled[first])
