"""Labels that people give to answers: version of the text, consensus, and random order of the rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.sample import Sample

PEOPLE = "people"
"""The column of labels of a random sample of the rows; valid for means, agreement and rates."""

ALL_PEOPLE = "people-all"
"""The column of all labels by people, also of rows that were chosen because a score was uncertain."""

DRAWN = "people:"
"""Prefix of a column: labels of the rows that were drawn by the uncertainty of the metric behind it."""

AUDIT = "audit:"
"""Prefix of the order in which an audit of the metric behind it needs labels."""

MIN_CHANCE = 0.2
"""Probability with which the least uncertain row is drawn, relative to the most uncertain one."""

_VERSION_BYTES = 16
_UNIFORM = 2.0**64


@dataclass(frozen=True)
class HumanLabel:
    """The label that one person gave to one version of an answer.

    Attributes:
        sample: the id of the row.
        version: hash of question, passages and answer, from `text_version`.
        author: name of the person.
        value: True if the answer is good; None if the person skipped the row.
        comment: free text.
        decides: whether the label decides between people who disagree.
        created_at: ISO 8601, UTC; empty before it is stored.
    """

    sample: str
    version: str
    author: str
    value: bool | None
    comment: str = ""
    decides: bool = False
    created_at: str = ""


def text_version(sample: Sample) -> str:
    """Return a hash of what a person reads: the question, the passages and the answer.

    >>> from sgi.kernel.sample import Sample
    >>> one = Sample(id="a", question="q", response="yes")
    >>> text_version(one) == text_version(one.model_copy(update={"id": "b"}))
    True
    >>> text_version(one) == text_version(one.model_copy(update={"response": "no"}))
    False
    """
    texts = json.dumps(
        [sample.question, list(sample.contexts), sample.response]
    )  # ASCII, also for surrogates
    return blake2b(texts.encode(), digest_size=_VERSION_BYTES).hexdigest()


def consensus(labels: Iterable[HumanLabel]) -> bool | None:
    """Return the label of a version of an answer: the decision, otherwise the label of the majority.

    Skipped rows do not count. The result is None without a label, or if as many people say yes as no.

    >>> yes, no = (HumanLabel("a", "v", name, name == "Ada") for name in ("Ada", "Bo"))
    >>> consensus([yes]), consensus([yes, no])
    (True, None)
    """
    given = [label for label in labels if label.value is not None]
    decisions = [label for label in given if label.decides]
    if decisions:
        return max(decisions, key=lambda label: label.created_at).value
    balance = sum(1 if label.value else -1 for label in given)
    return None if balance == 0 else balance > 0


def disagree(labels: Iterable[HumanLabel]) -> bool:
    """Return whether people gave different labels, and nobody has decided."""
    given = [label for label in labels if label.value is not None]
    return not any(label.decides for label in given) and len({label.value for label in given}) > 1


def random_order(ids: Sequence[str]) -> NDArray[np.int64]:
    """Return the positions of rows in a fixed random order, shape (n,).

    The order depends on each id alone, so a row keeps its place among the others if rows are added.
    """
    return np.argsort(_random_keys(ids), kind="stable")


def _random_keys(ids: Sequence[str]) -> NDArray[np.uint64]:
    keys = b"".join(
        blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=b"labels").digest() for name in ids
    )
    return np.frombuffer(keys, dtype=">u8").astype(np.uint64)


def uncertainty_chances(values: NDArray[np.float64], middle: float) -> NDArray[np.float64]:
    """Return the relative probability with which each row is drawn, from `MIN_CHANCE` to 1, shape (n,).

    It rises with the rank of a value by its nearness to ``middle``. A row without a value (NaN) has the
    least.

    >>> uncertainty_chances(np.array([0.5, 1.0, np.nan, 0.2]), 0.5).round(2).tolist()
    [1.0, 0.2, 0.2, 0.6]
    """
    known = np.isfinite(values)
    chances = np.full(len(values), MIN_CHANCE)
    distances = np.abs(values[known] - middle)
    if len(distances):
        ordered = np.sort(distances)
        nearer, not_farther = (np.searchsorted(ordered, distances, side) for side in ("left", "right"))
        ranks = (nearer + not_farther - 1) / 2  # equal values have equal chances
        chances[known] = MIN_CHANCE + (1 - MIN_CHANCE) * (1 - ranks / max(len(distances) - 1, 1))
    return chances


def drawn_order(
    ids: Sequence[str], chances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return row positions in a random order that prefers likelier rows, and the rows' sort keys.

    The key is u/chance, with a uniform u that depends on the id alone; the order is ascending.

    Source: Duffield, Lund and Thorup (2007), J. ACM 54 (priority sampling); Ohlsson (1998), J. Off. Stat. 14.
    """
    keys = (_random_keys(ids) + 0.5) / _UNIFORM / chances
    return np.argsort(keys, kind="stable"), keys


def drawn_probabilities(
    keys: NDArray[np.float64], chances: NDArray[np.float64], seen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the probability with which each row of the sample was drawn, NaN for the others, shape (n,).

    The sample is the rows before the first one, in the order of the keys, that nobody has seen. With the key
    t of this row, a row is drawn if its u is below chance · t, so its probability is min(1, chance · t).

    >>> keys, chances = np.array([0.1, 0.4, 0.2]), np.array([1.0, 0.5, 0.5])
    >>> drawn_probabilities(keys, chances, np.array([True, False, True]))
    array([0.4, nan, 0.2])
    """
    limit = float(keys[~seen].min(initial=np.inf))
    with np.errstate(invalid="ignore"):
        return np.where(keys < limit, np.minimum(1.0, chances * limit), np.nan)


def random_sample(order: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask of the rows at the beginning of the random order that are all ``seen``, shape (n,).

    ``order`` can have some of the rows only. If people label rows in this order, they are a random sample of
    all rows in it. Rows that were labelled for another reason can extend it up to the next unseen row;
    decision 0058 says how much this matters.

    >>> order, seen = np.array([2, 0, 1, 3]), np.array([True, False, True, True])
    >>> random_sample(order, seen)
    array([ True, False,  True, False])
    """
    unseen = np.flatnonzero(~seen[order])
    mask = np.zeros(len(seen), dtype=np.bool_)
    mask[order[: unseen[0] if len(unseen) else len(order)]] = True
    return mask


def balanced_order(order: NDArray[np.int64], strata: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the positions of the rows of strata 0 and 1, interleaved; each stratum keeps the random order.

    The first rows of a stratum are a random sample of it, whatever its size. Rows of stratum -1 are left out.

    >>> balanced_order(np.array([4, 0, 2, 1, 3]), np.array([1, 1, 1, 0, -1], dtype=np.int8)).tolist()
    [0, 3, 2, 1]
    """
    parts = [order[strata[order] == stratum] for stratum in (0, 1)]
    rank = np.empty(len(order), dtype=np.int64)
    for part in parts:
        rank[part] = np.arange(len(part))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    rows = np.concatenate(parts)
    return rows[np.lexsort((place[rows], rank[rows]))]
