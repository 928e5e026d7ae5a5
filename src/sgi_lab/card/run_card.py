"""Makes the detector card of a metric of a run from the labels in its data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.given_runs import open_given_runs
from sgi.analysis.labels import yes_no_labels
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.open_resources import model_options, open_models
from sgi.engine.plan import batches
from sgi.engine.progress import Advanced, Finished, Started, default_listener
from sgi.engine.run_recorder import require_texts
from sgi.engine.score import evaluate_batch
from sgi.engine.stored_options import is_local_model, models_of, require_local_models
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.sample import Batch, Field
from sgi.metrics.calibrated_metric import SPEC as CALIBRATED
from sgi.store.human_labels import default_label
from sgi_lab.card.card_groups import MAX_VALUES, MIN_VALUES, value_names
from sgi_lab.card.make_card import detector_card
from sgi_lab.card.row_controls import cosines, lengths, overlaps, precisions, shuffled_contexts, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    from sgi.analysis.given_runs import Db, RunLike
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.engine.run import Run
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.metric_column import MetricColumn
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi_lab.card.card import DetectorCard
    from sgi_lab.card.controls import Direction

    Floats = NDArray[np.float64]

_REASONS = 8
"""Number of reasons for missing scores that are listed; the others are counted together."""


def card_of_run(
    run: RunLike,
    metric: str,
    *,
    label: str | None = None,
    beside: Sequence[str] = (),
    by: Sequence[str] = (),
    embedder: str | None = None,
    shuffled: bool = True,
    cache: bool | Path = True,
    draws: int = 1000,
    seed: int = 0,
    cluster: str | None = None,
    db: Db = None,
    listener: Listener | None = None,
) -> DetectorCard:
    """Make a detector card of a metric of a stored run; `detector_card` makes one of any scores.

    Args:
        run: the run.
        metric: one of its metrics.
        label: the column of labels, true or 1 for grounded; ``people`` for labels from the dashboard. None:
            ``label`` if the data has it, otherwise those from the dashboard.
        beside: other metrics of the run to compare with.
        by: columns of subgroups; empty for all with 2 to 12 distinct values.
        embedder: the model for the cosine baselines; None for the embedder of the run.
        shuffled: also score the metric with the contexts of other questions.
        cache: a file for vectors, your user cache (True), or none (False).
        draws: number of bootstrap samples.
        seed: random seed.
        cluster: which rows belong together; None for the rule of the run.
        db: the database of a run given by name.
        listener: takes progress events; None shows a progress bar in a notebook.

    Raises:
        UnknownNameError: the run has no such metric, or its data no such column.
        DataError: a label cannot be read.
        UsageError: the labels are not yes and no, or are all the same in the rows with a score.
        EmbedderError: the texts cannot be embedded.
    """
    with open_given_runs((run,), cluster, db) as (database, (record,)):
        work = partial(
            _card,
            database,
            record,
            metric,
            label=label,
            beside=beside,
            by=by,
            embedder=embedder,
            shuffled=shuffled,
            cache=cache,
            draws=draws,
            seed=seed,
            listener=listener or default_listener(),
        )
        return run_outside_loop(work)


async def _card(
    database: Database,
    record: RunRecord,
    metric: str,
    *,
    label: str | None,
    beside: Sequence[str],
    by: Sequence[str],
    embedder: str | None,
    shuffled: bool,
    cache: bool | Path,
    draws: int,
    seed: int,
    listener: Listener,
) -> DetectorCard:
    require_texts(record, "A detector card")
    label = label or default_label(database, record)
    run, labels = yes_no_labels(database, record, label)
    column = run.metric(metric)
    others = [other for name in beside if (other := run.metric(name)).metric != column.metric]
    rows = _Rows.read(run, column, labels, others)
    groups = rows.columns(by)
    rescored, reason = None, "it was not requested"
    if shuffled:
        rescored, reason = _metric_to_rescore(column, by_name=metric != column.metric)
    with _open_models(rescored, embedder, record, cache=cache) as resources:
        baselines = await rows.baselines(resources, listener)
        other_scores: Floats | str = reason
        if rescored is not None:
            other_scores = await _shuffled_scores(
                rescored, rows.samples, resources, record, column, seed, listener
            )
    clusters = dict(zip(run.ids, run.clusters.tolist(), strict=True))
    card = detector_card(
        f"{column.metric} on {record.dataset_name}",
        rows.scores,
        rows.labels,
        clusters=[clusters[sample.id] for sample in rows.samples],
        lengths=lengths(rows.samples),
        precisions=precisions(rows.samples),
        baselines=baselines,
        subgroups=groups,
        columns={name: values for name, values in rows.columns(()).items() if name != label},
        shuffled=other_scores,
        higher_is_better=column.higher_is_better,
        dropped=rows.dropped | _rows_without_score(record),
        draws=draws,
        seed=seed,
        signature=record.signature,
    )
    notes = (*card.notes, *run.clustering.notes(len(run.ids)))
    return replace(card, notes=notes, warnings=(*card.warnings, *_fitted_on_these_rows(record, column)))


def _fitted_on_these_rows(record: RunRecord, column: MetricColumn) -> Iterator[str]:
    calibration = record.spec.get("calibration") or {}
    if column.name == CALIBRATED.name and calibration.get("dataset") == record.dataset:
        yield (
            "The calibration was fitted on these rows, so their ranking and probabilities do not show how it"
            " performs on other data."
        )


def _rows_without_score(record: RunRecord) -> dict[str, int]:
    counts = {"could not be read": record.rejected, "not scored yet": record.rows - record.scored}
    return {reason: rows for reason, rows in counts.items() if rows}


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a run with a label (1 = grounded) and a score, and the number of other rows by reason."""

    samples: tuple[Sample, ...]
    scores: Floats
    labels: Floats
    dropped: dict[str, int]
    others: dict[str, tuple[Floats, Direction]]

    @classmethod
    def read(
        cls, run: Run, column: MetricColumn, labels: Sequence[Any], others: Sequence[MetricColumn]
    ) -> _Rows:
        samples: list[Sample] = []
        table: list[list[float]] = []
        dropped = Counter[str]()
        rows = zip(labels, *(one.values.tolist() for one in (column, *others)), strict=True)
        for batch, by_metric in run.batches([column.metric]):
            scores = by_metric[column.metric]
            for row, (sample, (label, *columns)) in enumerate(zip(batch.samples, rows, strict=False)):
                if label is None:
                    dropped["no label"] += 1
                elif scores.reasons[row]:
                    dropped[f"{scores.status[row]}: {scores.reasons[row]}"] += 1
                else:
                    samples.append(sample)
                    table.append([float(label), *columns])
        truth, values, *beside = np.array(table, dtype=float).reshape(len(samples), len(others) + 2).T
        directions: list[Direction] = ["higher" if other.higher_is_better else "lower" for other in others]
        names = [other.metric for other in others]
        named = dict(zip(names, zip(beside, directions, strict=True), strict=True))
        return cls(tuple(samples), values, truth, _most(dropped), named)

    def columns(self, by: Sequence[str]) -> dict[str, list[Any]]:
        """Return the metadata columns ``by``, each with 2 to 12 distinct values; all columns if empty."""
        available = dict.fromkeys(name for sample in self.samples for name in sample.metadata)
        for name in by:
            if name not in available:
                hint = f"It has: {', '.join(sorted(available)) or 'none'}."
                raise UnknownNameError("column of the data", name, hint=hint)
        columns = {name: [sample.metadata.get(name) for sample in self.samples] for name in by or available}
        for name in by:
            names = value_names(columns[name])
            count = None if names is None else len(set(names))
            if count is None or not MIN_VALUES <= count <= MAX_VALUES:
                content = "lists or objects" if count is None else f"{count} distinct values"
                message = f"The column {name!r} has {content} in the rows with a label and a score."
                hint = f"A column of subgroups has {MIN_VALUES} to {MAX_VALUES} distinct values."
                raise UsageError(message, hint=hint)
        return columns

    async def baselines(
        self, resources: Resources, listener: Listener
    ) -> dict[str, tuple[Floats, Direction]]:
        """Return baselines: overlap, verbatim copies, cosines by the primary embedder, and other metrics."""
        embedder = next(iter(resources.embedders.values()))
        parts = [np.zeros((2, 0))]
        listener(Started("embedding", len(self.samples)))
        for batch in batches(self.samples):
            parts.append(np.stack(await cosines(batch.samples, embedder)))
            listener(Advanced(len(batch)))
        listener(Finished("embedding"))
        to_question, to_passage = np.concatenate(parts, axis=1)
        return {
            "overlap": (overlaps(self.samples), "higher"),
            "verbatim": (verbatim(self.samples), "higher"),
            "cos(r,q)": (to_question, "either"),
            "cos(r,c)": (to_passage, "higher"),
            **self.others,
        }


