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

# Separates texts that are split together: a word that no tokenizer changes.
_MARK = "qzjxvk"
_BETWEEN = f" {_MARK} "
_PORTION = 2**20  # characters that are split together
_WIDTH = 8  # bytes of a token that fit into one number
_NO_BYTE = 0xFF  # not a byte of UTF-8
_BYTE_BITS = 8
_CHARACTERS = 0x110000  # code points of Unicode
_PADDING = np.array([2**64 - 2 ** (_BYTE_BITS * n) for n in range(_WIDTH + 1)], dtype=np.uint64)


class Match(NamedTuple):
    """Precision and recall of each pair of a response and a reference."""

    precision: NDArray[np.float64]
    """Share of the response's tokens that the reference also has, in [0, 1]."""
    recall: NDArray[np.float64]
    """Share of the reference's tokens that the response also has, in [0, 1]."""

    def f_score(self, beta: float = 1.0) -> NDArray[np.float64]:
        r"""Return the weighted harmonic mean of precision P and recall R, in [0, 1]; 0 where either is 0.

        .. math:: F_\beta = (1 + \beta^2) P R / (\beta^2 P + R)

        Args:
            beta: weight of recall relative to precision; above 0.

        Source: van Rijsbergen (1979), "Information Retrieval", chapter 7.

        >>> Match(np.array([1.0]), np.array([0.5])).f_score(beta=2).round(4).tolist()
        [0.5556]
        """
        # In this form, no beta overflows.
        weight = 1 / (1 + beta * beta)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = 1 / (weight / self.precision + (1 - weight) / self.recall)
        return np.where((self.precision > 0) & (self.recall > 0), mean, 0.0)


@dataclass(frozen=True, eq=False)
class TokenColumn:
    """Texts as token numbers: the tokens of text ``i`` are ``numbers[starts[i]:starts[i] + lengths[i]]``.

    Equal tokens have equal numbers. The numbers start at 0 and have no gaps.

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
        """Tokenize texts; ``words`` returns the tokens of a text, separated by spaces."""
        distinct = sorted(dict.fromkeys(texts), key=str.isascii)
        keys, counts = [_keys("", {})], list[int]()
        long: dict[bytes, int] = {}
        for some in _portions(distinct):
            part_keys, part_counts = _split(some, words, long)
            keys.append(part_keys)
            counts += part_counts
        _, numbers = np.unique(np.concatenate(keys), return_inverse=True)
        lengths = np.array(counts, dtype=np.int64)
        indices = dict(zip(distinct, range(len(distinct)), strict=True))
        rows = np.fromiter(map(indices.__getitem__, texts), np.int64, len(texts))
        return cls(numbers, (np.cumsum(lengths) - lengths)[rows], lengths[rows])

    @cached_property
    def vocabulary(self) -> int:
        """Number of different tokens."""
        return int(self.numbers.max(initial=-1)) + 1

    def in_order(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> Match:
        """Match pairs by their longest common subsequence, as in ROUGE-L.

        The arguments are the text indices of each pair, shape (pairs,).

        Source: Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1.
        """
        from rapidfuzz.distance import LCSseq

        common = map(LCSseq.similarity, self._sequences_of(responses), self._sequences_of(references))
        return self._match(np.fromiter(common, np.int64, len(responses)), responses, references)

    def in_bags(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> Match:
        """Match pairs by their common tokens in any order; the arguments are as in `in_order`."""
        return self._match(self.common(responses, references), responses, references)

    def common(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of common tokens of each pair, in any order, shape (pairs,)."""
        first, first_counts = np.unique(self._numbers_by_pair(responses), return_counts=True)
        second, second_counts = np.unique(self._numbers_by_pair(references), return_counts=True)
        both, left, right = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        times = np.minimum(first_counts[left], second_counts[right])
        pairs = both // max(self.vocabulary, 1)
        return np.bincount(pairs, weights=times, minlength=len(responses)).astype(np.int64)

    def equal(self, responses: NDArray[np.int64], references: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the texts of each pair have the same tokens in the same order, shape (pairs,)."""
        return np.fromiter(
            map(eq, self._sequences_of(responses), self._sequences_of(references)), np.bool_, len(responses)
        )

    def longer(self, single: TokenColumn) -> TokenColumn:
        """Build the column of (n+1)-grams from this column of n-grams and the column of single tokens.

        >>> words = TokenColumn.of(["a b a b"], str.lower)
        >>> words.longer(words).numbers[:3].tolist(), words.longer(words).lengths.tolist()
        ([0, 1, 0], [3])
        """
        # n-grams that reach into the next text have numbers too, but after the end of their text.
        step = len(single.numbers) - len(self.numbers) + 1
        runs = self.numbers[:-1] * single.vocabulary + single.numbers[step:]
        _, numbers = np.unique(runs, return_inverse=True)
        return TokenColumn(numbers, self.starts, np.maximum(self.lengths - 1, 0))

    def _match(
        self, common: NDArray[np.int64], responses: NDArray[np.int64], references: NDArray[np.int64]
    ) -> Match:
        lengths = np.maximum(self.lengths, 1)  # an empty text has the share 0
        return Match(common / lengths[responses], common / lengths[references])

    def _sequences_of(self, texts: NDArray[np.int64]) -> list[Any]:
        sequences = self._sequences
        return [sequences[text] for text in texts.tolist()]

    @cached_property
    def _sequences(self) -> list[Any]:
        """The numbers of each text: a string with one character per token, or a list for large numbers."""
        flat: Any = self.numbers.tolist()
        if self.vocabulary <= _CHARACTERS:
            flat = self.numbers.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        ends = self.starts + self.lengths
        return [flat[start:end] for start, end in zip(self.starts.tolist(), ends.tolist(), strict=True)]

    def _numbers_by_pair(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Concatenate the numbers of these texts; numbers of different pairs differ."""
        lengths = self.lengths[texts]
        owners = np.repeat(np.arange(len(texts)), lengths)
        before = np.cumsum(lengths) - lengths
        positions = np.arange(len(owners)) + np.repeat(self.starts[texts] - before, lengths)
        numbers: NDArray[np.int64] = owners * self.vocabulary + self.numbers[positions]
        return numbers


def _portions(texts: Sequence[str]) -> list[Sequence[str]]:
    """Divide the texts into parts of bounded size; ASCII texts, which fold faster, are separate."""
    if not texts:
        return []
    part_numbers = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts))) // _PORTION
    plain = np.fromiter(map(str.isascii, texts), np.bool_, len(texts))
    cuts = np.flatnonzero((part_numbers[1:] != part_numbers[:-1]) | (plain[1:] != plain[:-1])) + 1
    return [texts[start:end] for start, end in pairwise([0, *cuts.tolist(), len(texts)])]


