"""Runs a bench: chooses grounded rows, changes them, scores everything once, and compares the scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.accumulator import clustering_of
from sgi.engine.evaluate import evaluate, run_outside_loop
from sgi.engine.plan import missing_judge
from sgi.engine.progress import Advanced, ColumnsRead, Finished, Started, silent
from sgi.io.dataset import object_dataset, open_dataset
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.judged_metric import JudgedMetric, judged_metrics
from sgi.kernel.metric import Scores
from sgi.kernel.protocols import Judge
from sgi.kernel.registry import BUILT_IN, metric, metric_class
from sgi.kernel.sample import Field
from sgi.kernel.signature import digest
from sgi_lab.metric_bench.catalogue import select
from sgi_lab.metric_bench.judge_faults import FaultyChat, JudgeFault
from sgi_lab.metric_bench.matrix import Bench, Change, PairedRows, fault_cell, levels, row_cells
from sgi_lab.metric_bench.measures import FEWEST_PAIRS, simultaneous_level
from sgi_lab.metric_bench.perturbation import Others, Perturbation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.engine.open_resources import JudgeLike
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.engine.run_options import EmbedderLike
    from sgi.io.dataset import DataLike
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample
    from sgi.llm.judge_spec import JudgeSpec
    from sgi_lab.metric_bench.matrix import Cell

    FaultScores = Mapping[tuple[str, str], tuple[Scores, int]]

ROWS = 200
"""Default number of rows that are changed."""

_LEFT_OUT = ("sgi.metrics.graphrag_names", "sgi.metrics.assertions")
"""Modules of metrics that a bench without given metrics leaves out."""


def bench(
    data: DataLike,
    metrics: Sequence[str | AnyMetric] | None = None,
    changes: Sequence[str | Perturbation | JudgeFault] = (),
    *,
    n: int = ROWS,
    seed: int = 0,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    judge: JudgeLike | None = None,
    columns: Mapping[str, str] | None = None,
    cluster: str = BY_QUESTION,
    cache: bool | str | Path = True,
    listener: Listener = silent,
) -> Bench:
    """Change grounded rows in known ways, and measure which metrics notice.

    Uses the rows with label 1, or all rows if there are no labels. Original and changed rows are scored
    together, so each text is embedded once and judge replies are reused. Each change depends only on seed and
    row.

    Args:
        data: as for `sgi.evaluate`, with responses.
        metrics: names or metrics; None: all built-in metrics without a judge whose fields the data has.
        changes: perturbations and simulated faults of the judge, or their names; if empty, all (faults only
            with a judge).
        n: maximum number of rows, sampled with the seed.
        seed: random seed.
        embedder: as for `sgi.evaluate`.
        judge: judge of judged metrics; to simulate its faults, give a name or settings, not an object.
        columns: column of each field, if the columns have other names than the fields.
        cluster: rule that assigns rows to clusters, as for `sgi.evaluate`.
        cache: cache of vectors and replies, as for `sgi.evaluate`.
        listener: receives progress.

    Raises:
        DataError: the data cannot be read, or has no grounded row with a response.
        UnknownNameError: no row has the column that ``cluster`` names.
        UsageError: a metric or perturbation is unknown, two changes have the same name, a judge is given but
            not needed or needed but not given, or no row has the fields of a metric.

    >>> rows = [{"question": f"When, {k}?", "contexts": [f"Number {k} came in {1900 + k}."],
    ...          "response": f"In {1900 + k}.", "reference": f"In {1900 + k}."} for k in range(12)]
    >>> cell = bench(rows, ["rouge_l_precision"], ["refusal"]).cells[0]
    >>> cell.pairs, cell.verdict.value
    (12, 'falls')
    """
    if n < 1:
        raise UsageError(f"`n` must be at least 1, not {n}.")
    on_rows, faults = _split(changes)
    dataset = open_dataset(data, columns=columns)
    everything = list(dataset.samples(on_columns=lambda columns: listener(ColumnsRead(columns))))
    rows, notes = _grounded_rows(everything, n, seed, dataset.name)
    chosen = _metrics(metrics, rows)
    _check_judge(chosen, judge=judge is not None, faults=bool(changes and faults))
    notes += clustering_of(everything, cluster, dataset.name).notes(len(everything))
    paired = replace(perturb_rows(rows, on_rows, Others(everything), seed=seed), cluster=cluster)
    with TemporaryDirectory(prefix="sgi-") as folder:  # the faults use judge replies again without a cache
        file = cache or Path(folder, "vectors.db")
        work = _Work(paired, chosen, on_rows, embedder, judge, file, seed, listener)
        return work.bench(dataset.name, faults if judge is not None else (), notes)


def _check_judge(metrics: Sequence[AnyMetric], *, judge: bool, faults: bool) -> None:
    """Check that a judge is given exactly if it is needed."""
    judged = judged_metrics(metrics)
    if faults and not judge:
        raise UsageError(
            "A simulation of judge faults needs a judge.",
            hint="Name a judge: --judge openai:NAME -m faithfulness.",
        )
    if judge and not judged:
        raise UsageError(
            "A judge is named, but no metric needs it.", hint="Add a metric that needs it: -m faithfulness."
        )
    if judged and not judge:
        raise missing_judge(judged)


def perturb_rows(
    rows: Sequence[Sample], changes: Sequence[Perturbation], others: Others, *, seed: int
) -> PairedRows:
    """Apply perturbations to grounded rows; passages, names and sentences are copied from ``others``."""
    changed = {}
    for one in changes:
        results = [one.apply(sample, others, seed=seed) for sample in rows]
        places = np.array([row for row, sample in enumerate(results) if sample is not None], np.int64)
        changed[one.name] = places, tuple(filter(None, results))
    return PairedRows(tuple(rows), changed)


@dataclass(frozen=True, eq=False)
class _Work:
    paired: PairedRows
    metrics: tuple[AnyMetric, ...]
    changes: tuple[Perturbation, ...]
    embedder: EmbedderLike | Sequence[EmbedderLike] | None
    judge: JudgeLike | None
    cache: bool | str | Path
    seed: int
    listener: Listener

    def bench(self, name: str, faults: tuple[JudgeFault, ...], notes: list[str]) -> Bench:
        result = evaluate(
            object_dataset(self.paired.all_rows(), name=name),
            self.metrics,
            self.embedder,
            judge=self.judge,
            cache=self.cache,
            max_failures=1.0,
            listener=self.listener,
        )
        level = levels(self.paired, self.changes, len(self.metrics))
        by_metric = [
            row_cells(self.paired, self.changes, one, result[one.canonical], self.seed, level)
            for one in self.metrics
        ]
        cells = [cell for row in zip(*(cells for cells, _ in by_metric), strict=True) for cell in row]
        if faults and isinstance(self.judge, Judge):
            notes.append("The judge is a Python object, so faults of its replies cannot be simulated.")
            faults = ()
        if faults:
            cells += self._fault_cells(result, faults)
        n = len(self.paired.samples)
        rows = {one.name: len(self.paired.changed[one.name][0]) for one in self.changes}
        both: tuple[Perturbation | JudgeFault, ...] = (*self.changes, *faults)
        changes = tuple(
            Change(name=one.name, kind=one.kind, says=one.says, applied=rows.get(one.name, n)) for one in both
        )
        return Bench(
            data=name,
            rows=n,
            seed=self.seed,
            metrics=tuple(one.canonical for one in self.metrics),
            changes=changes,
            cells=tuple(cells),
            alarms=tuple(alarm for _, alarm in by_metric if alarm is not None),
            notes=tuple(notes),
            signature=result.signature,
        )

    def _fault_cells(self, result: Mapping[str, Scores], faults: tuple[JudgeFault, ...]) -> list[Cell]:
        """Return the cells of judged metrics, whose judge gives faulty replies for the original rows."""
        from sgi.llm.judge_spec import JudgeSpec

        spec = self.judge if isinstance(self.judge, JudgeSpec) else JudgeSpec.of(self.judge)  # type: ignore[arg-type]  # no judge of the caller's own
        judged = judged_metrics(self.metrics)
        faulty = run_outside_loop(partial(self._fault_scores, spec, faults))
        n, clusters = len(self.paired.samples), self.paired.clusters
        level = simultaneous_level(len(faults) * len(judged))
        return [
            fault_cell(
                one,
                fault,
                _first(result[one.canonical], n),
                faulty[fault.name, one.canonical],
                clusters,
                level,
            )
            for fault, one in product(faults, judged)
        ]

    async def _fault_scores(self, spec: JudgeSpec, faults: tuple[JudgeFault, ...]) -> FaultScores:
        """Return the scores by fault and metric, with the number of faulty replies."""
        from sgi.engine.open_resources import given_options, open_models
        from sgi.llm.calls import UsageCounter
        from sgi.llm.judge import ChatJudge
        from sgi.llm.open_judge import open_chat, wrapped_chat
        from sgi.store.cache import open_reply_cache

        judged, stage = judged_metrics(self.metrics), "faulty judge replies"
        options = given_options({"cache": self.cache}, self.embedder, source="the bench")
        scores: dict[tuple[str, str], tuple[Scores, int]] = {}
        with (
            open_models(judged, options) as resources,
            open_reply_cache(self.cache) as replies,
        ):
            self.listener(Started(stage, len(faults) * len(judged) * len(self.paired.samples)))
            async with open_chat(spec) as model:
                clean = wrapped_chat(model, spec, replies, UsageCounter())
                for fault, one in product(faults, judged):
                    chat = FaultyChat(clean, fault, seed=self.seed)
                    judging = replace(resources, judge=ChatJudge(chat, budget=spec.budget))
                    values = await self._score_rows(one, judging)
                    scores[fault.name, one.canonical] = values, chat.faulty_replies
            self.listener(Finished(stage))
        return scores

    async def _score_rows(self, one: AnyMetric, resources: Resources) -> Scores:
        """Return a metric's scores of the original rows."""
        from sgi.engine.plan import batches
        from sgi.engine.score import evaluate_batch

        parts = []
        for batch in batches(self.paired.samples):
            batch_scores = await evaluate_batch(batch, [one], resources)
            parts.append(batch_scores.scores[one.canonical])
            self.listener(Advanced(len(batch)))
        return Scores.join(parts)


