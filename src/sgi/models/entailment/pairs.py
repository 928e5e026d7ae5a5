"""Joins premise and hypothesis into the input of a model, in the tokenizer's format or by a template.

A premise that is too long is split into windows: overlapping parts that fit into the model's token limit.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.kernel.entailment_profile import HYPOTHESIS, PREMISE
from sgi.kernel.errors import ModelCorruptError
from sgi.models.tokenizer import FileTokenizer, tokenize, window_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_WORD = "a"
"""The text that takes the places of a template, to find the tokens around them."""
_MIN_PREMISE_SHARE = 4
"""A part of a split premise has at least 1/4 of the model's token limit; shorter parts say too little."""


class Stretch(NamedTuple):
    """Adjacent special tokens and their types."""

    ids: tuple[int, ...]
    types: tuple[int, ...]


class Frame(NamedTuple):
    """The special tokens around two texts, and the types of the texts' tokens.

    Its ``repr`` is part of the fingerprint of torch models, so class and field names must not change.
    """

    before: Stretch
    between: Stretch
    after: Stretch
    premise: int
    """The type of the premise's tokens."""
    hypothesis: int
    """The type of the hypothesis's tokens."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Read the frame from a tokenizer.

        Raises:
            ModelCorruptError: the tokenizer joins two texts without a special token between them.
        """
        encoding = tokenizer.encode("a", "a")
        first = [position for position, text in enumerate(encoding.sequence_ids) if text == 0]
        second = [position for position, text in enumerate(encoding.sequence_ids) if text == 1]
        if not first or not second or second[0] <= first[-1] + 1:
            message = "The tokenizer puts no special token between two texts."
            raise ModelCorruptError(
                message, hint="Name an entailment model with the tokenizer that it was trained with."
            )

        def cut(start: int, stop: int) -> Stretch:
            return Stretch(tuple(encoding.ids[start:stop]), tuple(encoding.type_ids[start:stop]))

        return cls(
            before=cut(0, first[0]),
            between=cut(first[-1] + 1, second[0]),
            after=cut(second[-1] + 1, len(encoding.ids)),
            premise=encoding.type_ids[first[0]],
            hypothesis=encoding.type_ids[second[0]],
        )

    @classmethod
    def of_template(cls, tokenizer: Tokenizer, template: str) -> Self:
        """Read the frame from a template; special tokens in the template count as such.

        Raises:
            ModelCorruptError: the tokenizer does not read a text in the template as it reads the text alone.
        """
        start = template.index(PREMISE)
        after_premise = start + 1
        second = template.index(HYPOTHESIS) - len(PREMISE) + 1
        text = template.replace(PREMISE, _WORD).replace(HYPOTHESIS, _WORD)
        tokenizer.encode_special_tokens = False
        encoding = tokenizer.encode(text)
        tokenizer.encode_special_tokens = True
        single = tokenizer.encode(_WORD)
        own = [token for token, mask in zip(single.ids, single.special_tokens_mask, strict=True) if not mask]
        premise = _covering(encoding.offsets, start, after_premise)
        hypothesis = _covering(encoding.offsets, second, second + 1)
        if any(encoding.ids[part] != own for part in (premise, hypothesis)):
            message = "The tokenizer reads a text in the template differently than the text alone."
            hint = "Use the tokenizer of the model's training, and a template without words beside the texts."
            raise ModelCorruptError(message, hint=hint)

        def cut(ids: Sequence[int]) -> Stretch:
            return Stretch(tuple(ids), (0,) * len(ids))

        return cls(
            before=cut(encoding.ids[: premise.start]),
            between=cut(encoding.ids[premise.stop : hypothesis.start]),
            after=cut(encoding.ids[hypothesis.stop :]),
            premise=0,
            hypothesis=0,
        )

    @property
    def size(self) -> int:
        """The number of tokens that the frame adds to a pair."""
        return len(self.before.ids) + len(self.between.ids) + len(self.after.ids)

    def without_types(self) -> Frame:
        """Return the same frame with token type id 0 for every token."""
        before, between, after = (Stretch(part.ids, (0,) * len(part.ids)) for part in self[:3])
        return Frame(before, between, after, premise=0, hypothesis=0)

    def around(self, premise: NDArray[np.int64], hypothesis: NDArray[np.int64]) -> Window:
        """Return the model's input for a pair.

        >>> one = Stretch((2,), (0,))
        >>> Frame(one, Stretch((3,), (0,)), Stretch((3,), (1,)), 0, 1).around(np.array([7, 8]), np.array([9]))
        Window(ids=array([2, 7, 8, 3, 9, 3]), types=array([0, 0, 0, 0, 1, 1]))
        """
        before, between, after = self.before, self.between, self.after
        ids = np.concatenate([before.ids, premise, between.ids, hypothesis, after.ids])
        first, second = [self.premise] * len(premise), [self.hypothesis] * len(hypothesis)
        types = np.concatenate([before.types, first, between.types, second, after.types])
        return Window(ids.astype(np.int64), types.astype(np.int64))


