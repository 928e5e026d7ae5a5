"""Gives every answer the contexts of another question: a control for detectors that use contexts."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from sgi.kernel.sample import Sample


def shuffled_contexts(
    samples: Sequence[Sample], *, seed: int = 0, questions: bool = True
) -> list[tuple[str, ...]] | None:
    """Return passages of another question for each sample, never of its own and never equal to its own.

    Samples that share a question or passages, directly or through others, form a group. Each group takes the
    passages of the next group in a random circle, in order; if that group is smaller, its passages repeat.

    A blank question is not shared. ``questions`` says whether rows that share only their question form a
    group. The result is None with fewer than two groups.

    >>> from sgi.kernel.sample import Sample
    >>> rows = [Sample(id=n, question=n[0], contexts=(f"about {n[0]}",)) for n in ("a1", "a2", "b1")]
    >>> shuffled_contexts(rows)
    [('about b',), ('about b',), ('about a',)]
    """
    groups = _groups(samples, questions=questions)
    if len(groups) < 2:  # noqa: PLR2004 - one group has no other
        return None
    circle = np.random.default_rng(seed).permutation(len(groups)).tolist()
    passages: list[tuple[str, ...]] = [()] * len(samples)
    for group, other in zip(circle, [*circle[1:], circle[0]], strict=True):
        for row, source in zip(groups[group], cycle(groups[other]), strict=False):
            passages[row] = samples[source].contexts
    return passages


def _groups(samples: Sequence[Sample], *, questions: bool) -> list[list[int]]:
    """Return the rows of each group, in the order of their first rows."""
    parents: dict[Hashable, Hashable] = {}

    def root(node: Hashable) -> Hashable:
        while parents.setdefault(node, node) != node:
            parents[node] = parents[parents[node]]  # shortens later searches
            node = parents[node]
        return node

    nodes = [
        ("question", sample.question if questions and sample.question.strip() else row)
        for row, sample in enumerate(samples)
    ]
    for node, sample in zip(nodes, samples, strict=True):
        parents[root(("passages", sample.contexts))] = root(node)
    groups: dict[Hashable, list[int]] = {}
    for row, node in enumerate(nodes):
        groups.setdefault(root(node), []).append(row)
    return list(groups.values())
