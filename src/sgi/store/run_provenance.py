"""Read the provenance of a run: the models, judge and prompts that computed its scores."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric, prompts_digest
from sgi.kernel.protocols import ENTAILMENT
from sgi.kernel.provenance import UNOPENED, MetricProvenance, RunProvenance
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.signature import SIGNATURE_VERSION
from sgi.kernel.tokens import TOKENS
from sgi.store.run_queries import run_metrics
from sgi.store.stored_json import read_provenance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.metric import AnyMetric
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_SIGNATURE = re.compile(rf"sgi:{SIGNATURE_VERSION}\|emb:(.*)\|judge:(.*)\|n:\d+\|v:[^|]*")


def run_provenance(database: Database, record: RunRecord) -> RunProvenance:
    """Return the provenance of each metric of a run. Raises StoreDamagedError for a damaged record."""
    with database.reading() as connection:
        rows = connection.execute(run_metrics(record.id)).all()
    metrics = {}
    for row in rows:
        provenance = read_provenance(row.provenance) or derived_provenance(record, row.metric)
        metrics[row.metric] = None if provenance is None else replace(provenance, version=row.version)
    return RunProvenance(record.dataset, record.versions.get("sgi", ""), metrics)


def derived_provenance(record: RunRecord, name: str) -> MetricProvenance | None:
    """Parse the provenance of a metric from the signature of an old run; None if it is not known."""
    match = _SIGNATURE.fullmatch(record.signature)
    try:
        metric = named_metric(name)
    except UsageError:
        return None
    models = None if match is None else _models(metric, match[1])
    if match is None or models is None:
        return None
    if not isinstance(metric, JudgedMetric):
        return MetricProvenance(models)
    judge, _, prompts = match[2].rpartition("@")
    if prompts == _prompts(record.metrics):
        prompts = prompts_digest([metric])
    return MetricProvenance(models, judge, None, prompts) if judge else None


def _models(metric: AnyMetric, signed: str) -> tuple[str, ...] | None:
    listed = [] if signed == "-" else signed.split("+")
    by_name = {text.partition("@")[0]: text for text in listed if "@" in text}
    embedders = tuple(name for name in by_name if not name.startswith((TOKENS, ENTAILMENT)))
    names = metric.embedder_names(embedders) if metric.vector_needs else ()
    if metric.token_needs:
        names += (metric.token_needs.token_model.label,)
    if metric.entailment_needs:
        names += (_signed_entailment(metric.entailment_needs.entailment_model, by_name),)
    if not (metric.vector_needs or names):
        return ()
    if not names or len(by_name) != len(listed) or not {*names} <= {*by_name}:
        return None
    models = tuple(by_name[name] for name in names)
    return None if any(model.endswith(UNOPENED) for model in models) else models


def _signed_entailment(name: str, signed: Iterable[str]) -> str:
    models = [model for model in signed if model.startswith(ENTAILMENT)]
    if len(models) > 1:
        models = [model for model in models if name.endswith(model[len(ENTAILMENT) :])]
    return models[0] if len(models) == 1 else name


def _prompts(metrics: Iterable[str]) -> str:
    """Return the digest of the prompts of a run; a calibrated metric uses those of its inner metric."""
    known = []
    for name in metrics:
        try:
            known.append(named_metric(name))
        except UsageError:
            continue
    return prompts_digest(known)
