"""The file of a calibration: thresholds for a metric, its map to probabilities, and their quality."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    ValidationError,
    computed_field,
    model_serializer,
)

from sgi.engine.calibration_parts import (
    FROZEN,
    ContentWords,
    Count,
    Discrimination,
    Quality,
    Reference,
    Thresholds,
)
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.parsing import read_json
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.short_text import short_repr
from sgi.kernel.signature import canonical_json, digest
from sgi.metrics.calibrated_metric import Calibration, calibrate_metric
from sgi.metrics.definitions import Definitions
from sgi.stats.logistic_map import LogisticMap
from sgi.stats.probability_maps import IsotonicMap
from sgi.stats.two_samples import TwoSamples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.metric_column import MetricProvenance

FORMAT: Final = 2
"""The version of the format; a change that older versions cannot read increases it."""

_ANEW = "Fit a new calibration on a run that was scored like this one: sgi judge calibrate RUN."


def _map(value: object) -> LogisticMap | IsotonicMap:
    if isinstance(value, (LogisticMap, IsotonicMap)):
        return value
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    match value.get("map"):
        case "logistic":
            return LogisticMap.from_dict(value)
        case "isotonic":
            return IsotonicMap.from_dict(value)
    raise ValueError("expected a logistic or isotonic map")


def _definitions(value: object) -> Definitions:
    if isinstance(value, Definitions):
        return value
    if not isinstance(value, dict):  # a text would be read as the name of a file
        raise ValueError("expected an object with definitions")
    try:
        return Definitions.of(value, "define")
    except UsageError as error:
        raise ValueError(str(error)) from error


FittedMap = Annotated[
    LogisticMap | IsotonicMap,
    PlainValidator(_map),
    PlainSerializer(lambda fitted: fitted.to_dict()),
]


class CalibrationFile(BaseModel):
    """A calibration with its provenance.

    The map takes values (or their log odds) for which higher is better, so values of other metrics are
    negated. Thresholds use the metric's own scale. The map uses all rows.

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
        sampling: comparison of the scores of the labelled rows with the scores of the other rows of the run;
            None with fewer than five of either.
        ranking: how well the metric separates grounded from ungrounded rows.
        reference: the scores of the calibration rows, with which the scores of a run are compared.
        log_odds: whether the map reads the log odds of a value.
        map: the map from values to probabilities.
        thresholds: the thresholds for a target; None if none were requested.
        define: the definitions that the metric uses; empty for a metric of SGI or of a plugin.
        quality: the quality of the probabilities.
        base_rate: the quality of a constant probability; the map must be better.
        words: how well content-word precision separates them, and the difference from it; None without
            passages.
    """

    model_config = FROZEN

    format: Literal[2]
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
    sampling: TwoSamples | None = None
    ranking: Discrimination
    words: ContentWords | None = None
    reference: Reference
    log_odds: bool = False
    map: FittedMap
    thresholds: Thresholds | None = None
    define: Annotated[
        Definitions, PlainValidator(_definitions), PlainSerializer(lambda value: dict(value.tables))
    ] = Definitions()
    quality: Quality
    base_rate: Quality

    __repr__ = short_repr

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is empty: files without it keep their content and digest."""
        content: dict[str, Any] = serialize(self)
        for name in ("define", "sampling"):
            if not content.get(name):
                content.pop(name, None)
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
        """Return the thresholds and the probability map as the calibrated metric applies them."""
        sign = 1.0 if self.higher_is_better else -1.0
        return Calibration(
            self.digest,
            self.higher_is_better,
            self.map,
            self.reference.fitted(),
            self.log_odds,
            None if self.thresholds is None else self.thresholds.fitted(sign),
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
        content = read_json(Path(value), error=UsageError, hint="`sgi judge calibrate` makes one.")
        return _of_content(content, str(value))
    return _of_content(value, "the calibration")


def _of_content(content: Any, place: str) -> CalibrationFile:
    if not isinstance(content, dict) or "format" not in content:
        raise UsageError(f"{place}: the file is not a calibration.", hint="`sgi judge calibrate` makes one.")
    if content["format"] != FORMAT:
        shown = f"format {content['format']!r:.20}; this version reads format {FORMAT}"
        raise UsageError(
            f"{place}: the file has {shown}.",
            hint="Calibrate again, or use the version of SGI that wrote the file.",
        )
    try:
        calibration = CalibrationFile.model_validate(
            {key: content[key] for key in content if key != "digest"}
        )
    except ValidationError as errors:
        problems = "; ".join(_faults(errors)).rstrip(".")
        raise UsageError(
            f"{place}: the file is not a calibration: {problems}.", hint="Calibrate again."
        ) from None
    if "digest" not in content:
        raise UsageError(
            f"{place}: the file has no digest, so SGI cannot check that it is unchanged.", hint=_ANEW
        )
    if content["digest"] != calibration.digest:
        digests = f"its digest is {content['digest']!r:.20}, that of its content {calibration.digest!r}"
        raise UsageError(f"{place}: the file was changed since it was fitted: {digests}.", hint=_ANEW)
    return calibration


def _faults(errors: ValidationError, most: int = 3) -> Iterator[str]:
    for fault in errors.errors(include_url=False, include_input=False, include_context=False)[:most]:
        place = ".".join(map(str, fault["loc"]))
        problem = fault["msg"].removeprefix("Value error, ")
        yield f"{place}: {problem}" if place else problem
