"""A run with its record, rows, scores and summary, in memory or from a database."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.engine.grounding_report import grounding_report
from sgi.engine.plan import BATCH_SIZE
from sgi.engine.run_tables import RunScores, RunTables
from sgi.engine.summarise import column_summary
from sgi.engine.summary import NotebookRepr, Summary
from sgi.io.column_use import ColumnUse
from sgi.kernel.clusters import DEFAULT_CLUSTERING, Clustering
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.metric import Scores
from sgi.kernel.metric_column import STATUSES
from sgi.kernel.protocols import Usage
from sgi.kernel.row_keys import RowKeys, are_numbers
from sgi.kernel.sample import Batch
from sgi.kernel.short_text import metric_label, short_repr
from sgi.store.bulk_rows import chunks
from sgi.store.run_queries import RunRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from sgi.engine.grounding_report import GroundingReport
    from sgi.engine.judge_batch import Judgements
    from sgi.engine.summary import MetricSummary
    from sgi.io.rows import RejectedRow
    from sgi.kernel.clusters import Weighting
    from sgi.kernel.metric_column import MetricColumn, MetricProvenance
    from sgi.kernel.sample import Sample

ReadSamples = Callable[[Sequence[int]], "Iterable[Sample]"]
ReadFields = Callable[[Sequence[str]], Iterable[tuple[Any, ...]]]
ReadDetails = Callable[[str, Sequence[int]], Iterable[tuple[str, Mapping[str, Any]]]]

_NOTHING: Mapping[str, Any] = {}
_STATUS_NAMES = np.array([status.value for status in STATUSES])


@dataclass(frozen=True, eq=False)
class Run(NotebookRepr, RunTables):
    """A run: what was scored, with which settings, and the scores of every row, by metric.

    ``run["sgi"].values`` is a float64 array with NaN where there is no value; ``.status``, ``.reasons`` and
    ``.details`` explain why. ``run["sgi"].mean``, ``.interval`` and ``.coverage`` summarise the rows. Row
    ``i`` of everything belongs to the sample ``ids[i]``. A stored run reads the texts of its rows and the
    details of its scores when they are used.

    `sgi.evaluate`, `sgi.run` and `sgi.open_run` return runs. A notebook shows a run as tables and charts.

    Attributes:
        record: name, id, data, settings, versions, tags and state; without an id if the run is not stored.
        ids: the id of each row.
        clusters: the cluster number of each row, int64, shape (n,).
        metrics: the column of each metric, by canonical string.
        clustering: the rule by which rows form clusters.
        read_samples: reads the samples of some rows; None for a run without texts.
        read_fields: reads fields of all samples without building them; None if there is none.
        read_details: reads reason and details of some rows for a metric; None if they are not known.
        compute_summary: computes the summary; None: the stored one, or one of the columns.
        weights: the weight of each row in means, float64, shape (n,); None counts each row once.
        weighting: the weights of all rows in numbers; None without weights.
        db: the argument of `open_run`.
        rejected: rows that could not be read, with ``on_error="skip"``; empty for a stored run, whose record
            has their number.
        evidence: judgements of each row of a run in memory, by the metric's canonical string.
        usage: requests, tokens and cost of the judge.
        columns: the field that each column of the data became, of a run in memory.

    >>> from sgi import evaluate
    >>> rows = [{"response": "Paris.", "reference": name} for name in ("paris", "Rome", "")]
    >>> run = evaluate(rows, ["squad_em", "squad_token_f1"])
    >>> list(run), run["squad_em"].status.tolist()
    (['squad_em', 'squad_token_f1'], ['ok', 'ok', 'undefined'])
    """

    record: RunRecord
    ids: tuple[str, ...]
    clusters: NDArray[np.int64]
    metrics: Mapping[str, MetricColumn]
    clustering: Clustering = DEFAULT_CLUSTERING
    weights: NDArray[np.float64] | None = field(default=None, repr=False)
    weighting: Weighting | None = None
    read_samples: ReadSamples | None = field(default=None, repr=False)
    read_fields: ReadFields | None = field(default=None, repr=False)
    read_details: ReadDetails | None = field(default=None, repr=False)
    compute_summary: Callable[[], Summary] | None = field(default=None, repr=False)
    db: str | Path | None = None
    rejected: tuple[RejectedRow, ...] = ()
    evidence: Mapping[str, Judgements] = field(default_factory=dict, repr=False)
    usage: Usage = field(default_factory=Usage)
    columns: ColumnUse = field(default_factory=ColumnUse)
    _scores: dict[str, RunScores] = field(default_factory=dict, init=False, repr=False)

    __repr__ = short_repr
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def of(
        cls,
        name: str,
        ids: Iterable[str],
        columns: Iterable[MetricColumn],
        clusters: NDArray[np.int64] | None = None,
        /,
        *,
        signature: str = "",
        rejected: Sequence[RejectedRow] = (),
        clustering: Clustering = DEFAULT_CLUSTERING,
        samples: Sequence[Sample] | None = None,
        scores: Mapping[str, Scores] | None = None,
        **more: Any,
    ) -> Self:
        """Make a run in memory whose rows are all scored.

        Args:
            name: the name of the run.
            ids: the id of each row.
            columns: the values of each metric.
            clusters: the cluster number of each row, shape (n,); None: each row is its own cluster.
            signature: models, judge and version, on one line.
            rejected: rows that could not be read.
            clustering: the rule by which rows form clusters.
            samples: the rows; None for a run without texts.
            scores: scores with reasons and details, by canonical string; None if they are not known.
            **more: other attributes, by name.

        Returns:
            The run.
        """
        names, metrics = tuple(ids), {column.metric: column for column in columns}
        n = len(names)
        record = RunRecord(
            "", name, rows=n, scored=n, metrics=(*metrics,), signature=signature, cluster=clustering.by,
            rejected=len(rejected),
        )  # fmt: skip
        if samples is not None:
            more["read_samples"] = partial(_pick, samples)
        if scores is not None:
            more["read_details"] = partial(_pick_details, scores)
        numbers = np.arange(n) if clusters is None else clusters
        return cls(record, names, numbers, metrics, clustering, rejected=tuple(rejected), **more)

    @property
    def name(self) -> str:
        """The name of the run, or its id."""
        return self.record.label

    @property
    def signature(self) -> str:
        """One line with everything that can change a number: models, judge, version."""
        return self.record.signature

    @property
    def finished(self) -> bool:
        """Whether all rows of the data are scored."""
        return self.record.scored == self.record.rows

    @property
    def provenance(self) -> dict[str, MetricProvenance]:
        """The models, judge and prompts that computed each metric, by its canonical string, if recorded."""
        return {name: one.provenance for name, one in self.metrics.items() if one.provenance is not None}

    @cached_property
    def numbered(self) -> bool:
        """Whether the ids are only row numbers."""
        return are_numbers(self.ids, PurePath(self.record.dataset_name).name.partition(".")[0])

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The scored rows; empty for a run without texts."""
        return () if self.read_samples is None else tuple(self.read_samples(range(len(self.ids))))

    @cached_property
    def row_keys(self) -> RowKeys | None:
        """Hashes of the texts that identify the rows; None for a run without texts."""
        return None if self.read_samples is None else RowKeys(self.fields)

    def __getitem__(self, name: str) -> RunScores:
        """Return the scores of a metric: values, status and reasons of the rows, mean, interval, coverage.

        Args:
            name: the metric's canonical string, or its name alone if only one metric has this name.

        Raises:
            UnknownNameError: the run has no such metric, or several with this name. It is also a KeyError.
        """
        column = self.metric(name)
        if column.metric not in self._scores:
            rows = self._rows(column, range(len(self.ids)))
            summary = partial(self._metric_summary, column.metric)
            self._scores[column.metric] = RunScores(**vars(rows), read_summary=summary)
        return self._scores[column.metric]

    def _metric_summary(self, metric: str) -> MetricSummary:
        summaries = {each.metric: each for each in self.summary().metrics}
        return summaries[metric]

    def _rows(self, column: MetricColumn, rows: Sequence[int]) -> Scores:
        values = column.values[rows]
        status = _STATUS_NAMES[column.codes[rows]]
        if self.read_details is None:
            reasons = tuple("" if math.isfinite(value) else "not recorded" for value in values.tolist())
            return Scores(values, status, reasons, (_NOTHING,) * len(rows))
        read = [*self.read_details(column.metric, rows)]
        return Scores(values, status, tuple(row[0] for row in read), tuple(row[1] for row in read))

    def batches(self, metrics: Collection[str]) -> Iterator[tuple[Batch, dict[str, Scores]]]:
        """Read the rows in batches of at most 256, so that a large run needs little memory.

        Args:
            metrics: canonical strings of the metrics whose scores are read.

        Yields:
            The rows of a batch, in order, and their scores by canonical string.
        """
        for rows in chunks(range(len(self.ids)), BATCH_SIZE):
            samples = () if self.read_samples is None else tuple(self.read_samples(rows))
            yield Batch(samples), {name: self._rows(self.metrics[name], rows) for name in metrics}

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __str__(self) -> str:
        return str(self.summary())

    def metric(self, name: str) -> MetricColumn:
        """Return the values of a metric as a column, with its range and direction.

        Args:
            name: the metric's canonical string, or its name alone if only one metric has this name.

        Returns:
            The column; `run[name]` also has the reasons and details of the rows.

        Raises:
            UnknownNameError: the run has no such metric, or several with this name. It is also a KeyError.
        """
        if name in self.metrics:
            return self.metrics[name]
        columns = [column for column in self.metrics.values() if column.name == name]
        if len(columns) == 1:
            return columns[0]
        label = metric_label(name)
        hint = f"It has: {', '.join(map(metric_label, self.metrics))}."
        if label != name and label in {column.name for column in self.metrics.values()}:
            hint = f"The run has another definition of {label}."
        raise _UnknownMetricError(f"metric of {self.name}", name, hint=hint)

    def named(self, name: str) -> Self:
        """Return the same run with another name, which messages and tables show."""
        return replace(self, record=replace(self.record, name=name))

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return a run that contains only some rows.

        Args:
            rows: numbers of rows, from 0, int64, shape (k,).

        Returns:
            A run of k rows in this order, with a summary of its own.
        """
        read_samples, read_details = self.read_samples, self.read_details
        metrics = {
            name: replace(
                column,
                values=column.values[rows],
                codes=column.codes[rows],
                parts={part: has_value[rows] for part, has_value in column.parts.items()},
            )
            for name, column in self.metrics.items()
        }
        return replace(
            self,
            record=replace(self.record, rows=len(rows), scored=len(rows), rejected=0, summary=None),
            ids=tuple(self.ids[row] for row in rows),
            clusters=self.clusters[rows],
            weights=None if self.weights is None else self.weights[rows],
            metrics=metrics,
            rejected=(),
            evidence={},
            read_samples=read_samples and (lambda some: read_samples(rows[list(some)].tolist())),
            read_fields=None,
            read_details=read_details and (lambda name, some: read_details(name, rows[list(some)].tolist())),
            compute_summary=None,
        )

    def fields(self, *names: str) -> Iterable[tuple[Any, ...]]:
        """Read fields of all samples, such as ``run.fields("question", "response")``.

        Args:
            *names: names of fields of `Sample`.

        Returns:
            A tuple of the values for each row, in order; no tuples for a run without texts.
        """
        if self.read_fields is not None:
            return self.read_fields(names)
        return (tuple(getattr(sample, name) for name in names) for sample in self.samples)

    def statistics_notes(self) -> Iterator[str]:
        """Yield notes on how intervals treat rows: their clusters and their weights."""
        yield from self.clustering.notes(len(self.ids))
        if self.weighting is not None:
            yield from self.weighting.notes()

    @cached_property
    def _summary(self) -> Summary:
        if self.compute_summary is not None:
            return self.compute_summary()
        if self.record.summary is not None and self.weights is None:
            summary = Summary.from_dict(self.record.summary)
            if summary.clustering.by == self.clustering.by:
                return summary
        return summary_of_columns(self)

    def summary(self) -> Summary:
        """Summarise the run. The summary is computed once.

        Returns:
            The mean of each metric with its 95 % interval and coverage. With labels, also the AUROC of each
            metric and those of trivial baselines. ``print`` shows it as a table.
        """
        return self._summary

    def evidence_map(self, sample: str) -> GroundingReport:
        """Return the evidence map of one row: how well each passage supports each sentence of the response.

        Args:
            sample: the id of the row.

        Returns:
            The report, as from `sgi.check`.

        Raises:
            UnknownNameError: no row has this id, or `grounding` was not scored.
        """
        if sample not in self.ids or self.read_samples is None:
            raise UnknownNameError(f"row of {self.name}", sample, hint="Give the id of a row, as in `ids`.")
        row = self.ids.index(sample)
        (found,) = self.read_samples([row])
        return grounding_report(found, self["grounding"], row, self.values())


class _UnknownMetricError(UnknownNameError, KeyError):
    """An UnknownNameError that is also a KeyError, as mappings raise."""


def _pick(samples: Sequence[Sample], rows: Sequence[int]) -> list[Sample]:  # a closure cannot be pickled
    return [samples[row] for row in rows]


def _pick_details(
    scores: Mapping[str, Scores], metric: str, rows: Sequence[int]
) -> list[tuple[str, Mapping[str, Any]]]:
    return [(scores[metric].reasons[row], scores[metric].details[row]) for row in rows]


def summary_of_columns(run: Run) -> Summary:
    """Compute the summary of a run from its columns, without the parts that need its texts and labels."""
    metadata = [values for (values,) in run.fields("metadata")]
    truncated, left_out = (
        dict(Counter(name for values in metadata for name in values.get(key) or ()))
        for key in ("truncated", "left_out")
    )
    return Summary(
        rows=len(run.ids),
        questions=len(np.unique(run.clusters)),
        labelled=0,
        positives=0,
        metrics=tuple(column_summary(column, run.clusters, run.weights) for column in run.metrics.values()),
        baselines=(),
        copies=0,
        truncated=truncated,
        left_out=left_out,
        signature=run.signature,
        weighting=run.weighting,
    )
