"""Near-duplicate pairs of question and response ("kin"), which must not serve as references of each other."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import regex  # type: ignore[import-untyped]  # ships no types

from sgi.geometry.angles import angle, unit
from sgi.geometry.passages import LEAST_SEPARATION
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Codes = NDArray[np.int64]
    Rows = NDArray[Any]

# Equal rows differ by at most this in every projection, including rounding.
_WINDOW = 2.0 * LEAST_SEPARATION
_PROJECTIONS = 8
_INVISIBLE = regex.compile(r"(?V1)[\p{Default_Ignorable_Code_Point}\p{Cf}[\p{Cc}--[\s\x1c-\x1f]]]")
_OUTER_PUNCTUATION = regex.compile(r"^[\s\p{P}]+|[\s\p{P}]+$")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of question and response, with the keys that make two of them kin.

    ``marks`` are the keys by name, the most specific first, with one value per pair; None matches nothing.
    ``question_rows`` are unit rows, shape (n, d), or None if unknown.
    """

    ids: tuple[str, ...]
    marks: tuple[tuple[str, tuple[Hashable, ...]], ...]
    question_rows: Rows | None

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        groups: Sequence[Hashable],
        questions: Sequence[str],
        responses: Sequence[str],
        question_rows: ArrayLike | None = None,
    ) -> Self:
        """Read pairs from parallel columns.

        Args:
            ids: ids of the pairs.
            groups: pairs that belong together, such as answers to one question; None or NaN if unknown.
            questions: texts.
            responses: texts.
            question_rows: unit rows, shape (n, d); None if unknown.

        Raises:
            DataError: an id is missing, or a group, question or response is invalid.
            ValueError: lengths or shapes differ, or a row is not of unit length.

        >>> dict(Pairs.of([7], [None], ["Why ?"], ["So."]).marks)["question"]
        ('why',)
        """
        if not len(ids) == len(groups) == len(questions) == len(responses):
            raise ValueError(
                f"{len(ids)} ids, {len(groups)} groups, {len(questions)} questions and {len(responses)} "
                "responses must be equally many."
            )
        labels = tuple(map(str, ids))
        own = _names("id", ids, labels)
        if None in own:
            raise DataError("A pair has no id", line=own.index(None) + 1, hint="Give every pair an id.")
        question_keys, response_keys = (
            tuple(map(cache(same_text), _texts(what, texts, labels)))
            for what, texts in (("question", questions), ("response", responses))
        )
        marks = (
            ("id", own),
            ("question and response", tuple(zip(question_keys, response_keys, strict=True))),
            ("question", question_keys),
            ("group", _names("group", groups, labels)),
        )
        return cls(labels, marks, None if question_rows is None else unit_rows(question_rows, len(labels)))

    def __len__(self) -> int:
        return len(self.ids)


def unit_rows(values: ArrayLike, count: int) -> Rows:
    """Check float unit rows, one per pair, shape (count, d).

    Raises:
        ValueError: the shape is wrong, or a row is not of unit length.

    >>> unit_rows([[0, 1]], 1)
    array([[0., 1.]])
    """
    rows = np.asarray(values)
    if rows.ndim != 2 or len(rows) != count:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"The vectors of {count} pairs must have shape ({count}, d), not {rows.shape}.")
    angle(rows, rows)  # raises if rows are not of unit length
    return rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)


def ties(*sets: Pairs) -> tuple[tuple[str, Codes], ...]:
    """Find the keys that pairs of all sets share, the most specific key first.

    The last key is the question vector, if all sets have vectors: questions less than 0.001 radians apart are
    equal to the embedder, even if their texts differ.

    Returns:
        For each key its name and, for each pair, the first pair with the same value, possibly itself. Pairs
        are numbered over all sets.

    >>> first = Pairs.of(["a"], [1], ["Why?"], ["So."])
    >>> second = Pairs.of(["b", "A "], [1, 2], ["What?", "why"], ["That.", "Thus."])
    >>> [(name, codes.tolist()) for name, codes in ties(first, second)]  # doctest: +NORMALIZE_WHITESPACE
    [('id', [0, 1, 0]), ('question and response', [0, 1, 2]), ('question', [0, 1, 0]), ('group', [0, 0, 2])]
    """
    found = [
        (of_one_kind[0][0], _firsts(chain.from_iterable(values for _, values in of_one_kind)))
        for of_one_kind in zip(*(pairs.marks for pairs in sets), strict=True)
    ]
    rows = [pairs.question_rows for pairs in sets if pairs.question_rows is not None]
    if len(rows) == len(sets):
        if len({part.shape[1] for part in rows}) > 1:
            raise ValueError(
                f"All vectors must have the same dimension, not {[part.shape[1] for part in rows]}."
            )
        found.append(("question vector", _coinciding_pairs(np.concatenate(rows))))
    return tuple(found)


