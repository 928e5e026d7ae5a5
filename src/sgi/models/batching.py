"""The order in which texts are computed: each distinct one once, in batches of one length, back in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

TOKENS_A_BATCH = 512
"""Few enough for the widest layer's activations to stay near the core; more brought no speed."""


def distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts in order of appearance, and for each text the place of its own.

    >>> unique, places = distinct(["b", "a", "b"])
    >>> unique, places.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    index: dict[str, int] = {}
    places = [index.setdefault(text, len(index)) for text in texts]
    return list(index), np.asarray(places, dtype=np.int64)


def equal_length_batches(lengths: Sequence[int], budget: int) -> list[NDArray[np.int64]]:
    """Batches of texts with exactly as many tokens each, longest first.

    Without padding no text sees another: its vector has the same bits alone, in any batch and in any
    order. Longest first, so that workers finish together.

    Args:
        lengths: tokens of each text.
        budget: the most tokens in a batch; a longer text stands alone.

    Returns:
        The positions of the texts, batch by batch; together each position once.

    >>> [batch.tolist() for batch in equal_length_batches([2, 5, 2, 2, 9], budget=4)]
    [[4], [1], [0, 2], [3]]
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    batches = []
    for group in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):
        if group.size:
            step = max(1, budget // max(1, int(sizes[group[0]])))
            batches += [group[start : start + step] for start in range(0, group.size, step)]
    return batches


def side_by_side(
    batches: Sequence[NDArray[np.int64]], compute: Callable[[NDArray[np.int64]], None], threads: int
) -> None:
    """Compute batches, so many at once; what goes wrong in one is raised.

    >>> done = []
    >>> side_by_side([np.array([0]), np.array([1])], lambda batch: done.extend(batch.tolist()), threads=1)
    >>> done
    [0, 1]
    """
    with ThreadPoolExecutor(max(1, min(threads, len(batches)))) as pool:
        for _ in pool.map(compute, batches):
            pass  # asking for each result raises what went wrong in it
