"""Redundancy: the share of retrieved passages that repeat an earlier passage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import CONTEXTS
from sgi.metrics.parameters import check_share
from sgi.text.overlap import contained, normalised, word_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features


@closed
class Repeat(TypedDict):
    """A passage that repeats an earlier one.

    Attributes:
        passage: its position, from 1.
        repeats: the position of the most similar earlier passage.
        similarity: the share of its word sequences that the earlier passage has.
    """

    passage: int
    repeats: int
    similarity: float


@closed
class RedundancyDetails(TypedDict, total=False):
    """The passages that repeat an earlier one.

    Attributes:
        passages: the number of passages that are not blank.
        repeats: the passages that repeat an earlier one.
    """

    passages: int
    repeats: list[Repeat]


@dataclass(frozen=True)
class Redundancy(Metric["Batch"]):
    r"""Share of the retrieved passages that repeat an earlier passage.

    .. math:: \frac{|\{j : \max_{i < j} s(j, i) \ge \text{threshold}\}|}{n}

    s(j, i) is the share of the sequences of three words of passage j that passage i has; case and
    punctuation do not matter. In [0, 1]; 0 if each passage adds something. Blank passages do not count; the
    score is undefined if there is no other. The details name each repeated passage.

    Limits: paraphrases are not found, and neither are parts shorter than ``threshold`` of a passage.

    Attributes:
        threshold: the least share for a repeat, in [0, 1].

    References: Broder (1997), "On the resemblance and containment of documents".

    >>> from sgi.kernel.vectors import Features
    >>> from sgi.kernel.sample import Batch, Sample
    >>> passages = ("Emma is by Jane Austen.", "Jane Austen is English.", "EMMA is by Jane Austen!")
    >>> Redundancy().score(Batch.of([Sample(id="1", contexts=passages)]), Features.of()).values.tolist()
    [0.3333333333333333]
    """

    threshold: float = 0.8
    spec: ClassVar = MetricSpec(
        "redundancy",
        1,
        needs=CONTEXTS,
        higher_is_better=False,
        citation="Broder (1997)",
        guide=MetricHelp(
            Question.FOUND,
            "0: no passage repeats another. 0.5: half of the passages repeat an earlier one.",
            "It finds repeated words, not repeated meaning.",
        ),
        details=RedundancyDetails,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_share("threshold", self.threshold))

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the share of repeated passages of each row."""
        values = np.zeros(len(batch))
        details: list[dict[str, JsonValue]] = []
        blank = np.zeros(len(batch), dtype=np.bool_)
        for row, contexts in enumerate(batch.contexts):
            texts = [normalised(text) for text in contexts]
            count = sum(map(bool, texts))
            repeats = self._repeats(texts)
            blank[row] = not count
            values[row] = len(repeats) / max(count, 1)
            details.append({"passages": count, "repeats": cast("list[JsonValue]", repeats)})
        return Scores.of(values, undefined={"no passage has words": blank}, details=details)

    def _repeats(self, texts: Sequence[str]) -> list[Repeat]:
        repeats: list[Repeat] = []
        earlier: list[tuple[int, frozenset[str]]] = []
        for number, text in enumerate(texts, 1):
            if not text:
                continue
            sequences = word_sequences(text)
            shares = [(contained(sequences, before), -place) for place, before in earlier]
            similarity, place = max(shares, default=(-1.0, 0))
            if similarity >= self.threshold:
                repeats.append({"passage": number, "repeats": -place, "similarity": similarity})
            earlier.append((number, sequences))
        return repeats