def _first(scores: Scores, n: int) -> Scores:
    return Scores(scores.values[:n], scores.status[:n], scores.reasons[:n], scores.details[:n])


def _grounded_rows(everything: list[Sample], n: int, seed: int, name: str) -> tuple[list[Sample], list[str]]:
    """Return up to n grounded rows, in the order of the data, and notes about them."""
    answered = [sample for sample in everything if sample.response.strip()]
    labelled = any(sample.label is not None for sample in answered)
    rows = [sample for sample in answered if sample.label or not labelled]
    if not rows:
        text = f"{len(everything):,} rows, {len(answered):,} with a response"
        message = f"{name} has no grounded row with a response ({text})."
        raise DataError(message, hint="Perturbations change rows with label 1.")
    notes = [] if labelled else ["The data has no labels, so all rows count as grounded."]
    shuffled = sorted(
        rows, key=lambda sample: digest(str(seed).encode(), sample.id.encode("utf-8", "surrogatepass"))
    )
    ids = {sample.id for sample in shuffled[:n]}
    chosen = [sample for sample in rows if sample.id in ids]
    if len(chosen) < FEWEST_PAIRS:
        note = f"A verdict needs {FEWEST_PAIRS} pairs of values, but there are only {len(chosen)} rows"
        notes.append(f"{note}: give more.")
    return chosen, notes


