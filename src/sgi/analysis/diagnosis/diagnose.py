"""Diagnoses the rows of a run: reads or computes the metrics, and applies the decision table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.analysis.diagnosis.causes import CAUSES
from sgi.analysis.diagnosis.decision_table import DecisionTable, built_in_table
from sgi.analysis.diagnosis.diagnosis import CauseGroup, CauseShare, Diagnosis, RowDiagnosis
from sgi.analysis.diagnosis.diagnosis_signals import METRICS, SIGNALS, STORED, read_signals
from sgi.analysis.diagnosis.spans import distinct
from sgi.analysis.groups import NO_GROUP, row_groups, row_systems
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.open_resources import model_options, open_resources
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.run_options import RunOptions
from sgi.engine.run_recorder import require_texts
from sgi.engine.score import evaluate_batch
from sgi.engine.stored_options import require_local_models
from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric_name
from sgi.stats.intervals import NoInterval, interval_or_none
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sgi.analysis.diagnosis.causes import Cause, Rule
    from sgi.analysis.diagnosis.diagnosis_signals import Signal
    from sgi.analysis.diagnosis.spans import Span
    from sgi.engine.progress import Listener
    from sgi.engine.run import Run
    from sgi.engine.run_options import EmbedderLike
    from sgi.kernel.metric import AnyMetric, Score, Scores
    from sgi.kernel.sample import Batch, Sample


def cause_shares(
    causes: Sequence[Cause | None], clusters: NDArray[np.int64], *, level: float = 0.95
) -> tuple[CauseShare, ...]:
    """Return the share of each cause among the diagnosed rows, the most frequent first.

    Args:
        causes: the cause of each row; None for a row that is not diagnosed.
        clusters: the cluster number of each row, shape (n,).
        level: the level of the intervals.
    """
    known = np.array([cause is not None for cause in causes], dtype=np.bool_)
    clusters = clusters[known]
    names = [cause for cause in causes if cause is not None]
    shares = []
    for cause in CAUSES:
        values = np.array([name == cause for name in names], dtype=np.float64)
        interval = mean_interval(values, clusters, low=0.0, high=1.0, level=level)
        reason = interval.reason if isinstance(interval, NoInterval) else ""
        mean = float(values.mean()) if names else None
        shares.append(CauseShare(cause, int(values.sum()), mean, interval_or_none(interval), reason))
    return tuple(sorted(shares, key=lambda share: -share.rows))


def cause_groups(
    rows: Sequence[RowDiagnosis], clusters: NDArray[np.int64], groups: Sequence[str | None]
) -> tuple[CauseGroup, ...]:
    """Return the shares of the causes in each group, in the order in which groups first appear."""
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(NO_GROUP if group is None else group, []).append(row)
    result = []
    for name, positions in members.items():
        causes = [rows[position].cause for position in positions]
        shares = cause_shares(causes, clusters[positions])
        result.append(CauseGroup(name, len(causes), sum(cause is not None for cause in causes), shares))
    return tuple(result)


SIGNALS_OF_DOUBT = (
    "invalid_citations",
    "contradicted_facts",
    "wrong_citations",
    "refusal",
    "unsupported_sentences",
    "grounding",
)
"""The signals that `find_doubt` reads, if the decision table has them."""

_WRONG_CITATION = 0.9
_REFUSAL = 0.5


class Doubt(NamedTuple):
    """A reason why a person should read a row that has no cause.

    Attributes:
        value: from 0 to 1; 1 for the rows to read first.
        finding: what was found.
        spans: the parts of the row that it is about.
    """

    value: float
    finding: str
    spans: tuple[Span, ...] = ()


def find_doubt(signals: Mapping[str, Signal], *, has_passages: bool) -> Doubt | None:
    """Return the strongest reason to read a row; None if none of its signals is known.

    A refusal is a reason only if there are passages, which may have the answer.
    """
    known = {name: signals[name] for name in SIGNALS_OF_DOUBT if name in signals}
    for name, value, finding in (
        ("invalid_citations", 1.0, "a citation names a passage that does not exist"),
        ("contradicted_facts", 1.0, "a passage has another value or name: read it"),
        ("wrong_citations", _WRONG_CITATION, "a cited passage may not support its statement: read it"),
        ("refusal", _REFUSAL, "the response refuses; the passages may have the answer"),
    ):
        if name in known and known[name].value and (has_passages or name != "refusal"):
            return Doubt(value, finding, known[name].spans)
    grounding = known.get("grounding")
    if grounding is None or grounding.value is None:
        return None
    unsupported = known.get("unsupported_sentences")
    spans = unsupported.spans if unsupported else ()
    finding = "may be unsupported: read it" if spans else "no error was found"
    return Doubt(1 - float(grounding.value), f"{finding} (grounding {grounding.text})", spans)


_MAX_GROUPS = 50


def diagnose_run(
    run: Run,
    table: DecisionTable | None = None,
    *,
    by: str = "",
    embedder: EmbedderLike | None = None,
    cache: bool | str | Path = True,
    listener: Listener = silent,
) -> Diagnosis:
    """Find the cause of every row of a run; see `diagnose`.

    Args:
        run: the run.
        table: the decision table; None for the built-in one.
        by: as in `diagnose`.
        embedder: a name, a folder or an embedder; None for the model of the run.
        cache: a file for vectors, your user cache (True), or none (False).
        listener: receives the progress.

    Raises:
        UsageError: the texts of the run are not stored, or its model is not on this machine.
    """
    require_texts(run.record, "Diagnosing")
    options = model_options(run.record.spec, () if embedder is None else (embedder,), cache=cache)
    if embedder is None:
        require_local_models(run.record, options.embedders, option="-e")
    work = partial(diagnose, run, table or built_in_table(), by=by, same_models=embedder is None)
    return run_outside_loop(partial(work, options=options, listener=listener))


async def diagnose(
    run: Run,
    table: DecisionTable,
    *,
    by: str = "",
    same_models: bool = True,
    options: RunOptions | None = None,
    listener: Listener = silent,
) -> Diagnosis:
    """Find the cause of every row of a run.

    Scores of the run are used where the run has a metric with the same parameters and version. The others are
    computed; no judge is asked.

    Args:
        run: the run.
        table: the decision table.
        by: a column of the data, or "label"; shares are also computed for each of its values.
        same_models: whether scores that need models can be used: the same models would compute them.
        options: the models for metrics that are computed.
        listener: receives the progress.

    Raises:
        UsageError: the column has more than 50 values.
        UnknownNameError: no row has the column.
    """
    measured = {name for name in (SIGNALS[name].metric for name in table.signals) if name}
    metrics = {name: metric for name, metric in METRICS.items() if name in measured}
    columns = _columns(run, same_models, {name for name in STORED if name in measured}, metrics)
    computed = {name: metric for name, metric in metrics.items() if name not in columns}
    rows: list[RowDiagnosis] = []
    listener(Started("diagnosing", len(run.ids)))
    origins = [run.metrics[canonical].provenance for canonical in columns.values()]
    async with open_resources([*computed.values()], options or RunOptions()) as resources:
        origins += [resources.provenance(metric) for metric in computed.values()]
        for batch, stored in run.batches(columns.values()):
            result = await evaluate_batch(batch, [*computed.values()], resources)
            scores = {name: stored[canonical] for name, canonical in columns.items()}
            scores |= {name: result.scores[metric.canonical] for name, metric in computed.items()}
            rows += _diagnose_batch(table, batch, scores)
            listener(Advanced(len(batch)))
    listener(Finished("diagnosing"))
    if systems := row_systems(run):
        rows = [replace(row, system=system) for row, system in zip(rows, systems, strict=True)]
    return Diagnosis(
        run=run.name,
        rows=tuple(rows),
        causes=cause_shares([row.cause for row in rows], run.clusters),
        table=table.source,
        next_steps=table.next_steps,
        by=by,
        groups=cause_groups(rows, run.clusters, _groups(run, by)) if by else (),
        computed=tuple(metric.canonical for metric in computed.values()),
        models=tuple(sorted({model for origin in origins if origin is not None for model in origin.models})),
        notes=tuple(run.clustering.notes(len(run.ids))),
    )


def _columns(
    run: Run, same_models: bool, stored: Iterable[str], metrics: Mapping[str, AnyMetric]
) -> dict[str, str]:
    """Return the metric of the run that each signal's metric is read from, by canonical string."""
    found: dict[str, str] = {}
    for name in stored:
        for canonical in run.metrics:
            if metric_name(canonical) == name:
                found.setdefault(name, canonical)
    for name, metric in metrics.items():
        column = run.metrics.get(metric.canonical)
        usable = same_models or metric.vector_needs is None
        if column is not None and column.version == metric.spec.version and usable:
            found[name] = metric.canonical
    return found


