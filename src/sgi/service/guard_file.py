"""Fits a guard on good answers: the limit below which it blocks, and the promise; reads guard files."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, Field, field_validator, model_validator

from sgi.engine.digest_file import FROZEN, DigestFile
from sgi.engine.progress import Advanced, Finished, Started
from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.short_text import quote, short_repr
from sgi.metrics.grounding.detector import Grounding
from sgi.metrics.grounding.streaming import SENTENCE_MARGIN, StreamedAnswer, read_answer
from sgi.stats.conformal import (
    FLAGS_NOTHING,
    conformal_threshold,
    highest_share,
    one_row_per_cluster,
    rows_needed,
)
from sgi.stats.traffic_monitor import TrafficLimit, traffic_limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sgi.engine.progress import Listener
    from sgi.io.dataset import DataLike
    from sgi.kernel.sample import Sample
    from sgi.stats.traffic_monitor import Side

CONFIDENCE = 0.95
"""The probability, over draws of the good answers, that a promise holds."""

MIN_QUESTIONS = 10
"""The least number of questions with a good answer; ten promise 26 %."""

SCORE, ANSWER_WORDS, PASSAGE_WORDS = "score", "answer words", "passage words"
_BOTH: tuple[Side, ...] = "below", "above"
SIDES: Mapping[str, Sequence[Side]] = {SCORE: ("below",), ANSWER_WORDS: _BOTH, PASSAGE_WORDS: _BOTH}
"""The sides that count, for each value of an answer that the monitor tests."""

_NO_CLAIM = 2.0
"""A finite score above all others, for answers that claim nothing."""
_MAX_QUOTED = 60
_ROUNDING = 1e-9
_NOT_BAD = "expected bad answers, found the label 1"

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class CaughtShare(BaseModel):
    """The share of labelled bad answers that the guard blocks, with an interval of 95 %.

    Attributes:
        value: the share, one answer to each question.
        low: the lower end of the interval of Clopper and Pearson.
        high: the upper end.
        questions: the number of questions.
    """

    model_config = FROZEN

    value: Share
    low: Share
    high: Share
    questions: Annotated[int, Field(ge=1)]

    @classmethod
    def of(cls, caught: int, questions: int) -> Self:
        """Return the share of questions whose bad answer is caught."""
        tail = (1 - CONFIDENCE) / 2
        low = 1 - highest_share(questions - caught, questions, tail)
        return cls(
            value=caught / questions,
            low=low,
            high=highest_share(caught, questions, tail),
            questions=questions,
        )


class GuardFile(DigestFile):
    """A fitted guard: it blocks answers with a score below ``limit``.

    Attributes:
        metric: the metric that gives the scores.
        version: version of the metric's definition.
        margin: the margin of a sentence that is scored alone, in log odds.
        limit: answers with a lower score are blocked.
        promise: the largest share of good answers that is blocked, with 95 % confidence: one answer to each
            of new questions like the fitted ones, among answers that get a score or claim nothing.
        asked: the share that was asked for.
        questions: the number of questions with a good answer, of which one each was used.
        answers: the number of good answers.
        silent: the number of used answers that claim nothing; they are never blocked.
        left_out: the number of questions whose answer could not be scored.
        caught: the share of labelled bad answers that is blocked; None if it is unknown.
        bad_share: the largest share of bad answers in traffic at which the promise is not withdrawn.
        traffic: the limits of the test that traffic looks like the fitted answers.
    """

    FORMAT: ClassVar = 1
    KIND: ClassVar = "guard"
    MADE_BY: ClassVar = "sgi guard fit GOOD -o guard.json"
    AGAIN: ClassVar = "Fit the guard again"
    ANEW: ClassVar = "Fit the guard again: sgi guard fit GOOD -o guard.json."

    format: Literal[1] = 1
    metric: str
    version: Annotated[int, Field(ge=1)]
    margin: float
    limit: Annotated[float, Field(gt=0, le=1)]
    promise: Share
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = CONFIDENCE
    asked: Share
    questions: Annotated[int, Field(ge=MIN_QUESTIONS)]
    answers: Count
    silent: Count
    left_out: Count
    caught: CaughtShare | None = None
    bad_share: Share
    traffic: tuple[TrafficLimit, ...]

    __repr__ = short_repr

    @field_validator("traffic")
    @classmethod
    def _check_traffic(cls, limits: tuple[TrafficLimit, ...]) -> tuple[TrafficLimit, ...]:
        for limit in limits:
            if limit.side not in SIDES.get(limit.value, ()):
                message = (
                    f"there is no test of values {limit.side} a limit of '{quote(limit.value, _MAX_QUOTED)}'"
                )
                raise ValueError(message)
        return limits

    @model_validator(mode="after")
    def _check_promise(self) -> Self:
        lowest = -math.expm1(math.log1p(-self.confidence) / self.questions)
        if self.promise < lowest * (1 - _ROUNDING):
            raise ValueError(f"{self.questions:,} questions cannot promise less than {lowest:.3g}")
        return self

    @classmethod
    def open(cls, value: object) -> Self:
        """Read a guard file that this version can use.

        Raises:
            UsageError: as `DigestFile.read`; or the file is for another metric or version of it.
        """
        guard = cls.read(value)
        spec = Grounding().spec
        fitted, used = (guard.metric, guard.version, guard.margin), (spec.name, spec.version, SENTENCE_MARGIN)
        if fitted != used:
            found = f"version {guard.version} of {quote(guard.metric, _MAX_QUOTED)}, margin {guard.margin:g}"
            message = f"The guard {guard.digest} was fitted with {found}; "
            ours = f"this is version {spec.version} of {spec.name}, margin {SENTENCE_MARGIN:g}"
            raise UsageError(f"{message}{ours}.", hint=cls.ANEW)
        return guard


class LeftOut(NamedTuple):
    """An answer that was not used, and why."""

    id: str
    reason: str


class FittedGuard(NamedTuple):
    """A guard, and the answers that could not be scored."""

    file: GuardFile
    left_out: tuple[LeftOut, ...]

    @property
    def shortfall(self) -> str:
        """Why the promise is above the share that was asked for; "" if it is not."""
        file = self.file
        if file.promise <= file.asked:
            return ""
        needed = rows_needed(file.asked, file.confidence)
        return (
            f"{file.questions:,} good answers promise {100 * file.promise:.2g} %, not "
            f"{100 * file.asked:.3g} %; {needed:,} are needed for {100 * file.asked:.3g} %"
        )


def fit_guard(
    good: DataLike,
    bad: DataLike | None = None,
    *,
    max_false_alarms: float = 0.05,
    bad_share: float = 0.1,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    listener: Listener = lambda _: None,
) -> FittedGuard:
    r"""Fit a guard on good answers.

    One answer to each of n questions is used. The limit is the k-th smallest of their scores, for the largest
    k with :math:`P(\text{Bin}(n, r) \le k - 1) \le 0.05` for the asked rate r. If there is none, the limit is
    the lowest score, and the promised rate is :math:`1 - 0.05^{1/n}`.

    Args:
        good: data with good answers: question, contexts, response. Rows with the label 0 are bad answers.
        bad: data with bad answers, to measure the share that is blocked.
        max_false_alarms: the largest share of good answers that may be blocked, in (0, 1).
        bad_share: the largest share of bad answers in traffic that is expected, in [0, 1).
        columns: field → column, for columns whose names are not recognised.
        encoding: the encoding of text files.
        listener: called with the progress.

    Raises:
        UsageError: a share is out of range, or fewer than ten questions have a good answer with a score.
        DataError: a row cannot be read.

    Source: Wilks (1941), Ann. Math. Stat. 12 (tolerance limits).
    """
    if not 0 < max_false_alarms < 1:
        raise UsageError(f"The share of false alarms must be above 0 and below 1, not {max_false_alarms!r}.")
    if not 0 <= bad_share < 1:
        raise UsageError(f"The share of bad answers must be at least 0 and below 1, not {bad_share!r}.")
    accepted, rejected = _labelled(good, bad, columns=columns, encoding=encoding)
    chosen, wrong = _one_each(accepted), _one_each(rejected)
    listener(Started("fit", len(chosen) + len(wrong)))
    (read, failures), (wrong_read, wrong_failures) = _read(chosen, listener), _read(wrong, listener)
    listener(Finished("fit"))
    scores = _scores(read)
    limit, promise = fit_limit(scores, max_false_alarms)
    caught = int((_scores(wrong_read) < limit).sum())
    guard = GuardFile(
        metric=Grounding.spec.name,
        version=Grounding.spec.version,
        margin=SENTENCE_MARGIN,
        limit=limit,
        promise=promise,
        asked=max_false_alarms,
        questions=len(read),
        answers=len(accepted),
        silent=int(np.isinf(scores).sum()),
        left_out=len(failures),
        caught=CaughtShare.of(caught, len(wrong_read)) if wrong_read else None,
        bad_share=bad_share,
        traffic=_traffic_limits(read, bad_share),
    )
    return FittedGuard(guard, (*failures, *wrong_failures))


def _labelled(good: DataLike, bad: DataLike | None, **options: Any) -> tuple[list[Sample], list[Sample]]:
    """Return the rows with good and with bad answers."""
    rows = list(open_dataset(good, **options).samples())
    others = [] if bad is None else list(open_dataset(bad, **options).samples())
    for row in others:
        if row.label:
            raise DataError(_NOT_BAD, file=_file_name(bad), sample_id=row.id, field="label")
    accepted = [row for row in rows if row.label is not False]
    return accepted, [row for row in rows if row.label is False] + others


def _traffic_limits(read: Sequence[StreamedAnswer], bad_share: float) -> tuple[TrafficLimit, ...]:
    values: dict[str, ArrayLike] = {
        SCORE: np.minimum(_scores(read), _NO_CLAIM),
        ANSWER_WORDS: [answer.words for answer in read],
        PASSAGE_WORDS: [answer.passage_words for answer in read],
    }
    return traffic_limits(values, SIDES, other_share=bad_share)


def _scores(read: Sequence[StreamedAnswer]) -> NDArray[np.float64]:
    """Return the scores; infinite for answers that claim nothing."""
    return np.array([math.inf if answer.score is None else answer.score for answer in read])


def fit_limit(scores: NDArray[np.float64], asked: float) -> tuple[float, float]:
    """Return the limit below which answers are blocked, and the rate that it promises; see `fit_guard`.

    Args:
        scores: scores of good answers, one to each question, in [0, 1]; infinite for those without claims.
        asked: the largest share that may be blocked.

    Raises:
        UsageError: less than ten of them claim something.
    """
    n, claiming = len(scores), scores[np.isfinite(scores)]
    if len(claiming) < MIN_QUESTIONS:
        message = f"Good answers to {len(claiming):,} questions have a score; {MIN_QUESTIONS} are needed."
        needed = rows_needed(asked, CONFIDENCE)
        raise UsageError(message, hint=f"Give more good answers: {needed:,} promise {100 * asked:.3g} %.")
    top = float(claiming.max())
    finite = np.minimum(scores, _NO_CLAIM)
    threshold = conformal_threshold(finite, asked, confidence=CONFIDENCE)
    if threshold == FLAGS_NOTHING:
        return float(finite.min()), highest_share(0, n, 1 - CONFIDENCE)
    return min(threshold, top), asked


def _file_name(data: DataLike) -> str | None:
    return str(data) if isinstance(data, (str, PathLike)) else None


def _one_each(rows: Sequence[Sample]) -> list[Sample]:
    """Return one row of each question."""
    clusters = np.array([row.cluster(number) for number, row in enumerate(rows)], dtype=np.int64)
    return [rows[number] for number in one_row_per_cluster(clusters)]


def _read(rows: Sequence[Sample], listener: Listener) -> tuple[list[StreamedAnswer], list[LeftOut]]:
    read, failures = [], []
    for row in rows:
        answer = read_answer(row.question, row.contexts, row.response)
        if answer.problem:
            failures.append(LeftOut(row.id, answer.problem))
        else:
            read.append(answer)
        listener(Advanced(1))
    return read, failures