def _metrics(given: Sequence[str | AnyMetric] | None, rows: Sequence[Sample]) -> tuple[AnyMetric, ...]:
    """Return the given metrics; if None, the built-in ones without judge and required parameters."""
    if given:
        return tuple({one.canonical: one for one in map(metric, given)}.values())
    fields = frozenset(name for name in Field if any(sample.has(name) for sample in rows))
    names = [name for name, place in BUILT_IN.items() if not place.startswith(_LEFT_OUT)]
    kinds = [metric_class(name) for name in names]
    kinds = [kind for kind in kinds if not kind.required_parameters() and not issubclass(kind, JudgedMetric)]
    return tuple(kind() for kind in kinds if kind.spec.needs <= fields)


def _split(
    given: Sequence[str | Perturbation | JudgeFault],
) -> tuple[tuple[Perturbation, ...], tuple[JudgeFault, ...]]:
    """Return the perturbations of rows and judge faults, the catalogue's first."""
    names = [one for one in given if isinstance(one, str)]
    on_rows, faults = select(names) if names or not given else ((), ())
    rows = (*on_rows, *(one for one in given if isinstance(one, Perturbation)))
    replies = (*faults, *(one for one in given if isinstance(one, JudgeFault)))
    times = Counter([one.name for one in rows] + [one.name for one in replies])
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        message = f"Each change needs its own name, but {twice[0]} is given twice."
        raise UsageError(message, hint="Give each only once, by name or as an object, or rename your own.")
    return rows, replies
