"""Provenance of the scores that a calibration is fitted on, which a run must record completely."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric, prompts_digest
from sgi.kernel.registry import metric as named_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.metric_column import MetricColumn, MetricProvenance
    from sgi.store.run_queries import RunRecord

_NONE_DEFINED: Mapping[str, AnyMetric] = {}
_HINT = "Score the data again: sgi run."


def origin_of(
    record: RunRecord, column: MetricColumn, defined: Mapping[str, AnyMetric] = _NONE_DEFINED
) -> MetricProvenance:
    """Return which models, judge and prompts computed a run's scores of a metric.

    ``defined`` are the metrics that definitions name; see `sgi.metrics.definitions`.

    Raises:
        UsageError: the run was scored with another version of the metric than the installed one, or with an
            unknown version; a model or the judge is not recorded; or the prompts have changed.
        UnknownNameError: the metric is not installed.
    """
    metric = named_metric(column.metric, defined)
    if metric.spec.version != column.version:
        version = f"version {column.version}" if column.version else "an unknown version"
        message = f"{record.label} was scored with {version} of {column.metric}; the installed one is version"
        raise UsageError(f"{message} {metric.spec.version}.", hint=_HINT)
    judged = isinstance(metric, JudgedMetric)
    uses_models = metric.vector_needs or metric.token_needs or metric.entailment_needs
    origin = column.provenance
    if (
        origin is None
        or not origin.is_complete
        or (uses_models and not origin.models)
        or (judged and not origin.judge)
    ):
        message = f"The run {record.label} does not record what computed its scores of {column.metric}"
        raise UsageError(f"{message} ({record.signature or 'no signature'}).", hint=_HINT)
    prompts = prompts_digest([metric])
    if origin.prompts != prompts and "rescored_from" not in record.spec:
        message = f"The prompts of {column.metric} have changed since {record.label} was scored"
        raise UsageError(f"{message} (then {origin.prompts}, now {prompts}).", hint=_HINT)
    return replace(origin, prompts=prompts)  # a rescored run has sent no prompts