def _split(
    texts: Sequence[str], words: Callable[[str], str], long: dict[bytes, int]
) -> tuple[NDArray[np.uint64], list[int]]:
    """Return the keys of the tokens of all texts, and the number of tokens of each."""
    stripped = [text.rstrip() for text in texts]
    keys = _keys(words(_BETWEEN.join(stripped)), long)
    marks = np.flatnonzero(keys == _MARK_KEY)
    if len(marks) == len(texts) - 1:
        return np.delete(keys, marks), (np.diff(marks, prepend=-1, append=len(keys)) - 1).tolist()
    each = [_keys(words(text), long) for text in stripped]  # one of the texts contains the mark
    return np.concatenate(each), [len(some) for some in each]


def _keys(words: str, long: dict[bytes, int]) -> NDArray[np.uint64]:
    """Return a number for each token: its bytes; for a long token its value in ``long`` and `_NO_BYTE`."""
    content = b" %b%b" % (words.encode("utf-8", "surrogatepass"), b" " * _WIDTH)
    signs = np.frombuffer(content, dtype=np.uint8)
    gaps = signs == ord(" ")
    edges = np.flatnonzero(gaps[1:] != gaps[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    lengths = ends - starts
    # The eight bytes from each sign as one number, without a copy; bytes after the token are masked.
    eights = np.ndarray((len(signs) - _WIDTH + 1,), dtype="<u8", buffer=signs, strides=(1,))
    keys: NDArray[np.uint64] = eights[starts] | _PADDING[np.minimum(lengths, _WIDTH)]
    large = np.flatnonzero(lengths > _WIDTH)
    tokens = map(content.__getitem__, map(slice, starts[large].tolist(), ends[large].tolist()))
    numbers = [long.setdefault(token, len(long)) for token in tokens]
    keys[large] = np.array(numbers, dtype=np.uint64) << _BYTE_BITS | _NO_BYTE
    return keys


_MARK_KEY = _keys(_MARK, {})[0]
