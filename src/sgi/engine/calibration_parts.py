"""Parts of a calibration file: target, thresholds, quality, reference scores."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from sgi.engine.digest_file import FROZEN
from sgi.kernel.errors import UsageError
from sgi.metrics.calibrated_metric import ReferenceScores
from sgi.stats.conformal import FLAGS_NOTHING, LengthThresholds, rows_needed
from sgi.stats.intervals import Interval

_PROMISED: Final = "grounded answers to questions like these, one a question"
"""The text in the file, for readers without this documentation."""

MAX_REFERENCE: Final = 1000
"""Largest number of questions whose scores a file holds; more are sampled."""

CHANCE: Final = 0.5
"""The AUROC of a random score."""

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


def _of_shares(interval: Interval) -> Interval:
    if not 0 <= interval.low <= interval.high <= 1:
        raise ValueError("the interval is not within [0, 1]")
    return interval


class Target(BaseModel):
    """The share of grounded answers that the thresholds may flag as ungrounded.

    Attributes:
        rate: ``fpr``, the false positive rate: the share of grounded answers that are flagged.
        value: the largest allowed share, in (0, 1).
        among: the grounded answers that count: one for each question, from questions like those of the run.
        confidence: the probability, over calibrations, that no more is flagged, in all ranges of length; None
            if only the mean over calibrations is at most ``value``.
    """

    model_config = FROZEN

    rate: Literal["fpr"]
    value: Annotated[float, Field(gt=0, lt=1)]
    among: Literal["grounded answers to questions like these, one a question"] = _PROMISED
    confidence: Annotated[float, Field(gt=0.5, lt=1)] | None = None

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out no confidence: files without it keep their content and digest."""
        return {name: value for name, value in serialize(self).items() if value is not None}

    @classmethod
    def of(cls, text: str, confidence: float | None = None) -> Self:
        """Parse a target such as ``fpr=0.05``; ``confidence`` is in (0.5, 1).

        >>> Target.of("fpr=0.05").value
        0.05
        """
        name, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if name.strip() != "fpr" or not 0 < number < 1:
            hint = "Write fpr=0.05: the share of grounded answers that may be flagged."
            raise UsageError(f"Cannot read the target {text!r}.", hint=hint)
        if confidence is not None and not 0.5 < confidence < 1:  # noqa: PLR2004 - less is not a confidence
            hint = "Write 0.95: the probability that the calibration keeps its target."
            raise UsageError(f"A confidence must be above 0.5 and below 1, not {confidence:g}.", hint=hint)
        return cls(rate="fpr", value=number, confidence=confidence)

    @property
    def questions_needed(self) -> int:
        """The least number of questions with a grounded answer for a threshold that flags anything."""
        return rows_needed(self.value, self.confidence)


class Rate(BaseModel):
    """A share of questions with one answer each, measured with thresholds fitted without the question.

    Attributes:
        value: the share; None without questions.
        interval: 95 % interval; None with too few questions.
    """

    model_config = FROZEN

    value: Share | None = None
    questions: Count
    interval: Annotated[Interval, AfterValidator(_of_shares)] | None = None


class LengthBin(BaseModel):
    """Responses in a range of lengths, with their own threshold.

    Attributes:
        at_least: the smallest number of characters.
        below: the number of characters at which the next bin begins; None for no limit.
        threshold: on the metric's scale; None flags nothing.
        questions: the number of questions that fitted the threshold, with one grounded answer each.
        false_positives: the share of its grounded answers that are flagged.
        recall: the share of its ungrounded answers that are flagged.
    """

    model_config = FROZEN

    at_least: Count
    below: Annotated[int, Field(gt=0)] | None = None
    threshold: float | None = None
    questions: Count
    false_positives: Rate
    recall: Rate


