"""The file of a calibration: thresholds for a metric, its map to probabilities, and their quality."""

from __future__ import annotations

import json
import math
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    ValidationError,
    computed_field,
    model_serializer,
    model_validator,
)

from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.parsing import read_json
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.short_repr import short_repr
from sgi.kernel.signature import canonical_json, digest
from sgi.metrics.calibration import Calibration, calibrate_metric
from sgi.metrics.definitions import Definitions
from sgi.stats.conformal import FLAGS_NOTHING, LengthThresholds
from sgi.stats.intervals import Interval
from sgi.stats.probability_maps import IsotonicMap, PlattMap, read_map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.provenance import MetricProvenance

FORMAT: Final = 1
"""The version of the format; a change that older versions cannot read increases it."""

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
_ANEW = "Fit a new calibration on a run that was scored like this one: sgi calibrate RUN."

_PROMISED: Final = "grounded answers to questions like these, one a question"
"""The text in the file, for readers without this documentation."""

CHANCE: Final = 0.5
"""The AUROC of a random score."""

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


def _of_shares(interval: Interval) -> Interval:
    if not 0 <= interval.low <= interval.high <= 1:
        raise ValueError("the interval is not within [0, 1]")
    return interval


def _map(value: object) -> PlattMap | IsotonicMap:
    if isinstance(value, (PlattMap, IsotonicMap)):
        return value
    if not isinstance(value, dict):
        raise ValueError("a map is an object")  # noqa: TRY004 - pydantic reports a ValueError
    return read_map(value)


def _definitions(value: object) -> Definitions:
    if isinstance(value, Definitions):
        return value
    if not isinstance(value, dict):  # a text would be read as the name of a file
        raise ValueError("definitions are an object")  # noqa: TRY004 - pydantic reports a ValueError
    try:
        return Definitions.of(value, "define")
    except UsageError as error:
        raise ValueError(str(error)) from error


FittedMap = Annotated[
    PlattMap | IsotonicMap,
    PlainValidator(_map),
    PlainSerializer(lambda fitted: fitted.to_dict()),
]


class Target(BaseModel):
    """The share of grounded answers that the thresholds may flag as ungrounded.

    Attributes:
        rate: ``fpr``, the false positive rate: the share of grounded answers that are flagged.
        value: the largest allowed share, in (0, 1).
        among: the grounded answers that count: one for each question, from questions like those of the run.
    """

    model_config = _FROZEN

    rate: Literal["fpr"]
    value: Annotated[float, Field(gt=0, lt=1)]
    among: Literal["grounded answers to questions like these, one a question"] = _PROMISED

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse a target such as ``fpr=0.05``.

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
        return cls(rate="fpr", value=number)