def kin_codes(shared: Sequence[tuple[str, Codes]]) -> Codes:
    """Return a code for each pair; pairs that share a key, directly or through others, have equal codes.

    >>> kin_codes([("id", np.array([0, 1, 2, 1])), ("group", np.array([0, 0, 2, 3]))]).tolist()
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


def _texts(what: str, texts: Iterable[object], ids: Sequence[str]) -> Iterable[str]:
    for sample_id, text in zip(ids, texts, strict=True):
        if not isinstance(text, str):
            raise DataError(
                f"The {what} of a pair must be text, not {type(text).__name__}",
                sample_id=sample_id,
                hint="Leave such pairs out.",
            )
        yield text


def _names(what: str, values: Iterable[object], ids: Sequence[str]) -> tuple[Hashable, ...]:
    """Return the normalised names; None if missing."""
    known = cache(_name)  # many pairs can have the same context as group
    names: list[Hashable] = []
    for sample_id, value in zip(ids, values, strict=True):
        try:
            hash(value)
        except TypeError:
            raise DataError(
                f"The {what} of a pair must be a name, not a {type(value).__name__}",
                sample_id=sample_id,
                hint="Give text, a number or a tuple of them.",
            ) from None
        names.append(known(value))
    return tuple(names)


def _name(value: Hashable) -> Hashable:
    """Convert numbers to text, as files write them; keep other values."""
    if isinstance(value, str):
        return same_name(value)
    plain = value.item() if isinstance(value, np.generic) else value
    if _is_missing(plain):
        return None
    if isinstance(plain, tuple):
        return tuple(map(_name, plain))
    if isinstance(plain, int):
        return str(int(plain))
    if isinstance(plain, float | Decimal):
        return str(int(plain)) if isfinite(plain) and plain == int(plain) else str(plain)
    return plain


def _is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or unequal to itself."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - detects NaN
    except TypeError:  # pandas' NA has no truth value
        return True


def _firsts(marks: Iterable[Hashable]) -> Codes:
    first: dict[Hashable, int] = {}
    return np.array(
        [place if mark is None else first.setdefault(mark, place) for place, mark in enumerate(marks)],
        dtype=np.int64,
    )


def _coinciding_pairs(rows: Rows) -> Codes:
    """Return, for each row, the first row that is equal up to 0.001 radians."""
    codes = _firsts(row.tobytes() for row in rows)
    links = [(np.arange(len(rows)), codes)]
    distinct = np.flatnonzero(codes == np.arange(len(rows)))
    # Few rows are close in several projections; compute exact angles only for these.
    lines = unit(np.random.default_rng(0).normal(size=(_PROJECTIONS, rows.shape[1])))
    places = rows[distinct] @ lines.T
    order = np.argsort(places[:, 0])
    distinct, places = distinct[order], places[order]
    for step in range(1, len(distinct)):
        near = np.flatnonzero(places[step:, 0] - places[:-step, 0] < _WINDOW)
        if not near.size:
            break
        near = near[np.all(np.abs(places[near + step] - places[near]) < _WINDOW, axis=1)]
        here, there = distinct[near], distinct[near + step]
        close = angle(rows[here], rows[there]) < LEAST_SEPARATION
        links.append((here[close], there[close]))
    return _first_of_component(len(rows), links)


def _first_of_component(n: int, links: Sequence[tuple[Codes, Codes]]) -> Codes:
    """Return, for each of n pairs, the first pair that is linked to it, directly or through others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = tuple(np.concatenate(column) for column in zip(*links, strict=True))
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(n, n))
    return _firsts(connected_components(graph, directed=False)[1].tolist())
