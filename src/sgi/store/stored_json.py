"""The shapes of the stored JSON of runs, which may come from a third party; other values count as damage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sgi.kernel.metric import Status
from sgi.kernel.metric_column import MetricProvenance
from sgi.kernel.parsing import AnyText, Count, Finite, JsonObject, first_problem, validate
from sgi.store.bulk_rows import decode_json
from sgi.store.database_location import damaged_error

if TYPE_CHECKING:
    from collections.abc import Mapping

_Versions = dict[AnyText, AnyText]


class _Shape(BaseModel):
    """Base of the shapes; it forbids unknown fields."""

    model_config = ConfigDict(extra="forbid")


class _Interval(_Shape):
    low: Finite
    high: Finite
    level: Finite
    method: AnyText


class _Ranking(_Shape):
    auroc: Finite
    interval: _Interval | None
    positives: Count
    negatives: Count
    no_interval: AnyText = ""


class _Baseline(_Shape):
    name: AnyText
    direction: AnyText
    ranking: _Ranking


class _Dominant(_Shape):
    text: AnyText
    rows: Count
    contexts: Count


class _Clustering(_Shape):
    by: AnyText
    without_value: Count
    dominant: _Dominant | None


class _Misses(_Shape):
    unsupported: Count
    cleared: Count
    interval: _Interval | None
    rate: Finite


class _Cascade(_Shape):
    alpha: Finite
    threshold: Finite | None
    detector: AnyText
    judged: list[AnyText]
    rows: Count
    cleared: Count
    without_value: Count
    calls_per_row: Finite | None
    calls_saved: Count | None
    unsupported: Count
    candidates: Count
    labelled: Count
    misses: _Misses | None


class _EntailmentUse(_Shape):
    metric: AnyText
    rows: Count
    rows_read: Count
    sentences: Count
    sentences_read: Count
    pairs: Count
    changed: Count
    auroc_without: Finite | None
    gain: Finite | None
    interval: _Interval | None


class _CalibrationCheck(_Shape):
    metric: AnyText
    score_distance: Finite
    score_p: Finite
    length_distance: Finite
    length_p: Finite
    questions: Count
    calibration_questions: Count
    undefined: Finite
    calibration_undefined: Finite
    rows: Count
    outside: Count
    low: Finite
    high: Finite
    scores_differ: bool
    lengths_differ: bool


class _Review(_Shape):
    flagged: Count
    low: Count
    limit: Finite
    kinds: dict[AnyText, Count]
    labelled: Count
    wrong: Count
    version: Count
    languages: dict[AnyText, Count] = {}


class _Difference(_Shape):
    value: Finite
    interval: _Interval | None
    rows: Count
    no_interval: AnyText = ""


class _Percentile(_Shape):
    share: Finite
    value: Finite | None
    low: Finite | None
    high: Finite | None
    rows: Count
    needed: Count


class _Metric(_Shape):
    metric: AnyText
    mean: Finite | None
    interval: _Interval | None
    deviation: Finite | None
    counts: dict[Status, Count]
    ranking: _Ranking | None
    content_difference: _Difference | None = None
    review: _Review | None = None
    is_share: bool = False
    is_percentage: bool = False
    is_score: bool = False
    is_ratio: bool = False
    classes: dict[AnyText, Count] = {}
    total: Finite | None = None
    no_interval: AnyText = ""
    best: Finite | None = None
    worst: Finite | None = None
    higher_is_better: bool = True
    percentiles: list[_Percentile] = []
    unit: AnyText = ""
    parts: dict[AnyText, Count] = {}
    rows: Count
    ok: Count
    coverage: Finite
    class_shares: dict[AnyText, Finite] = {}


class _Summary(_Shape):
    rows: Count
    questions: Count
    labelled: Count
    positives: Count
    metrics: list[_Metric]
    baselines: list[_Baseline]
    copies: Count
    truncated: dict[AnyText, Count]
    windowed: dict[AnyText, Count] = {}
    left_out: dict[AnyText, Count]
    signature: AnyText
    cascade: _Cascade | None = None
    entailment: list[_EntailmentUse] = []
    verbatim_copies: Count = 0
    blank: Count = 0
    clustering: _Clustering | None = None
    calibration: _CalibrationCheck | None = None


class _Spec(BaseModel):
    model_config = ConfigDict(extra="allow")

    cluster: AnyText = ""
    no_texts: bool = False


STORED_JSON: dict[str, tuple[Any, Any]] = {
    "spec": ({}, _Spec),
    "versions": ({}, _Versions),
    "summary": (None, _Summary),
}
"""The JSON columns of a run: the replacement of a damaged value, and the shape."""


def read_stored_json(texts: Mapping[str, str | None]) -> tuple[dict[str, Any], str]:
    """Parse the JSON of a run by column, and describe the damage (empty if there is none).

    >>> read_stored_json({"spec": "{}", "versions": '{"sgi": "1"}', "summary": None})
    ({'spec': {}, 'versions': {'sgi': '1'}, 'summary': None}, '')
    >>> read_stored_json({"spec": "{}", "versions": "{}", "summary": '{"rows": "many"}'})[1]
    'summary: rows: input should be a valid integer'
    """
    read, damage = {}, ""
    for name, text in texts.items():
        empty, kind = STORED_JSON[name]
        read[name] = empty
        try:
            value = None if text is None else decode_json(text)
            if value is not None or empty is not None:
                validate(JsonObject, value)
                validate(kind, value)
        except ValidationError as errors:
            damage = damage or f"{name}: {first_problem(errors)}"
        except (ValueError, TypeError, RecursionError):
            damage = damage or f"{name}: it is not JSON"
        else:
            read[name] = value
    return read, damage


def is_metric_summary(entry: Any) -> bool:
    """Return whether an entry of a stored summary has the shape of the summary of a metric."""
    try:
        validate(_Metric, entry)
    except ValidationError:
        return False
    return True


def read_provenance(value: Any) -> MetricProvenance | None:
    """Parse the provenance of a metric. Raises StoreDamagedError if it has another shape."""
    try:
        record: MetricProvenance | None = None if value is None else validate(MetricProvenance, value)
    except ValidationError as errors:
        raise damaged_error(f"the provenance of a metric: {first_problem(errors)}") from errors
    return record
