"""Near-duplicate pairs of question and response, which must not serve as references of each other."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import regex  # type: ignore[import-untyped]  # ships no types

from sgi.geometry.angles import angle, unit
from sgi.geometry.passages import LEAST_SEPARATION

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Codes = NDArray[np.int64]
    Rows = NDArray[Any]

_KEYS = ("id", "question and response", "question", "group")
# Equal rows differ by at most this in every projection, including rounding.
_WINDOW = 2.0 * LEAST_SEPARATION
_PROJECTIONS = 8
_INVISIBLE = regex.compile(r"(?V1)[\p{Default_Ignorable_Code_Point}\p{Cf}[\p{Cc}--[\s\x1c-\x1f]]]")
_OUTER_PUNCTUATION = regex.compile(r"^[\s\p{P}]+|[\s\p{P}]+$")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of question and response, with the keys that make two of them near duplicates.

    ``keys`` has one value of each kind of key per pair, the most specific first; None matches nothing.
    ``question_rows`` are unit rows, shape (n, d).
    """

    ids: tuple[str, ...]
    keys: Sequence[tuple[Hashable, ...]]
    question_rows: Rows

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        groups: Sequence[str | None],
        questions: Sequence[str],
        responses: Sequence[str],
        question_rows: ArrayLike,
    ) -> Self:
        """Read pairs from parallel columns.

        Args:
            ids: ids of the pairs.
            groups: names that pairs share which belong together, such as a context; None if unknown.
            questions: texts.
            responses: texts.
            question_rows: unit rows, shape (n, d).

        Raises:
            ValueError: lengths or shapes differ, or a row is not of unit length.

        >>> Pairs.of(["7"], [None], ["Why ?"], ["So."], [[0.0, 1.0]]).keys
        [('7', ('why', 'so'), 'why', None)]
        """
        rows, text = np.asarray(question_rows), cache(same_text)
        angle(rows, rows)  # raises if rows are not of unit length
        columns = zip(ids, groups, questions, responses, rows, strict=True)
        keys = [
            (same_name(own), (text(question), text(response)), text(question), group and same_name(group))
            for own, group, question, response, _ in columns
        ]
        return cls(tuple(ids), keys, rows)

    def __len__(self) -> int:
        return len(self.ids)


def ties(*sets: Pairs) -> tuple[tuple[str, Codes], ...]:
    """Find the keys that pairs of all sets share, the most specific key first.

    The last key is the question vector: questions less than 0.001 radians apart are equal to the embedder,
    even if their texts differ.

    Returns:
        For each key its name and, for each pair, the first pair with the same value, possibly itself. Pairs
        are numbered over all sets.

    >>> first = Pairs.of(["a"], ["1"], ["Why?"], ["So."], [[0.0, 1.0]])
    >>> second = Pairs.of(["b", "A "], ["1", "2"], ["What?", "why"], ["That.", "Thus."], np.eye(2))
    >>> [codes.tolist() for _, codes in ties(first, second)]
    [[0, 1, 0], [0, 1, 2], [0, 1, 0], [0, 0, 2], [0, 1, 0]]
    """
    found = [
        (name, _firsts(keys[place] for pairs in sets for keys in pairs.keys))
        for place, name in enumerate(_KEYS)
    ]
    rows = np.concatenate([pairs.question_rows for pairs in sets])
    return (*found, ("question vector", _coinciding_pairs(rows)))


def duplicate_codes(shared: Sequence[tuple[str, Codes]]) -> Codes:
    """Return a code for each pair; pairs that share a key, directly or through others, have equal codes.

    >>> duplicate_codes([("id", np.array([0, 1, 2, 1])), ("group", np.array([0, 0, 2, 3]))]).tolist()
    [0, 0, 2, 0]
    """
    return _first_of_component(len(shared[0][1]), [(np.arange(len(codes)), codes) for _, codes in shared])


def same_text(text: str) -> str:
    r"""Normalise a question or response for comparison.

    Ignores case, compatibility forms, white space, invisible characters and outer punctuation. Similar
    letters of different scripts remain different.

    Source: Unicode 16, compatibility caseless matching (D146) and `Default_Ignorable_Code_Point`.

    >>> same_text(" Ｗhat\u200b IS  it ?")
    'what is it'
    """
    return str(_OUTER_PUNCTUATION.sub("", same_name(text)))


def same_name(name: str) -> str:
    """Normalise a name for comparison: as `same_text`, but with its punctuation.

    >>> same_name("G-1 "), same_name("g-1")
    ('g-1', 'g-1')
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    if not (folded.isascii() and folded.isprintable()):  # the common case
        # Removed characters may have separated combining marks, so normalise their order.
        folded = unicodedata.normalize("NFKD", _INVISIBLE.sub("", folded))
    return " ".join(folded.split())


def _firsts(marks: Iterable[Hashable]) -> Codes:
    first: dict[Hashable, int] = {}
    return np.array(
        [place if mark is None else first.setdefault(mark, place) for place, mark in enumerate(marks)],
        dtype=np.int64,
    )


def _coinciding_pairs(rows: Rows) -> Codes:
    """Return, for each row, the first row that is equal up to 0.001 radians."""
    from scipy.spatial import KDTree

    codes = _firsts(row.tobytes() for row in rows)
    distinct = np.flatnonzero(codes == np.arange(len(rows)))
    # Few rows are close in several projections; compute exact angles only for these.
    lines = unit(np.random.default_rng(0).normal(size=(_PROJECTIONS, rows.shape[1])))
    tree = KDTree(rows[distinct] @ lines.T)
    here, there = distinct[tree.query_pairs(_WINDOW, p=np.inf, output_type="ndarray")].T
    close = angle(rows[here], rows[there]) < LEAST_SEPARATION
    links = [(np.arange(len(rows)), codes), (here[close], there[close])]
    return _first_of_component(len(rows), links)


def _first_of_component(n: int, links: Sequence[tuple[Codes, Codes]]) -> Codes:
    """Return, for each of n pairs, the first pair that is linked to it, directly or through others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = tuple(np.concatenate(column) for column in zip(*links, strict=True))
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(n, n))
    return _firsts(connected_components(graph, directed=False)[1].tolist())
