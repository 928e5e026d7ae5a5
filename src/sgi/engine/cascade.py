"""Settings, fitted threshold and summary of a cascade, which asks the judge only about doubtful rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sgi.io.readers import absolute
from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import pluralize
from sgi.metrics.grounding.detector import Grounding
from sgi.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgi.kernel.metric import AnyMetric


DETECTOR = Grounding.spec.name
"""The metric that clears rows."""


_KEYS = ("alpha", "labelled")


_HINT = "Write alpha=0.05, or alpha=0.05,labelled=FILE."


class FittedThreshold(BaseModel):
    """A threshold, and the labelled rows it was fitted on.

    Attributes:
        threshold: rows with larger scores are cleared, which means that the judge is not asked about them;
            None if there are too few labelled rows to clear any.
        unsupported: number of unsupported rows with a score, one for each question.
        candidates: number of unsupported rows, one for each question.
        labelled: number of all labelled rows.
        apart: whether no row of the data shares its question or passages with a labelled row, so that labels
            of the data can measure the misses.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    unsupported: Annotated[int, Field(ge=0)]
    candidates: Annotated[int, Field(ge=0)]
    labelled: Annotated[int, Field(ge=0)]
    apart: bool


def format_threshold(threshold: float) -> str:
    """Format a threshold with four digits, or with more if it would round to 1.

    >>> format_threshold(0.87124), format_threshold(0.999993), format_threshold(1.0)
    ('0.8712', '0.99999', '1')
    """
    texts = (f"{threshold:.{digits}g}" for digits in range(4, 18))
    return next(text for text in texts if float(text) < 1 or threshold >= 1)


