"""The file of a calibration: thresholds for a metric, its map to probabilities, and their quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from sgi.engine.calibration_parts import (
    ContentWords,
    Count,
    Discrimination,
    Quality,
    Reference,
    Thresholds,
)
from sgi.engine.digest_file import DigestFile
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.short_text import short_repr
from sgi.metrics.calibrated_metric import Calibration, calibrate_metric
from sgi.metrics.definitions import Definitions
from sgi.stats.logistic_map import LogisticMap
from sgi.stats.probability_maps import IsotonicMap
from sgi.stats.two_samples import TwoSamples

if TYPE_CHECKING:
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


class CalibrationFile(DigestFile):
    """A calibration with its provenance.

    The map takes values (or their log odds) for which higher is better, so values of other metrics are
    negated. Thresholds use the metric's own scale. The map uses all rows.

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

    FORMAT: ClassVar = FORMAT
    KIND: ClassVar = "calibration"
    MADE_BY: ClassVar = "sgi judge calibrate"
    AGAIN: ClassVar = "Calibrate again"
    ANEW: ClassVar = _ANEW

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


def read_calibration(value: object) -> CalibrationFile:
    """Read a calibration; see `DigestFile.read`."""
    return CalibrationFile.read(value)