def _diagnose_batch(
    table: DecisionTable, batch: Batch, scores: Mapping[str, Scores]
) -> Iterable[RowDiagnosis]:
    for position, sample in enumerate(batch.samples):
        of_row = {name: column.row(position) for name, column in scores.items()}
        yield diagnose_row(table, sample, of_row)


def diagnose_row(table: DecisionTable, sample: Sample, scores: Mapping[str, Score]) -> RowDiagnosis:
    """Return the cause of a row, given the scores by the keys of `METRICS`."""
    signals = read_signals(table.signals, sample, scores)
    decision = table.decide(signals)
    rule = decision.rule
    if rule is None:
        return _without_cause(sample, decision.reason, signals)
    names = tuple(dict.fromkeys((*rule.signals, *rule.quoted)))
    return RowDiagnosis(
        id=sample.id,
        cause=rule.cause,
        because=rule.sentence(signals),
        rule=rule.number,
        signals={name: signals[name].value for name in names},
        spans=distinct(span for name in _about(rule, signals) for span in signals[name].spans),
    )


_REFUSED_WITHOUT_PASSAGES = "the response refuses, and the row has no passages to look in"


def _without_cause(sample: Sample, reason: str, signals: Mapping[str, Signal]) -> RowDiagnosis:
    """Return a row without a cause, with what was found in it."""
    # Passages without texts have ids.
    has_passages = any(map(str.strip, sample.contexts)) if sample.contexts else bool(sample.context_ids)
    doubt = find_doubt(signals, has_passages=has_passages)
    reference_data, refusal = signals.get("reference_data"), signals.get("refusal")
    lacks_reference = reference_data is not None and reference_data.value is None
    if doubt is None:
        refuses = refusal is not None and bool(refusal.value)
        if refuses and not has_passages and not lacks_reference:
            reason = _REFUSED_WITHOUT_PASSAGES
        return RowDiagnosis(sample.id, None, reason)
    if reference_data is not None and lacks_reference:
        reason = reference_data.reason
    return RowDiagnosis(sample.id, None, reason, spans=doubt.spans, doubt=doubt.value, finding=doubt.finding)


def _about(rule: Rule, signals: Mapping[str, Signal]) -> Sequence[str]:
    """Return the signals whose spans are evidence: those in the sentence, or all of the rule."""
    return [name for name in rule.quoted if signals[name].spans] or rule.signals


def _groups(run: Run, by: str) -> list[str | None]:
    groups = row_groups(run, by)
    if len(set(groups)) > _MAX_GROUPS:
        raise UsageError(
            f"The column {by} has {len(set(groups)):,} values; at most {_MAX_GROUPS} are allowed."
        )
    return groups
