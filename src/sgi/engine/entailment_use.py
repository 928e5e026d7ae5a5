"""Cost and gain of an entailment model in a run: the pairs that it read, and what they changed."""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.kernel.short_text import pluralize
from sgi.metrics.grounding.grounding_model import sigmoid
from sgi.metrics.grounding.nli import SIGNAL
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.intervals import Interval
from sgi.stats.ranking import auroc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sgi.kernel.metric import Scores

EVEN = 0.5
"""A row changes side if the model moves its score across this value."""


@dataclass(eq=False)
class EntailmentAccumulator:
    """Counts the pairs that an entailment model read, and keeps the score that each row has without it.

    Attributes:
        first: score of each row without the entailment of its sentences; NaN without a score.
        rows: number of rows with a score.
        rows_read: number of them with a sentence that the model read.
        sentences: number of sentences that claim something.
        sentences_read: number of them that the model read.
        pairs: number of (passage, sentence) pairs, repeats included.
        changed: number of rows that changed side.
    """

    first: array[float] = field(default_factory=lambda: array("d"))
    rows: int = 0
    rows_read: int = 0
    sentences: int = 0
    sentences_read: int = 0
    pairs: int = 0
    changed: int = 0

    def add(self, scores: Scores) -> None:
        """Add the rows of a batch."""
        for value, details in zip(scores.values.tolist(), scores.details, strict=True):
            part = _entailment_part(details)
            if part is None or np.isnan(value):
                self.first.append(float("nan"))
                continue
            first = _without(value, part["log_odds"])
            self.first.append(first)
            sentences: Any = details["sentences"]
            counts = [_count(sentence) for sentence in sentences]
            claims = [count for count in counts if count is not None]
            self.rows += 1
            self.rows_read += any(claims)
            self.sentences += len(claims)
            self.sentences_read += sum(map(bool, claims))
            self.pairs += sum(claims)
            self.changed += (first >= EVEN) != (value >= EVEN)

    def use(
        self, metric: str, values: NDArray[np.float64], labels: NDArray[np.int8], clusters: NDArray[np.int64]
    ) -> EntailmentUse:
        """Return cost and gain; ``labels`` are 1, 0, or −1 if unknown."""
        first = np.array(self.first, dtype=np.float64)
        known = (labels >= 0) & ~np.isnan(first)
        truth = labels[known] == 1
        difference = auroc_difference(values[known], first[known], truth, clusters[known])
        return EntailmentUse(
            metric,
            self.rows,
            self.rows_read,
            self.sentences,
            self.sentences_read,
            self.pairs,
            self.changed,
            auroc(first[known], truth),
            None if difference is None else difference.value,
            None if difference is None else difference.interval,
        )


@dataclass(frozen=True)
class EntailmentUse:
    """Cost and gain of an entailment model in a run.

    Attributes:
        metric: the canonical string of the metric that uses the model.
        rows, rows_read, sentences, sentences_read, pairs, changed: see `EntailmentAccumulator`.
        auroc_without: AUROC of the score without the model; None without labels of both kinds.
        gain: AUROC with the model minus that without.
        interval: 95 % interval of the gain, clustered; None with too few clusters.
    """

    metric: str
    rows: int
    rows_read: int
    sentences: int
    sentences_read: int
    pairs: int
    changed: int
    auroc_without: float | None
    gain: float | None
    interval: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read the values that `to_dict` wrote."""
        interval = values["interval"] and Interval(**values["interval"])
        return cls(**{**values, "interval": interval})

    def notes(self) -> Iterator[str]:
        """Write the notes for the summary of the run."""
        if not self.rows:
            return
        yield (
            f"Entailment model: {pluralize(self.pairs, 'pair')} ({self.pairs / self.rows:.1f} a row), for "
            f"{self.sentences_read:,} of {pluralize(self.sentences, 'sentence')} in {self.rows_read:,} of "
            f"{pluralize(self.rows, 'row')} ({self.rows_read / self.rows:.1%})."
        )
        if self.gain is None or self.auroc_without is None:
            yield f"It moved the score of {pluralize(self.changed, 'row')} across {EVEN:g}."
            return
        span = f" [{self.interval.low:+.3f}, {self.interval.high:+.3f}]" if self.interval else ""
        yield (
            f"AUROC without the model {self.auroc_without:.3f}; with it {self.gain:+.3f}{span}. It moved the "
            f"score of {pluralize(self.changed, 'row')} across {EVEN:g}."
        )


def uses_entailment(scores: Scores) -> bool:
    """Return whether an entailment model took part in one of these scores."""
    return any(_entailment_part(details) is not None for details in scores.details)


def _entailment_part(details: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the signal of the entailment model in the details of a row, or None."""
    signals, sentences = details.get("signals"), details.get("sentences")
    part = signals.get(SIGNAL) if isinstance(signals, dict) and isinstance(sentences, list) else None
    return part if isinstance(part, dict) and isinstance(part.get("log_odds"), (int, float)) else None


def _count(sentence: Mapping[str, Any]) -> int | None:
    """Return the number of pairs of a sentence; None if it claims nothing."""
    return None if sentence["score"] is None else int(sentence.get("entailment_pairs", 0))


def _without(value: float, log_odds: float) -> float:
    """Return the score without a contribution to its log odds, which is stored with four digits."""
    if not log_odds or not 0 < value < 1:
        return value
    return float(sigmoid(np.log(value) - np.log1p(-value) - log_odds))