class Rate(BaseModel):
    """A share of questions with one answer each, measured with thresholds fitted without the question.

    Attributes:
        value: the share; None without questions.
        interval: 95 % interval; None with too few questions.
    """

    model_config = _FROZEN

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

    model_config = _FROZEN

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
    """

    model_config = _FROZEN

    brier: Share
    ece_width: Share
    ece_mass: Share


class Discrimination(BaseModel):
    """How well the metric ranks grounded answers above ungrounded ones, in the metric's direction.

    Attributes:
        auroc: the area under the ROC curve, in [0, 1]; 0.5 is chance.
        interval: 95 % interval, clustered by question; None with too few questions.
    """

    model_config = _FROZEN

    auroc: Share
    interval: Annotated[Interval, AfterValidator(_of_shares)] | None = None

    @property
    def shown(self) -> bool:
        """Whether the whole interval is above the AUROC of a random score."""
        return self.interval is not None and self.interval.low > CHANCE


class CalibrationFile(BaseModel):
    """A calibration with its provenance.

    The map takes values of which higher is better, so values of other metrics are negated. Thresholds use the
    metric's own scale. They are fitted and measured on one answer for each question; the map uses all rows.

    The file holds a digest of its content; a file whose content was changed is rejected. The digest is not a
    signature.

    Attributes:
        metric: the canonical string of the metric.
        version: version of the metric's definition.
        encoders: fingerprints of the metric's embedding models.
        judge: fingerprint of the metric's judge; None if it needs no judge.
        prompts: a hash of the judge's prompts; empty without a judge.
        run: the id of the labelled run that it was fitted on.
        dataset: the hash of the run's data.
        label: the column that holds the labels.
        rows: number of labelled rows with a value.
        positives: number of grounded rows.
        negatives: number of ungrounded rows.
        cluster: the rule by which rows form clusters; see `sgi.kernel.clusters`.
        clusters: number of clusters.
        left_out: number of labelled rows without a value.
        ranking: how well the metric separates grounded from ungrounded rows.
        target: the share of grounded answers that the thresholds may flag.
        threshold: for responses of any length; None flags nothing.
        bins: the thresholds by length of the response; these are applied.
        map: the map from values to probabilities.
        define: the definitions that the metric uses; empty for a metric of SGI or of a plugin.
        base_rate: the quality of a constant probability; the map must be better.
        false_positives: the measured share of grounded answers that the thresholds flag.
        recall: the measured share of ungrounded answers that the thresholds flag.
    """

    model_config = _FROZEN

    format: Literal[1]
    metric: str
    version: Annotated[int, Field(ge=1)]
    higher_is_better: bool
    encoders: tuple[str, ...]
    judge: str | None = None
    prompts: str
    run: str
    dataset: str
    label: str
    rows: Count
    positives: Count
    negatives: Count
    cluster: str
    clusters: Count
    left_out: Count
    ranking: Discrimination
    target: Target
    threshold: float | None = None
    bins: Annotated[tuple[LengthBin, ...], Field(min_length=1)]
    map: FittedMap
    define: Annotated[
        Definitions, PlainValidator(_definitions), PlainSerializer(lambda value: dict(value.tables))
    ] = Definitions()
    quality: Quality
    base_rate: Quality
    false_positives: Rate
    recall: Rate

    __repr__ = short_repr

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Every length is in one bin."""
        first, last = self.bins[0], self.bins[-1]
        joined = all(one.below == other.at_least > one.at_least for one, other in pairwise(self.bins))
        if first.at_least or last.below is not None or not joined:
            raise ValueError("the bins leave out lengths, or overlap")
        return self

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out empty definitions: files of metrics without them keep their content and digest."""
        content: dict[str, Any] = serialize(self)
        if not content.get("define"):
            content.pop("define", None)
        return content

    @computed_field  # type: ignore[prop-decorator]  # mypy does not support decorated properties
    @cached_property
    def digest(self) -> str:
        """A hash of the other fields, as canonical JSON."""
        return digest(canonical_json(self.model_dump(mode="json", exclude={"digest"})), size=4).hex()

    def inner(self) -> AnyMetric:
        """Return the metric that was calibrated.

        Raises:
            UnknownNameError: the metric is not installed.
            UsageError: the installed metric has another version or direction.
        """
        metric = named_metric(self.metric, self.define.metrics)
        if metric.spec.version != self.version:
            versions = f"version {self.version} of {self.metric}; installed is version {metric.spec.version}"
            raise UsageError(f"The calibration {self.digest} is for {versions}.", hint=_ANEW)
        if metric.spec.higher_is_better != self.higher_is_better:
            better = "higher" if self.higher_is_better else "lower"
            message = f"In the calibration {self.digest}, {better} values of {self.metric} are better"
            raise UsageError(f"{message}; the installed metric has the other direction.", hint=_ANEW)
        return metric

    def metrics(self) -> tuple[AnyMetric, AnyMetric]:
        """Return the calibrated metric, and the metric that adds probability and verdict."""
        inner = self.inner()
        return inner, calibrate_metric(inner, self.fitted())

    def fitted(self) -> Calibration:
        """Return the thresholds and the map in the form that the metric applies."""
        sign = 1.0 if self.higher_is_better else -1.0
        return Calibration(
            self.digest,
            self.higher_is_better,
            LengthThresholds(
                tuple(float(length_bin.at_least) for length_bin in self.bins[1:]),
                tuple(
                    FLAGS_NOTHING if length_bin.threshold is None else sign * length_bin.threshold
                    for length_bin in self.bins
                ),
                tuple(length_bin.questions for length_bin in self.bins),
            ),
            self.map,
        )

    def check(self, used: MetricProvenance) -> None:
        """Raise a UsageError if the scores come from other models, another judge or other prompts."""
        if used.models != self.encoders:
            raise self._other("encoder", " + ".join(self.encoders), " + ".join(used.models))
        unknown = isinstance(self.inner(), JudgedMetric) and not used.judge
        if used.judge != (self.judge or "") or unknown:
            raise self._other("judge", self.judge, used.judge)
        if used.prompts != self.prompts:
            raise self._other("set of prompts", self.prompts, used.prompts)

    def _other(self, what: str, fitted: str | None, used: str | None) -> UsageError:
        title = f"The calibration {self.digest} of {self.metric}"
        message = f"{title} was fitted on scores of another {what}: {fitted or 'none'}; this run has "
        return UsageError(f"{message}{used or 'none'}.", hint=_ANEW)

    def to_json(self) -> str:
        """Return the file's text; equal calibrations have equal texts."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_calibration(value: object) -> CalibrationFile:
    """Read a calibration from a path, or from the result of `CalibrationFile.model_dump`.

    Raises:
        UsageError: the file cannot be read, has an unknown format, or does not match its digest.
    """
    if isinstance(value, CalibrationFile):
        return value
    if isinstance(value, (str, Path)):
        content = read_json(Path(value), error=UsageError, hint="`sgi calibrate` makes one.")
        return _of_content(content, str(value))
    return _of_content(value, "the calibration")


def _of_content(content: Any, place: str) -> CalibrationFile:
    if not isinstance(content, dict) or "format" not in content:
        raise UsageError(f"{place}: is not a calibration.", hint="`sgi calibrate` makes one.")
    if content["format"] != FORMAT:
        shown = f"format {content['format']!r:.20}; this version reads format {FORMAT}"
        raise UsageError(
            f"{place}: is of {shown}.", hint="Calibrate again, or use the version of SGI that wrote the file."
        )
    try:
        calibration = CalibrationFile.model_validate(
            {key: content[key] for key in content if key != "digest"}
        )
    except ValidationError as errors:
        problems = "; ".join(_faults(errors)).rstrip(".")
        raise UsageError(f"{place}: is not a calibration: {problems}.", hint="Calibrate again.") from None
    if "digest" not in content:
        raise UsageError(f"{place}: holds no digest of its content.", hint=_ANEW)
    if content["digest"] != calibration.digest:
        digests = f"its digest is {content['digest']!r:.20}, that of its content {calibration.digest!r}"
        raise UsageError(f"{place}: was changed since it was fitted: {digests}.", hint=_ANEW)
    return calibration


def _faults(errors: ValidationError, most: int = 3) -> Iterator[str]:
    for fault in errors.errors(include_url=False, include_input=False, include_context=False)[:most]:
        place = ".".join(map(str, fault["loc"]))
        problem = fault["msg"].removeprefix("Value error, ")
        yield f"{place}: {problem}" if place else problem
