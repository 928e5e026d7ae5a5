"""The detector card of a metric of a run: its scores beside the labels in its data."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.card.controls import FEWEST_VALUES, MOST_VALUES, value_names
from sgi.analysis.card.detector import detector_card
from sgi.analysis.card.features import cosines, lengths, overlaps, verbatim
from sgi.analysis.card.shuffled_contexts import shuffled_contexts
from sgi.analysis.labels import read_labels
from sgi.engine.plan import batches
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.resources import open_models
from sgi.engine.run_recorder import require_texts
from sgi.engine.score import evaluate_batch
from sgi.engine.spec import model_settings
from sgi.engine.stored_spec import is_local_model, models_of, require_local_models
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.sample import Batch, Field
from sgi.metrics.calibrated import SPEC as CALIBRATED
from sgi.store.run_provenance import derived_provenance
from sgi.store.scored_runs import grouped_run
from sgi.store.stored_batches import stored_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sgi.analysis.card.card import DetectorCard
    from sgi.analysis.card.controls import Direction
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample
    from sgi.kernel.scored import MetricColumn
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

    Floats = NDArray[np.float64]

_FEW_VALUES = f"A column of subgroups has {FEWEST_VALUES} to {MOST_VALUES} distinct values."
_REASONS = 8
"""Number of reasons for missing scores that are listed; the others are counted together."""


async def card_of_run(
    database: Database,
    record: RunRecord,
    metric: str,
    *,
    label: str = "label",
    beside: Sequence[str] = (),
    by: Sequence[str] = (),
    embedder: str | None = None,
    shuffled: bool = True,
    cache: bool | Path = True,
    draws: int = 1000,
    seed: int = 0,
    listener: Listener = silent,
) -> DetectorCard:
    """The card of a metric of a run, with everything beside it that the data allows.

    The texts are embedded by the run's own model, through the cache, for the cosines that the metric stands
    beside. A metric that reads contexts and asks no judge is scored once more over contexts of other
    questions.

    Args:
        database: where the run is.
        record: the run.
        metric: its canonical string, or its name.
        label: the column of labels, true or 1 for grounded.
        beside: other metrics of the run, which the metric is to rank better than.
        by: columns of subgroups; all that have 2 to 12 distinct values if empty.
        embedder: by name, in place of the run's own.
        shuffled: whether to score it with contexts shuffled.
        cache: where vectors are kept: a file, the user's own cache (True), or nowhere (False).
        draws: number of bootstrap draws.
        seed: random seed.
        listener: receives the progress.

    Raises:
        UnknownNameError: the run has no such metric, or its data no such column; says what there is.
        DataError: a label cannot be read.
        UsageError: the labels are not yes and no, or all alike among the rows with a score.
        EmbedderError: the texts cannot be embedded.
    """
    require_texts(record, "A detector card")
    scored, values, _ = grouped_run(database, record, label, {})
    column = scored.metric(metric)
    truth = read_labels(label, values, scored.ids)
    if truth.kind != "yes or no":
        message = f"The column {label!r} has {truth.kind}; a detector card needs yes and no."
        raise UsageError(message, hint="Use a column of true and false, or of 1 and 0, as `label`.")
    others = [found for name in beside if (found := scored.metric(name)).metric != column.metric]
    rows = _Rows.read(database, record, column, dict(zip(scored.ids, truth.values, strict=True)), others)
    groups = rows.columns(by)
    shuffled_scoring = _ShuffledScoring.of(column, wanted=shuffled, named=metric == column.metric)
    clusters = dict(zip(scored.ids, scored.clusters.tolist(), strict=True))
    with _models(shuffled_scoring.metric, embedder, record, cache) as resources:
        of_question, of_passage = await rows.cosines(resources, listener)
        rescored = await shuffled_scoring.scores(rows.samples, resources, record, column, seed, listener)
    made = detector_card(
        f"{column.metric} on {record.dataset_name}",
        rows.scores,
        rows.labels,
        clusters=[clusters[sample.id] for sample in rows.samples],
        lengths=lengths(rows.samples),
        overlaps=overlaps(rows.samples),
        baselines={
            "verbatim": (verbatim(rows.samples), "higher"),
            "cos(r,q)": (of_question, "either"),
            "cos(r,c)": (of_passage, "higher"),
            **rows.others,
        },
        subgroups=groups,
        columns={name: values for name, values in rows.columns(()).items() if name != label},
        shuffled=rescored,
        higher_is_better=column.higher_is_better,
        dropped=rows.dropped | _never_scored(record),
        draws=draws,
        seed=seed,
        signature=record.signature,
    )
    notes = (*made.notes, *scored.clustering.notes(len(scored.ids)))
    return replace(made, notes=notes, warnings=(*made.warnings, *_seen_before(record, column)))


def _seen_before(record: RunRecord, column: MetricColumn) -> Iterator[str]:
    """Whether the probabilities were fitted on the data they are held against."""
    fitted = record.spec.get("calibration") or {}
    if column.name == CALIBRATED.name and fitted.get("dataset") == record.dataset:
        yield (
            "The calibration was fitted on these rows, so their ranking and probabilities do not show how it"
            " performs on other data."
        )


def _never_scored(record: RunRecord) -> dict[str, int]:
    told = {"could not be read": record.rejected, "not scored yet": record.rows - record.scored}
    return {reason: rows for reason, rows in told.items() if rows}


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a run that have a label and a score, and why the others have not.

    Attributes:
        samples: with the target's answers where there was a target.
        scores: of the metric, shape (n,).
        labels: 1 where grounded, else 0, shape (n,).
        dropped: the other rows, by reason.
        others: other metrics by name: values, NaN where there is none, and which are taken for grounded.
    """

    samples: tuple[Sample, ...]
    scores: Floats
    labels: Floats
    dropped: dict[str, int]
    others: dict[str, tuple[Floats, Direction]]

    @classmethod
    def read(
        cls,
        database: Database,
        record: RunRecord,
        column: MetricColumn,
        labels: Mapping[str, Any],
        others: Sequence[MetricColumn],
    ) -> _Rows:
        samples, values, truth, lost = [], [], [], Counter[str]()
        beside: list[list[float]] = []
        for stored in stored_batches(database, record):
            made = stored.scores[column.metric]
            compared = [stored.scores[other.metric].values for other in others]
            for row, sample in enumerate(stored.batch.samples):
                label = labels.get(sample.id)
                if label is None:
                    lost["no label"] += 1
                elif made.reasons[row]:
                    lost[f"{made.status[row]}: {made.reasons[row]}"] += 1
                else:
                    samples.append(sample)
                    values.append(float(made.values[row]))
                    truth.append(float(label))
                    beside.append([float(known[row]) for known in compared])
        table = np.array(beside, dtype=float).reshape(len(samples), len(others))
        named: dict[str, tuple[Floats, Direction]] = {
            other.metric: (table[:, place], "higher" if other.higher_is_better else "lower")
            for place, other in enumerate(others)
        }
        scores, known_truth = np.array(values, dtype=float), np.array(truth, dtype=float)
        return cls(tuple(samples), scores, known_truth, _most(lost), named)

    def columns(self, by: Sequence[str]) -> dict[str, list[Any]]:
        """The metadata columns, or those named.

        Raises:
            UnknownNameError: there is no such column.
            UsageError: a named column does not make 2 to 12 groups.
        """
        there = dict.fromkeys(name for sample in self.samples for name in sample.metadata)
        for name in by:
            if name not in there:
                hint = f"It has: {', '.join(sorted(there)) or 'none'}."
                raise UnknownNameError("column of the data", name, hint=hint)
        found = {name: [sample.metadata.get(name) for sample in self.samples] for name in by or there}
        for name in by:
            names = value_names(found[name])
            count = None if names is None else len(set(names))
            if count is None or not FEWEST_VALUES <= count <= MOST_VALUES:
                held = "lists or objects" if count is None else f"{count} distinct values"
                message = f"The column {name!r} has {held} in the rows with label and score."
                raise UsageError(message, hint=_FEW_VALUES)
        return found

    async def cosines(self, resources: Resources, listener: Listener) -> tuple[Floats, Floats]:
        """The cosines of response with question and with passages, by the primary model."""
        embedder = next(iter(resources.embedders.values()))
        parts = []
        listener(Started("embedding", len(self.samples)))
        for batch in batches(self.samples):
            parts.append(await cosines(batch.samples, embedder))
            listener(Advanced(len(batch)))
        listener(Finished("embedding"))
        first, second = (np.concatenate([np.zeros(0), *(part[side] for part in parts)]) for side in (0, 1))
        return first, second


