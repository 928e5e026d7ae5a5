"""Tokenizes many texts at once, and compares pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

# Stands between texts while they are cut together: a word that each definition of tokens leaves as it is.
_MARK = "qzjxvk"
_BETWEEN = f" {_MARK} "
_AT_ONCE = 2**20  # characters cut together
_WIDTH = 8  # bytes of a token that fit into one number
_NO_BYTE = 0xFF  # no byte of UTF-8
_BYTE_BITS = 8
_CHARACTERS = 0x110000  # as many as Unicode has room for
_PADDING = np.array([2**64 - 2 ** (_BYTE_BITS * n) for n in range(_WIDTH + 1)], dtype=np.uint64)


class Match(NamedTuple):
    """Precision and recall of each pair.

    >>> match = Match.of(np.array([3]), responses=np.array([4]), references=np.array([6]))
    >>> match.precision.tolist(), match.recall.tolist(), match.f_score().round(4).tolist()
    ([0.75], [0.5], [0.6])
    """

    precision: NDArray[np.float64]
    """Share of each response that is common, in [0, 1]."""
    recall: NDArray[np.float64]
    """Share of each reference that is common, in [0, 1]."""

    @classmethod
    def of(
        cls, common: NDArray[np.int64], *, responses: NDArray[np.int64], references: NDArray[np.int64]
    ) -> Match:
        """The match of ``common`` tokens between texts of these lengths; a share of nothing is 0."""
        return cls(common / np.maximum(responses, 1), common / np.maximum(references, 1))

    def f_score(self, beta: float = 1.0) -> NDArray[np.float64]:
        r"""The weighted harmonic mean of precision P and recall R, in [0, 1]; 0 where either is 0.

        .. math:: F_\beta = (1 + \beta^2) P R / (\beta^2 P + R)

        Args:
            beta: how many times recall counts as much as precision; above 0.

        Source: van Rijsbergen (1979), "Information Retrieval", chapter 7.

        >>> Match(np.array([1.0]), np.array([0.5])).f_score(beta=2).round(4).tolist()
        [0.5556]
        """
        # Written with the smaller weight on top, so that no beta overflows.
        weight = 1 / (1 + beta * beta)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = 1 / (weight / self.precision + (1 - weight) / self.recall)
        return np.where((self.precision > 0) & (self.recall > 0), mean, 0.0)


@dataclass(frozen=True, eq=False)
class TokenColumn:
    """Texts as token numbers: text ``i`` has ``numbers[starts[i]:starts[i] + lengths[i]]``.

    Equal tokens have equal numbers, from 0 without a gap.

    >>> column = TokenColumn.of(["the capital of france is paris", "paris is the capital"], str.lower)
    >>> first, second = np.array([0]), np.array([1])
    >>> column.lengths.tolist(), column.in_order(first, second).precision.round(2).tolist()
    ([6, 4], [0.33])
    >>> column.in_bags(first, second).recall.tolist()
    [1.0]
    """

    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str], words: Callable[[str], str]) -> Self:
        """Tokenize texts; ``words`` returns the tokens of a text with spaces between them."""
        distinct = sorted(dict.fromkeys(texts), key=str.isascii)
        keys, counts = [_keys("", {})], list[int]()
        long: dict[bytes, int] = {}
        for some in _portions(distinct):
            part_keys, part_counts = _split(some, words, long)
            keys.append(part_keys)
            counts += part_counts
        _, numbers = np.unique(np.concatenate(keys), return_inverse=True)
        lengths = np.array(counts, dtype=np.int64)
        places = dict(zip(distinct, range(len(distinct)), strict=True))
        rows = np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))
        return cls(numbers, (np.cumsum(lengths) - lengths)[rows], lengths[rows])

    @cached_property
    def vocabulary(self) -> int:
        """How many different tokens there are."""
        return int(self.numbers.max(initial=-1)) + 1

    def in_order(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> Match:
        """Match by longest common subsequence, as in ROUGE-L; arguments are text indices, shape (pairs,).

        Source: Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1.

        >>> column = TokenColumn.of(["a b c", "c a b d"], str.lower)
        >>> column.in_order(np.array([0]), np.array([1])).recall.tolist()
        [0.5]
        """
        from rapidfuzz.distance import LCSseq

        common = map(LCSseq.similarity, self._sequences_of(responses), self._sequences_of(references))
        return self._match(np.fromiter(common, np.int64, len(responses)), responses, references)

    def in_bags(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> Match:
        """Match by multiset overlap, in any order.

        >>> column = TokenColumn.of(["a a b", "a c"], str.lower)
        >>> column.in_bags(np.array([0]), np.array([1])).recall.tolist()
        [0.5]
        """
        return self._match(self.common(responses, references), responses, references)

    def common(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of common tokens of each pair, in any order, shape (pairs,).

        >>> TokenColumn.of(["a a b", "a c a a"], str.lower).common(np.array([0]), np.array([1])).tolist()
        [2]
        """
        first, often = np.unique(self._numbered(responses), return_counts=True)
        second, again = np.unique(self._numbered(references), return_counts=True)
        both, left, right = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        times = np.minimum(often[left], again[right])
        pairs = both // max(self.vocabulary, 1)
        return np.bincount(pairs, weights=times, minlength=len(responses)).astype(np.int64)

    def equal(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the two texts of each pair have the same tokens in the same order, shape (pairs,).

        >>> column = TokenColumn.of(["a b", "b a", "A  B"], str.lower)
        >>> column.equal(np.array([0, 0]), np.array([1, 2])).tolist()
        [False, True]
        """
        return np.fromiter(
            map(eq, self._sequences_of(responses), self._sequences_of(references)), np.bool_, len(responses)
        )

    def longer(self, single: TokenColumn) -> TokenColumn:
        """The column of (n+1)-grams, from this column of n-grams and that of single tokens.

        >>> words = TokenColumn.of(["a b a b"], str.lower)
        >>> words.longer(words).numbers[:3].tolist(), words.longer(words).lengths.tolist()
        ([0, 1, 0], [3])
        """
        # Runs that reach into the next text are numbered too, but beyond every text's length.
        step = len(single.numbers) - len(self.numbers) + 1
        runs = self.numbers[:-1] * single.vocabulary + single.numbers[step:]
        _, numbers = np.unique(runs, return_inverse=True)
        return TokenColumn(numbers, self.starts, np.maximum(self.lengths - 1, 0))

    def _match(
        self, common: NDArray[np.int64], responses: NDArray[np.int64], references: NDArray[np.int64]
    ) -> Match:
        return Match.of(common, responses=self.lengths[responses], references=self.lengths[references])

    def _sequences_of(self, texts: NDArray[np.int64]) -> list[Any]:
        sequences = self._sequences
        return [sequences[text] for text in texts.tolist()]

    @cached_property
    def _sequences(self) -> list[Any]:
        """Each text's numbers as a string, one character a token, or as a list where characters run out."""
        flat: Any = self.numbers.tolist()
        if self.vocabulary <= _CHARACTERS:
            flat = self.numbers.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        ends = self.starts + self.lengths
        return [flat[start:end] for start, end in zip(self.starts.tolist(), ends.tolist(), strict=True)]

    def _numbered(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of these texts, one after another, those of each place told from all others."""
        lengths = self.lengths[texts]
        owners = np.repeat(np.arange(len(texts)), lengths)
        before = np.cumsum(lengths) - lengths
        places = np.arange(len(owners)) + np.repeat(self.starts[texts] - before, lengths)
        numbers: NDArray[np.int64] = owners * self.vocabulary + self.numbers[places]
        return numbers


def _portions(texts: Sequence[str]) -> list[Sequence[str]]:
    """The texts in order, cut into parts of bounded size; ASCII, which is quicker to fold, by itself."""
    if not texts:
        return []
    part_numbers = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts))) // _AT_ONCE
    plain = np.fromiter(map(str.isascii, texts), np.bool_, len(texts))
    cuts = np.flatnonzero((part_numbers[1:] != part_numbers[:-1]) | (plain[1:] != plain[:-1])) + 1
    return [texts[start:end] for start, end in pairwise([0, *cuts.tolist(), len(texts)])]


def _split(
    texts: Sequence[str], words: Callable[[str], str], long: dict[bytes, int]
) -> tuple[NDArray[np.uint64], list[int]]:
    """The keys of the tokens of all texts, and how many each has."""
    stripped = [text.rstrip() for text in texts]
    keys = _keys(words(_BETWEEN.join(stripped)), long)
    marks = np.flatnonzero(keys == _MARK_KEY)
    if len(marks) == len(texts) - 1:
        return np.delete(keys, marks), (np.diff(marks, prepend=-1, append=len(keys)) - 1).tolist()
    each = [_keys(words(text), long) for text in stripped]  # one of them holds the very mark
    return np.concatenate(each), [len(some) for some in each]


def _keys(words: str, long: dict[bytes, int]) -> NDArray[np.uint64]:
    """One number for each token, the same for the same token: its bytes themselves, if they are few.

    The bytes of longer ones are numbered in ``long``, after a byte that no text has.
    """
    content = b" %b%b" % (words.encode("utf-8", "surrogatepass"), b" " * _WIDTH)
    signs = np.frombuffer(content, dtype=np.uint8)
    gaps = signs == ord(" ")
    edges = np.flatnonzero(gaps[1:] != gaps[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    lengths = ends - starts
    # The eight bytes from each sign on, as one number, without a copy; those behind the token are masked.
    eights = np.ndarray((len(signs) - _WIDTH + 1,), dtype="<u8", buffer=signs, strides=(1,))
    keys: NDArray[np.uint64] = eights[starts] | _PADDING[np.minimum(lengths, _WIDTH)]
    large = np.flatnonzero(lengths > _WIDTH)
    tokens = map(content.__getitem__, map(slice, starts[large].tolist(), ends[large].tolist()))
    numbers = [long.setdefault(token, len(long)) for token in tokens]
    keys[large] = np.array(numbers, dtype=np.uint64) << _BYTE_BITS | _NO_BYTE
    return keys


_MARK_KEY = _keys(_MARK, {})[0]