def _most(counts: Counter[str]) -> dict[str, int]:
    most = dict(counts.most_common(_REASONS))
    rest = counts.total() - sum(most.values())
    return most | ({"other reasons": rest} if rest else {})


def _open_models(
    metric: AnyMetric | None, embedder: str | None, record: RunRecord, *, cache: bool | Path
) -> AbstractContextManager[Resources]:
    """Open the models of the run, or another embedder."""
    metrics = [named_metric("theta_rq"), *([] if metric is None else [metric])]  # theta_rq has the cosines
    embedders = () if embedder is None else (embedder,)
    chosen = model_options(record.spec, embedders, cache=cache)
    require_local_models(record, () if embedders else chosen.embedders, option="-e")
    return open_models(metrics, chosen)


def _metric_to_rescore(column: MetricColumn, *, by_name: bool) -> tuple[AnyMetric | None, str]:
    """Return the metric to score with shuffled contexts, or None and the reason why it cannot be scored."""
    try:
        metric = named_metric(column.metric)
    except UsageError as error:
        return None, f"the metric cannot be computed here: {error}"
    reason = ""
    if isinstance(metric, JudgedMetric):
        reason = "the metric asks a judge, which would cost a request for every row"
    elif Field.CONTEXTS not in metric.spec.needs:
        reason = "the metric reads no contexts"
    elif by_name and not all(map(is_local_model, models_of([metric]))):
        # A name stored in the run must not make SGI contact a service.
        reason = f"its models are not all on this machine; name it in full: -m '{metric.canonical}'"
    elif column.version not in {0, metric.spec.version}:
        versions = f"version {column.version}, but version {metric.spec.version} is installed"
        reason = f"the run was scored with {versions}"
    return None if reason else metric, reason


async def _shuffled_scores(
    metric: AnyMetric,
    samples: Sequence[Sample],
    resources: Resources,
    record: RunRecord,
    column: MetricColumn,
    seed: int,
    listener: Listener,
) -> Floats | str:
    """Return scores with contexts of other questions, or the reason why there are none."""
    origin = column.provenance
    models = resources.provenance(metric).models
    other = [model for model in models if origin is None or model not in origin.models]
    if metric.vector_needs and other:
        return f"the run was scored without {', '.join(other)}"
    contexts = shuffled_contexts(samples, seed=seed, questions=record.cluster == BY_QUESTION)
    if contexts is None:
        return "all rows have the same question or the same contexts"
    listener(Started("scoring with contexts shuffled", len(samples)))
    changed = [
        sample.with_response(sample.response, passages)
        for sample, passages in zip(samples, contexts, strict=True)
    ]
    parts = []
    for batch in batches(changed):
        scores = (await evaluate_batch(Batch.of(batch.samples), [metric], resources)).scores
        parts.append(scores[metric.canonical].values)
        listener(Advanced(len(batch)))
    listener(Finished("scoring with contexts shuffled"))
    return np.concatenate(parts)
