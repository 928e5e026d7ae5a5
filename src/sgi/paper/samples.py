"""Which answers an experiment is made on: the paper's selection, all of them, or pairs of equal length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.stats.confounds import matched_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sgi.paper.answers import Answers

SampleName = Literal["paper", "full", "matched"]
SAMPLES: tuple[SampleName, ...] = ("paper", "full", "matched")

SHORTEST = 20
"""The characters below which the author's loader leaves an answer out."""
MOST = 5000
"""How many answers the paper's sample has at most."""
DRAWS = 200
"""How many samples are drawn to see how much a number depends on the draw."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Some of the answers.

    Attributes:
        name: ``paper``, ``full`` or ``matched``.
        rows: which, ascending, shape (m,).
        filtered: how many were left out, by the reason.
    """

    name: SampleName
    rows: NDArray[np.int64]
    filtered: Mapping[str, int] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """What was left out, in words."""
        return "; ".join(f"{rows:,} {reason}" for reason, rows in self.filtered.items() if rows) or "nothing"


def select(answers: Answers, name: SampleName, *, seed: int = 0) -> Selection:
    """The rows of a sample.

    * ``paper``: as the author's published loader does it: one answer an item, drawn by ``seed`` where an item
      has both; of these only answers of at least 20 characters; the first 5,000 of them. Nearly all right
      answers are shorter, so about 84 % of what stays is hallucinated.
    * ``full``: every answer.
    * ``matched``: for each number of characters, equally many answers of both classes, so that length says
      nothing.

    Args:
        answers: what to select from.
        name: of the sample.
        seed: of the draws.

    >>> from sgi.paper.answers import Answers
    >>> from sgi.kernel.sample import Sample
    >>> rows = [("a", "x" * 30, True), ("a", "y" * 30, False), ("b", "short", True)]
    >>> given = [Sample(id=f"{n}", question=q, response=r, label=y) for n, (q, r, y) in enumerate(rows)]
    >>> answers = Answers.of("sample", given)
    >>> [len(select(answers, name).rows) for name in ("paper", "full", "matched")]
    [1, 3, 2]
    """
    everything = np.arange(len(answers.labels))
    if name == "full":
        return Selection(name, everything)
    if name == "matched":
        values = matched_rows(answers.lengths, answers.labels, seed=seed)
        return Selection(name, values, {"without a partner of equal length": len(everything) - len(values)})
    return _as_in_the_paper(answers, seed)


def redrawn(answers: Answers, name: SampleName, *, seed: int = 0) -> tuple[NDArray[np.int64], ...]:
    """The rows of `DRAWS` draws of a sample, the first by ``seed``; none of ``full``, which is not drawn.

    Args:
        answers: what to select from.
        name: of the sample.
        seed: of the first draw; each further one has the next seed.
    """
    if name == "full":
        return ()
    return tuple(select(answers, name, seed=seed + draw).rows for draw in range(DRAWS))


def _as_in_the_paper(answers: Answers, seed: int) -> Selection:
    one = _one_an_item(answers.clusters, seed)
    long = one[answers.lengths[one] >= SHORTEST]
    filtered = {
        "other answers of the same items": len(answers.labels) - len(one),
        f"answers shorter than {SHORTEST} characters": len(one) - len(long),
        f"answers after the first {MOST:,}": max(0, len(long) - MOST),
    }
    return Selection("paper", long[:MOST], filtered)


def _one_an_item(clusters: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """One row of each cluster, every one as likely as the others."""
    shuffled = np.random.default_rng(seed).permutation(len(clusters))
    _, first = np.unique(clusters[shuffled], return_index=True)
    return np.sort(shuffled[first])