def _covering(offsets: Sequence[tuple[int, int]], start: int, stop: int) -> slice:
    """Return the tokens that cover the characters from ``start`` to ``stop``; a token may begin before."""
    places = [place for place, (first, last) in enumerate(offsets) if first < stop and last > start]
    return slice(places[0], places[-1] + 1) if places else slice(0, 0)


class Window(NamedTuple):
    """The model's input for a hypothesis and its premise, or for a hypothesis and a part of its premise."""

    ids: NDArray[np.int64]
    """The token ids, including special tokens, shape (length,)."""
    types: NDArray[np.int64]
    """The token type ids, shape (length,)."""


class PairTokenizer:
    """Tokenizer of (premise, hypothesis) pairs; it is thread-safe.

    Special tokens in a text, such as ``[SEP]``, are read as words, so that no text can end the premise early.

    Args:
        tokenizer: the model's tokenizer; this class changes its settings.
        limit: the maximum number of tokens that the model reads at once, including special tokens.
        typed: whether premise and hypothesis have different token type ids.
        template: a text with places for premise and hypothesis, instead of the tokenizer's format of pairs.

    Raises:
        ModelCorruptError: the tokenizer puts no special token between two texts or reads the template
            otherwise than the texts alone, or the limit leaves no tokens for the texts.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int, *, typed: bool = True, template: str = "") -> None:
        self._tokenizer = FileTokenizer(tokenizer)
        tokenizer.encode_special_tokens = True
        self.limit = limit
        frame = Frame.of_template(tokenizer, template) if template else Frame.of(tokenizer)
        self.frame = frame if typed else frame.without_types()
        if self.frame.size + 2 > limit:
            message = (
                f"The model's token limit of {limit}, minus {self.frame.size} special tokens, must have room "
                "for two texts."
            )
            raise ModelCorruptError(message, hint="Correct the limit in the model's configuration.")
        self._lock = Lock()
        added = tokenizer.get_added_tokens_decoder().items()
        self._special_words = {token: word.content for token, word in added if word.special}
        self._special = self._tokenizer.special_tokens

    def token_ids(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return the token ids of each whole text, without special tokens; refuse invalid Unicode."""
        with self._lock:
            token_ids = tokenize(self._tokenizer, texts).ids
            for place, text in enumerate(texts):
                own = token_ids[place][self._special.before : len(token_ids[place]) - self._special.after]
                broken = self._break_special_words(text, own)
                if broken != text:
                    token_ids[place] = tokenize(self._tokenizer, [broken]).ids[0]
        return [ids[self._special.before : len(ids) - self._special.after] for ids in token_ids]

    def _break_special_words(self, text: str, ids: NDArray[np.int64]) -> str:
        """Put a space into each special token that a text contains and the tokenizer reads as such.

        Tokenizers of SentencePiece models have special tokens in their vocabulary, and find them in texts.
        """
        for token, word in self._special_words.items():
            if len(word) > 1 and word in text and token in ids:
                text = text.replace(word, f"{word[0]} {word[1:]}")
        return text

    def readable(self, hypothesis: NDArray[np.int64]) -> bool:
        """Return whether a hypothesis leaves at least a quarter of the token limit for the premise."""
        return self.room(hypothesis) * _MIN_PREMISE_SHARE >= self.limit

    def room(self, hypothesis: NDArray[np.int64]) -> int:
        """Return how many tokens of a premise fit beside a hypothesis; negative if it is too long."""
        return self.limit - self.frame.size - len(hypothesis)

    def windows(self, premise: NDArray[np.int64], hypothesis: NDArray[np.int64]) -> list[Window] | None:
        """Return the windows of a pair, only one if the pair is short; None if the hypothesis is too long.

        Each window contains the whole hypothesis. Adjacent windows overlap by at least half of their premise
        tokens, so that one of them contains any shorter passage without a break.
        """
        room = self.room(hypothesis)
        if len(premise) <= room:
            return [self.frame.around(premise, hypothesis)]
        if not self.readable(hypothesis):
            return None
        starts = window_starts(len(premise), room)
        return [self.frame.around(premise[start : start + room], hypothesis) for start in starts]
