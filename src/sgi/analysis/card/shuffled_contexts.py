"""Contexts of other questions for every answer: what a detector that uses its contexts has to notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from sgi.kernel.sample import Sample


def shuffled_contexts(
    samples: Sequence[Sample], *, seed: int = 0, questions: bool = True
) -> list[tuple[str, ...]] | None:
    """The passages of another question for each sample, never of its own and never equal to its own.

    Samples that share question or passages, also by way of others, form a group. The groups are put in a
    random circle, and each takes the passages of the next: no group keeps its own. Within a group the first
    sample takes the passages of the first, and so on, from the start again where the next group is smaller.

    Args:
        samples: with passages; a blank question is nobody else's.
        seed: of the circle; equal input gives equal bits.
        questions: whether rows that share only their question form a group.

    Returns:
        Passages for each sample, in order; None where there are not two groups.

    >>> from sgi.kernel.sample import Sample
    >>> rows = [Sample(id=n, question=n[0], contexts=(f"about {n[0]}",)) for n in ("a1", "a2", "b1")]
    >>> shuffled_contexts(rows)
    [('about b',), ('about b',), ('about a',)]
    """
    groups = _groups(samples, questions=questions)
    if len(groups) < 2:  # noqa: PLR2004 - one alone has no other
        return None
    circle = np.random.default_rng(seed).permutation(len(groups)).tolist()
    passages: list[tuple[str, ...]] = [()] * len(samples)
    for taker, giver in zip(circle, [*circle[1:], circle[0]], strict=True):
        given = groups[giver]
        for place, row in enumerate(groups[taker]):
            passages[row] = samples[given[place % len(given)]].contexts
    return passages


def _groups(samples: Sequence[Sample], *, questions: bool) -> list[list[int]]:
    """Rows that share question or passages, also by way of others, in order of their first row."""
    parents: dict[Hashable, Hashable] = {}

    def root(node: Hashable) -> Hashable:
        while parents.setdefault(node, node) != node:
            parents[node] = parents[parents[node]]  # halves the way for the next
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