class Cascade(BaseModel):
    """Settings for asking the judge only about rows that `grounding` does not clear (accept as supported).

    Attributes:
        alpha: the share of unsupported rows that may be cleared, in (0, 1).
        labelled: a file of labelled rows, like the rows to score; None for the labels of the data.
        fitted: the threshold, once it is known; stored with the run and used again when the run resumes.

    >>> Cascade(alpha=0.05).fewest
    19
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", serialize_by_alias=True, validate_by_alias=True, validate_by_name=True
    )

    alpha: Annotated[float, Field(gt=0, lt=1)]
    labelled: Path | None = None
    fitted: FittedThreshold | None = Field(default=None, alias="learnt")

    @property
    def fewest(self) -> int:
        """The minimum number of unsupported rows, of different questions, for clearing rows: 1/alpha − 1."""
        return math.ceil(1 / Fraction(repr(self.alpha))) - 1

    def identity(self) -> dict[str, Any]:
        """Return the settings that decide which rows go to the judge."""
        threshold = "unknown" if self.fitted is None else self.fitted.threshold
        return {"alpha": self.alpha, "threshold": threshold}

    def with_absolute_path(self) -> Self:
        """Return the cascade with an absolute path to its file of labelled rows."""
        return self.model_copy(update={"labelled": self.labelled and absolute(self.labelled)})

    def with_stored_threshold(self, before: object) -> Self:
        """Return the cascade with the stored threshold of a resumed run, if the settings are the same."""
        stored = None if before is None else type(self).model_validate(before)
        settings = self.alpha, self.with_absolute_path().labelled
        if stored is not None and (stored.alpha, stored.with_absolute_path().labelled) == settings:
            return stored
        return self.model_copy(update={"fitted": None})


def parse_cascade(value: object) -> Cascade | None:
    """Parse a cascade from text, or from a table of values.

    >>> parse_cascade("alpha=0.1, labelled=checked.jsonl").labelled.name
    'checked.jsonl'
    """
    if value is None or isinstance(value, Cascade):
        return value
    values = _pairs(value) if isinstance(value, str) else value
    try:
        return Cascade.model_validate(values)
    except ValidationError as errors:
        first = errors.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"])) or "it"
    if place == "alpha":
        hint = "It is the share of unsupported rows that may be cleared, such as alpha=0.05."
        raise UsageError("The alpha of a cascade must be above 0 and below 1.", hint=hint)
    raise UsageError(
        f"Cannot read the cascade: {place}: {first['msg'][:1].lower()}{first['msg'][1:]}.", hint=_HINT
    )


def _pairs(text: str) -> dict[str, str]:
    """Parse ``alpha=0.05,labelled=FILE``; a comma without a key after it belongs to the name of the file."""
    values: dict[str, str] = {}
    last = ""
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if equals and key.strip() in _KEYS and key.strip() not in values:
            last = key.strip()
            values[last] = value.strip()
        elif last == "labelled":
            values[last] += f",{part}"
        else:
            raise UsageError(f"Cannot read the cascade {text!r}.", hint=_HINT)
    if "" in values.values() or "alpha" not in values:
        raise UsageError(f"Cannot read the cascade {text!r}.", hint=_HINT)
    return values


def detector_of(metrics: Iterable[AnyMetric]) -> AnyMetric:
    """Return the metric that clears rows: the first `grounding` among these, or one without parameters."""
    return next((metric for metric in metrics if metric.spec.name == DETECTOR), Grounding())


def detector_metrics(named: Iterable[str | AnyMetric]) -> tuple[AnyMetric, ...]:
    """Return the metric that clears rows, as a tuple; empty if the names include it.

    >>> [metric.canonical for metric in detector_metrics(["faithfulness"])], detector_metrics(["grounding"])
    (['grounding'], ())
    """
    names = (metric_name(name) if isinstance(name, str) else name.spec.name for name in named)
    return () if DETECTOR in names else (Grounding(),)


@dataclass(frozen=True)
class Misses:
    """Unsupported rows that were cleared by mistake; they were not used to fit the threshold.

    Attributes:
        unsupported: number of labelled unsupported rows of the data.
        cleared: number of these rows that did not go to the judge.
        interval: 95 % interval of the cleared share, clustered by question; None with too few questions.
    """

    unsupported: int
    cleared: int
    interval: Interval | None

    @property
    def rate(self) -> float:
        """The share of the unsupported rows that was cleared, in [0, 1]."""
        return self.cleared / self.unsupported


@dataclass(frozen=True)
class CascadeSummary:
    """The results of a cascade.

    Attributes:
        alpha: the share of unsupported rows that may be cleared.
        threshold: rows with larger scores were cleared; None if none could be cleared.
        detector: the canonical string of the metric that clears.
        judged: the metrics that score only the rows that were not cleared.
        rows: number of rows of the run.
        cleared: number of rows that did not go to the judge.
        without_value: number of rows for which the detector has no score.
        calls_per_row: mean number of distinct requests for a row that went to the judge since the run was
            started or resumed; None if no row did.
        calls_saved: estimated number of saved requests: ``cleared`` · ``calls_per_row``.
        unsupported: number of labelled unsupported rows with a score, one for each question.
        candidates: number of labelled unsupported rows, one for each question.
        labelled: number of labelled rows.
        misses: unsupported rows that were cleared, by the labels of the data; None without labels, or if
            these labels fitted the threshold.
    """

    alpha: float
    threshold: float | None
    detector: str
    judged: tuple[str, ...]
    rows: int
    cleared: int
    without_value: int
    calls_per_row: float | None
    calls_saved: int | None
    unsupported: int
    candidates: int
    labelled: int
    misses: Misses | None = None

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values, with the share of unsupported rows that were cleared."""
        values = asdict(self)
        if self.misses is not None:
            values["misses"] |= {"rate": self.misses.rate}
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read the summary that `to_dict` wrote."""
        stored = values["misses"]
        interval = stored and stored["interval"] and Interval(**stored["interval"])
        misses = stored and Misses(stored["unsupported"], stored["cleared"], interval)
        return cls(**{**values, "judged": tuple(values["judged"]), "misses": misses})

    def notes(self) -> Iterator[str]:
        """Write the notes for the summary of the run."""
        name = metric_name(self.detector)
        share = self.cleared / self.rows if self.rows else 0.0
        if self.threshold is None:
            fewest = Cascade(alpha=self.alpha).fewest
            scored = f", {self.unsupported:,} of them with a score of {name}"
            yield (
                f"Cascade: the judge scored every row. Alpha {self.alpha:g} needs at least {fewest:,} "
                f"labelled unsupported rows from different questions; there are {self.candidates:,}"
                f"{scored if self.unsupported < self.candidates else ''}."
            )
            return
        lacking = f", {self.without_value:,} of them without {name}" if self.without_value else ""
        yield (
            f"Cascade: {name} above {format_threshold(self.threshold)} cleared {self.cleared:,} of "
            f"{pluralize(self.rows, 'row')} ({share:.1%}); the judge scored the other "
            f"{self.rows - self.cleared:,}{lacking}."
        )
        yield (
            f"The means of {', '.join(self.judged)} cover only the rows that the judge scored: "
            "the doubtful rows, not all rows."
        )
        if self.calls_saved is not None:
            yield (
                f"Judge calls saved: about {self.calls_saved:,}, estimated from {self.calls_per_row:.3g} "
                "calls for each judged row."
            )
        yield (
            f"Guarantee: on average, at most {self.alpha:.3g} of the unsupported answers are cleared, if "
            f"they are like the {self.unsupported:,} labelled answers that fitted the threshold, one per "
            "question."
        )
        if self.misses is not None:
            misses = self.misses
            span = f" [{misses.interval.low:.1%}, {misses.interval.high:.1%}]" if misses.interval else ""
            yield (
                f"Measured on questions and passages that did not fit the threshold: {misses.cleared:,} of "
                f"{misses.unsupported:,} unsupported rows were cleared, {misses.rate:.1%}{span}."
            )
