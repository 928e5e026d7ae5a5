"""Letters and rank intervals of systems, from the pairs of them that differ."""

from __future__ import annotations

from itertools import combinations
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

MAX_SYSTEMS = len(ascii_lowercase)
"""With more systems, letters would be hard to read."""


def compact_letters(differ: ArrayLike) -> tuple[str, ...]:
    """Return the letters of each system: two systems share a letter if, and only if, they do not differ.

    Each letter marks a largest possible set of systems of which no two differ (insert and absorb), and no
    letter can be left out. The letters follow the order of the systems: the first one has ``a``, so sort
    them from best to worst.

    ``differ`` is a symmetric boolean matrix, shape (k, k), with at most 26 systems.

    Source: Piepho (2004), "An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons",
    J. Comput. Graph. Stat. 13.

    >>> compact_letters([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    ('a', 'ab', 'b')
    """
    matrix = np.asarray(differ, dtype=np.bool_)
    if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T) or matrix.diagonal().any():
        raise ValueError("`differ` must be a symmetric matrix with a diagonal of false.")
    count = len(matrix)
    if count > MAX_SYSTEMS:
        raise ValueError(f"{count} systems need more than {MAX_SYSTEMS} letters.")
    groups = [frozenset(range(count))] if count else []
    for pair in combinations(range(count), 2):
        if matrix[pair]:
            parts = [
                [group - {one} for one in pair] if group.issuperset(pair) else [group] for group in groups
            ]
            groups = _absorb(group for part in parts for group in part)
    ordered = _without_redundant(sorted(groups, key=sorted), count)
    return tuple(
        "".join(_letter(place) for place, group in enumerate(ordered) if system in group)
        for system in range(count)
    )


def rank_intervals(better: ArrayLike) -> tuple[tuple[int, int], ...]:
    """Return the lowest and the highest possible rank of each system; 1 is the best rank.

    The interval of system j is [1 + systems better than j, k − systems that j is better than]. If the pairs
    are tested so that no true order is contradicted with a probability of 95 %, all these intervals contain
    the true ranks at once with at least this probability. Of equal systems, each has all ranks that they
    share.

    ``better[i][j]`` is whether system i is significantly better than j, shape (k, k).

    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for Ranks with Applications to Mobility
    across Neighbourhoods and Academic Achievement across Countries", Rev. Econ. Stud. 91.

    >>> rank_intervals([[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    ((1, 2), (1, 3), (2, 3))
    """
    matrix = np.asarray(better, dtype=np.bool_)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (matrix & matrix.T).any():
        raise ValueError("`better` must be a square matrix in which no system is better than itself.")
    above, below = matrix.sum(axis=0).tolist(), matrix.sum(axis=1).tolist()
    return tuple((1 + more, len(matrix) - less) for more, less in zip(above, below, strict=True))


def _absorb(groups: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Remove each group that another group contains."""
    distinct = set(groups)
    return [group for group in distinct if not any(group < other for other in distinct)]


def _without_redundant(groups: list[frozenset[int]], count: int) -> list[frozenset[int]]:
    """Remove each group whose pairs are all in other groups, the last ones first."""
    shared = np.zeros((count, count), dtype=np.int64)
    for group in groups:
        shared[np.ix_([*group], [*group])] += 1
    needed = []
    for group in reversed(groups):
        pairs = np.ix_([*group], [*group])
        if (shared[pairs] > 1).all():
            shared[pairs] -= 1
        else:
            needed.append(group)
    return needed[::-1]


def _letter(place: int) -> str:
    """Return a, b, …, z, a1, b1 and so on."""
    cycle, position = divmod(place, MAX_SYSTEMS)
    return f"{ascii_lowercase[position]}{cycle or ''}"
