"""Two texts as one model reads them: premise, mark, hypothesis; a long premise in windows."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.kernel.errors import ModelCorruptError
from sgi.models.token_encoder.load import Marks, window_starts
from sgi.models.tokenizer import tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_LEAST_ROOM = 4
"""A premise that is cut gets this part of a window at least, one quarter: else it would be read in shreds."""


class Stretch(NamedTuple):
    """Tokens that stand together, and of which type they are."""

    ids: tuple[int, ...]
    types: tuple[int, ...]


class Frame(NamedTuple):
    """What a model puts around two texts, and the types it gives their tokens."""

    before: Stretch
    between: Stretch
    after: Stretch
    premise: int
    """The type of the first text's tokens."""
    hypothesis: int
    """The type of the second's."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """The frame that a tokenizer makes.

        Raises:
            ModelCorruptError: it joins two texts without a mark between them.
        """
        made = tokenizer.encode("a", "a")
        first = [place for place, text in enumerate(made.sequence_ids) if text == 0]
        second = [place for place, text in enumerate(made.sequence_ids) if text == 1]
        if not first or not second or second[0] <= first[-1] + 1:
            message = "The tokenizer puts no mark between two texts, as one for pairs of texts does."
            raise ModelCorruptError(
                message, hint="Name an entailment model, with the tokenizer it was trained with."
            )

        def cut(start: int, stop: int) -> Stretch:
            return Stretch(tuple(made.ids[start:stop]), tuple(made.type_ids[start:stop]))

        return cls(
            before=cut(0, first[0]),
            between=cut(first[-1] + 1, second[0]),
            after=cut(second[-1] + 1, len(made.ids)),
            premise=made.type_ids[first[0]],
            hypothesis=made.type_ids[second[0]],
        )

    @property
    def marks(self) -> int:
        """How many tokens it adds to a pair."""
        return len(self.before.ids) + len(self.between.ids) + len(self.after.ids)

    def untyped(self) -> Frame:
        """The same marks, with the type 0 for every token."""
        before, between, after = (Stretch(part.ids, (0,) * len(part.ids)) for part in self[:3])
        return Frame(before, between, after, premise=0, hypothesis=0)

    def around(self, premise: NDArray[np.int64], hypothesis: NDArray[np.int64]) -> Window:
        """A pair as the model reads it.

        >>> one = Stretch((2,), (0,))
        >>> Frame(one, Stretch((3,), (0,)), Stretch((3,), (1,)), 0, 1).around(np.array([7, 8]), np.array([9]))
        Window(ids=array([2, 7, 8, 3, 9, 3]), types=array([0, 0, 0, 0, 1, 1]))
        """
        before, between, after = self.before, self.between, self.after
        ids = np.concatenate([before.ids, premise, between.ids, hypothesis, after.ids])
        own = [self.premise] * len(premise), [self.hypothesis] * len(hypothesis)
        types = np.concatenate([before.types, own[0], between.types, own[1], after.types])
        return Window(ids.astype(np.int64), types.astype(np.int64))


class Window(NamedTuple):
    """A hypothesis beside the premise, or a stretch of it."""

    ids: NDArray[np.int64]
    """Tokens, marks included, shape (length,)."""
    types: NDArray[np.int64]
    """To which of the texts each belongs, as the tokenizer counts, shape (length,)."""


class PairTokenizer:
    """A tokenizer that makes pairs; threads may share it.

    Words that look like the model's marks, ``[SEP]`` for one, are read as words: no text can end where it
    does not.

    Args:
        tokenizer: the model's; it is changed.
        limit: the most tokens the model reads at once, marks included.
        typed: whether the model was trained with types that tell premise from hypothesis.

    Raises:
        ModelCorruptError: it puts no mark between two texts, or its marks alone fill the limit.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int, *, typed: bool = True) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.limit = limit
        frame = Frame.of(tokenizer)
        self.frame = frame if typed else frame.untyped()
        if self.frame.marks + 2 > limit:
            message = (
                f"The model reads {limit} tokens, {self.frame.marks} of them marks: no room for two texts."
            )
            raise ModelCorruptError(message, hint="Its configuration tells the limit; correct it there.")
        self._tokenizer = tokenizer
        self._lock = Lock()
        alone = tokenizer.encode("a")
        self._marks = Marks.of(alone.ids, alone.special_tokens_mask)

    def own(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """The tokens of every text, none cut, without marks.

        Raises:
            EmbedderError: a text has no UTF-8 form, or is none.
        """
        with self._lock:
            made = tokenize(self._tokenizer, texts).ids
        return [ids[self._marks.before : len(ids) - self._marks.after] for ids in made]

    def readable(self, hypothesis: NDArray[np.int64]) -> bool:
        """Whether a hypothesis leaves a quarter of the window to the premise."""
        return self.room(hypothesis) * _LEAST_ROOM >= self.limit

    def room(self, hypothesis: NDArray[np.int64]) -> int:
        """How many tokens of a premise fit beside a hypothesis; negative where it is too long itself."""
        return self.limit - self.frame.marks - len(hypothesis)

    def windows(self, premise: NDArray[np.int64], hypothesis: NDArray[np.int64]) -> list[Window] | None:
        """The pair, whole or in windows that each hold the whole hypothesis; None if it is not readable.

        Windows overlap by half at least, so that what is shorter than half a window stands in one of them
        whole; together they hold every token of the premise.
        """
        room = self.room(hypothesis)
        if len(premise) <= room:
            return [self.frame.around(premise, hypothesis)]
        if not self.readable(hypothesis):
            return None
        starts = window_starts(len(premise), room)
        return [self.frame.around(premise[start : start + room], hypothesis) for start in starts]