def _most(lost: Counter[str]) -> dict[str, int]:
    """The reasons that hold most rows, the rest in one."""
    told = dict(lost.most_common(_REASONS))
    rest = lost.total() - sum(told.values())
    return told | ({"other reasons": rest} if rest else {})


@contextmanager
def _models(
    metric: AnyMetric | None, embedder: str | None, record: RunRecord, cache: bool | Path
) -> Iterator[Resources]:
    """The run's models, and the one that is asked for in their place."""
    wanted = [named_metric("theta_rq"), *([] if metric is None else [metric])]  # the cosines of its angles
    names, how = model_settings(record.spec)
    require_local_models(record, () if embedder else names, option="-e")
    with open_models(wanted, [embedder] if embedder else names, cache=cache, **how) as resources:
        yield resources


@dataclass(frozen=True, eq=False)
class _ShuffledScoring:
    """A metric to score with shuffled contexts, or the reason why it is not scored.

    Attributes:
        metric: None where there is a reason.
        reason: in words.
    """

    metric: AnyMetric | None
    reason: str = ""

    @classmethod
    def of(cls, column: MetricColumn, *, wanted: bool, named: bool) -> _ShuffledScoring:
        if not wanted:
            return cls(None, "it was not asked for")
        try:
            found = named_metric(column.metric)
        except UsageError as error:
            return cls(None, f"the metric cannot be computed here: {error}")
        reason = ""
        if isinstance(found, JudgedMetric):
            reason = "it asks a judge, which would cost a request for every row"
        elif Field.CONTEXTS not in found.spec.needs:
            reason = "it reads no contexts"
        elif not named and not all(
            map(is_local_model, models_of([found]))
        ):  # the stored name contacts nobody
            reason = f"its models are not all of this machine; name it in full: -m '{found.canonical}'"
        elif column.version not in {0, found.spec.version}:
            versions = f"{column.version}, and the one here is {found.spec.version}"
            reason = f"the run was scored with its version {versions}"
        return cls(None if reason else found, reason)

    async def scores(
        self,
        samples: Sequence[Sample],
        resources: Resources,
        record: RunRecord,
        column: MetricColumn,
        seed: int,
        listener: Listener,
    ) -> Floats | str:
        """The scores with contexts of other questions; or why there are none."""
        if self.metric is None:
            return self.reason
        then = column.provenance or derived_provenance(record, column.metric)
        other = [m for m in resources.provenance(self.metric).models if then is None or m not in then.models]
        if self.metric.vector_needs and other:
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
            made = await evaluate_batch(Batch.of(batch.samples), [self.metric], resources)
            parts.append(made.scores[self.metric.canonical].values)
            listener(Advanced(len(batch)))
        listener(Finished("scoring with contexts shuffled"))
        return np.concatenate(parts)