class Quality(BaseModel):
    """Quality of the probabilities, on rows that the map was not fitted on.

    Attributes:
        brier: the Brier score: the mean squared error of the probabilities, in [0, 1].
        ece_width: the expected calibration error over 10 bins of equal width.
        ece_mass: the same over 10 bins with equal numbers of rows.
        ece_chance: the mean ``ece_mass`` of as many rows if the probabilities were right; an ``ece_mass``
            near it shows no error.
    """

    model_config = FROZEN

    brier: Share
    ece_width: Share
    ece_mass: Share
    ece_chance: Share


class Thresholds(BaseModel):
    """Conformal thresholds, fitted and measured on one answer for each question.

    Attributes:
        target: the share of grounded answers that the thresholds may flag.
        threshold: for responses of any length; None flags nothing.
        bins: the thresholds by length of the response; these are applied.
        false_positives: the measured share of grounded answers that the thresholds flag.
        recall: the measured share of ungrounded answers that the thresholds flag.
    """

    model_config = FROZEN

    target: Target
    threshold: float | None = None
    bins: Annotated[tuple[LengthBin, ...], Field(min_length=1)]
    false_positives: Rate
    recall: Rate

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Every length is in one bin."""
        first, last = self.bins[0], self.bins[-1]
        joined = all(one.below == other.at_least > one.at_least for one, other in pairwise(self.bins))
        if first.at_least or last.below is not None or not joined:
            raise ValueError("the length ranges of the bins have gaps, or overlap")
        return self

    def fitted(self, sign: float) -> LengthThresholds:
        """Return the thresholds on a scale where higher is better."""
        return LengthThresholds(
            tuple(float(length_bin.at_least) for length_bin in self.bins[1:]),
            tuple(
                FLAGS_NOTHING if length_bin.threshold is None else sign * length_bin.threshold
                for length_bin in self.bins
            ),
            tuple(length_bin.questions for length_bin in self.bins),
        )


class Reference(BaseModel):
    """Scores of the calibration rows on the metric's scale, with which the scores of a run are compared.

    Attributes:
        scores: of one row of each question, ascending; of at most `MAX_REFERENCE` questions.
        lengths: characters of the responses of these rows and of those without a value, ascending.
        undefined: number of these questions whose row has no value.
        low: the smallest score of all calibration rows.
        high: the greatest score of all calibration rows.
    """

    model_config = FROZEN

    scores: Annotated[tuple[float, ...], Field(min_length=1, max_length=MAX_REFERENCE)]
    lengths: Annotated[tuple[Count, ...], Field(max_length=MAX_REFERENCE)]
    undefined: Count
    low: float
    high: float

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for numbers in ((self.low, *self.scores, self.high), self.lengths):
            if not all(map(math.isfinite, numbers)) or list(numbers) != sorted(numbers):
                raise ValueError("the reference scores or lengths are not finite and ascending")
        if len(self.lengths) != len(self.scores) + self.undefined:
            raise ValueError("the number of reference lengths differs from the number of rows")
        return self

    def fitted(self) -> ReferenceScores:
        """Return the scores of the calibration rows as the calibrated metric uses them."""
        return ReferenceScores(self.scores, self.lengths, self.undefined, self.low, self.high)


class Discrimination(BaseModel):
    """How well the metric ranks grounded answers above ungrounded ones, in the metric's direction.

    Attributes:
        auroc: the area under the ROC curve, in [0, 1]; 0.5 is chance.
        interval: 95 % interval, clustered by question; None with too few questions.
    """

    model_config = FROZEN

    auroc: Share
    interval: Annotated[Interval, AfterValidator(_of_shares)] | None = None

    @property
    def shown(self) -> bool:
        """Whether the whole interval is above 0.5, the AUROC of random scores."""
        return self.interval is not None and self.interval.low > CHANCE


class ContentWords(BaseModel):
    """The baseline of content-word precision, over the rows that have it.

    Attributes:
        rows: number of rows with both a value and content words.
        auroc: its AUROC.
        difference: AUROC of the metric minus the AUROC of content-word precision.
        interval: 95 % interval of the difference; None with too few questions.
    """

    model_config = FROZEN

    rows: Count
    auroc: Share
    difference: Annotated[float, Field(ge=-1, le=1)]
    interval: Interval | None = None
