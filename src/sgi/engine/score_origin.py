"""What made the scores of a metric: read from the stored run, or from the resources of a new run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric, prompts_digest
from sgi.kernel.protocols import ENTAILMENT
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.signature import SIGNATURE_VERSION
from sgi.kernel.tokens import TOKENS
from sgi.metrics.calibrated import SPEC as CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.scored import MetricColumn
    from sgi.store.run_queries import RunRecord

_AGAIN = "Score the data again: sgi run."
_SIGNATURE = re.compile(rf"sgi:{SIGNATURE_VERSION}\|emb:(.*)\|judge:(.*)\|n:\d+\|v:[^|]*")


@dataclass(frozen=True)
class Origin:
    """What made scores of a metric, beside the data; scores of equal origin can be read alike.

    Attributes:
        encoders: fingerprints of the models whose vectors it uses, in its order; empty where it uses none.
        judge: fingerprint of the judge it asks; None where it asks none.
        prompts: a hash of what it asks; empty where it asks nothing.
    """

    encoders: tuple[str, ...]
    judge: str | None
    prompts: str

    @classmethod
    def of_resources(cls, inner: AnyMetric, resources: Resources) -> Self:
        """That of the scores which these resources would give."""
        made = resources.provenance(inner)
        return cls(made.models, made.judge or None, prompts_digest([inner]))


def origin_of(record: RunRecord, column: MetricColumn) -> Origin:
    """What made a run's scores of a metric, as its signature and the column tell.

    A run that leaves it open is refused: scores of another model, another judge or another definition look
    the same.

    Args:
        record: the run.
        column: the metric's scores in it.

    Raises:
        UsageError: the run was scored with another version of the metric than the one here, or with one that
            nobody knows; its signature is of another kind, or leaves out a model or the judge; or its judge
            was asked something else than is asked now.
        UnknownNameError: the metric is not installed here.
    """
    inner = named_metric(column.metric)
    if inner.spec.version != column.version:
        raise _of_another_version(record, column, inner.spec.version)
    found = _SIGNATURE.fullmatch(record.signature)
    if found is None:
        raise _untold(record, column)
    encoders = _encoders(record, column, inner, found[1])
    if not isinstance(inner, JudgedMetric):
        return Origin(encoders, None, "")
    judge, _, prompts = found[2].rpartition("@")
    if not judge:
        raise _untold(record, column)
    _check_prompts(record, prompts)
    return Origin(encoders, judge, prompts_digest([inner]))


def _encoders(record: RunRecord, column: MetricColumn, inner: AnyMetric, told: str) -> tuple[str, ...]:
    """The fingerprints, of those a signature lists, of the models that the metric uses."""
    from sgi.store.evaluations import UNOPENED  # brings the database, which to score takes none of

    if not inner.embeds and inner.token_model is None and inner.entailment_model is None:
        return ()
    listed = [] if told == "-" else told.split("+")
    by_name = {text.partition("@")[0]: text for text in listed if "@" in text}
    embedders = tuple(name for name in by_name if not name.startswith((TOKENS, ENTAILMENT)))
    names = inner.wanted_models(embedders) if inner.embeds else ()
    names += () if inner.token_model is None else (inner.token_model.label,)
    names += () if inner.entailment_model is None else (_reader(inner.entailment_model, by_name),)
    names = names if len(by_name) == len(listed) else ()
    encoders = tuple(by_name.get(name, UNOPENED) for name in names)
    if not encoders or any(fingerprint.endswith(UNOPENED) for fingerprint in encoders):
        raise _untold(record, column)
    return encoders


def _reader(named: str, told: Iterable[str]) -> str:
    """What a signature calls the entailment model that a metric names; the name itself if that stays open.

    A folder is called by its last part, wherever it lies. The only one of a run is the one that is meant.
    """
    readers = [name for name in told if name.startswith(ENTAILMENT)]
    if len(readers) > 1:
        readers = [name for name in readers if named.endswith(name.removeprefix(ENTAILMENT))]
    return readers[0] if len(readers) == 1 else named


def _check_prompts(record: RunRecord, then: str) -> None:
    """The prompts of the run are those of today; a rescored run asked nothing itself.

    A metric read through a calibration asks what the one within asks, which is scored beside it.
    """
    if "rescored_from" in record.spec:
        return
    asked = [name for name in record.metrics if name.partition("(")[0] != CALIBRATED.name]
    now = prompts_digest([named_metric(name) for name in asked])
    if then != now:
        message = f"What {record.label} asked its judge ({then}) is not what is asked now ({now})."
        raise UsageError(message, hint=_AGAIN)


def _of_another_version(record: RunRecord, column: MetricColumn, here: int) -> UsageError:
    then = f"version {column.version}" if column.version else "a version that is not known"
    return UsageError(
        f"{record.label} was scored with {then} of {column.metric}; here it is {here}.", hint=_AGAIN
    )


def _untold(record: RunRecord, column: MetricColumn) -> UsageError:
    message = f"The run {record.label} does not tell what made its scores of {column.metric}"
    return UsageError(f"{message} ({record.signature or 'no signature'}).", hint=_AGAIN)
