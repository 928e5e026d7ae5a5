"""Results of an evaluation in Python: scores by metric, tables, and the grounding report of one response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.export import flat_columns, nested_row
from sgi.engine.summarise import summarise
from sgi.engine.summary import NotebookRepr, Summary
from sgi.io.column_use import ColumnUse
from sgi.io.write import json_line
from sgi.kernel.errors import UnknownNameError, require_extra
from sgi.kernel.metric import Scores, Status
from sgi.kernel.names import metric_label
from sgi.kernel.protocols import Usage
from sgi.kernel.registry import metric_name
from sgi.kernel.sample import Batch
from sgi.kernel.scored_run import ScoredRun, are_numbers
from sgi.kernel.short_repr import short_repr
from sgi.metrics.citations.citation_map import CitationMap, first_citation_map
from sgi.metrics.grounding.evidence_map import EvidenceMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sgi.engine.accumulator import Accumulator
    from sgi.engine.judge_batch import Judgements
    from sgi.io.rows import RejectedRow
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.sample import Sample


_UNSUPPORTED = frozenset({"unsupported", "contradicted"})


@dataclass(frozen=True)
class GroundingReport(NotebookRepr):
    """The grounding of one response, and the evidence for each sentence.

    A notebook shows it as the evidence map: the sentences with their unsupported words marked, the checked
    facts, and the similarity of each sentence to each passage.

    Attributes:
        value: ``grounding`` in [0, 1], higher = better supported; None without a value.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value.
        evidence: the evidence map; None without a value.
        citations: the verdicts on the citations of the response; None if they were not checked.
    """

    response: str
    contexts: tuple[str, ...]
    value: float | None
    status: str
    reason: str
    evidence: EvidenceMap | None
    citations: CitationMap | None = None

    __repr__ = short_repr

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The sentences that are unsupported or contradicted."""
        return () if self.evidence is None else unsupported_sentences(self.evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        evidence = None if self.evidence is None else self.evidence.model_dump(mode="json")
        citations = None if self.citations is None else self.citations.model_dump(mode="json")
        return asdict(self) | {"evidence": evidence, "citations": citations}

    def __str__(self) -> str:
        if self.value is None or self.evidence is None:
            return f"grounding has no value: {self.reason}"
        of = len(self.evidence.sentences)
        lines = [f"grounding {self.value:.2f}: {len(self.unsupported)} of {of} sentences are unsupported"]
        lines += [f"  unsupported: {text}" for text in self.unsupported]
        citations = () if self.citations is None else self.citations.citations
        bad = [each for each in citations if each.verdict in {"wrong", "needless", "invalid"}]
        return "\n".join([*lines, *(f"  {each.verdict} citation: {each.text}" for each in bad)])


def unsupported_sentences(evidence: EvidenceMap) -> tuple[str, ...]:
    """Return the sentences of a response that are unsupported or contradicted."""
    return tuple(each.text for each in evidence.sentences if each.verdict in _UNSUPPORTED)


def grounding_report(
    sample: Sample, scores: Scores, row: int, others: Iterable[Scores] = ()
) -> GroundingReport:
    """Return the report of a row.

    Args:
        sample: the row.
        scores: the scores of ``grounding``, calibrated or not.
        row: index of the row in the scores.
        others: the scores of other metrics; the first citation map is part of the report.
    """
    known = scores.status[row] == Status.OK.value
    return GroundingReport(
        response=sample.response,
        contexts=sample.contexts,
        value=float(scores.values[row]) if known else None,  # noqa: PD011 - scores are no pandas frame
        status=str(scores.status[row]),
        reason=scores.reasons[row],
        evidence=EvidenceMap.read(scores.details[row]),
        citations=first_citation_map(other.details[row] for other in others),
    )


class ScoreTable(NotebookRepr, Mapping[str, Scores]):
    """Base of `Result` and `StoredRun`: scores by metric, for every row in the order of the data."""

    samples: tuple[Sample, ...]
    _scores: Mapping[str, Scores]

    def __getitem__(self, name: str) -> Scores:
        """Return the scores of a metric by its canonical string, or by its name if only one metric has it."""
        if name in self._scores:
            return self._scores[name]
        same_name = [canonical for canonical in self._scores if metric_name(canonical) == name]
        if len(same_name) == 1:
            return self._scores[same_name[0]]
        raise _UnknownMetricError(
            "metric of this result", name, hint=f"It has: {', '.join(map(metric_label, self._scores))}."
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def evidence_map(self, sample: str) -> GroundingReport:
        """Return the evidence map of one row: how well each passage supports each sentence of the response.

        Raises:
            UnknownNameError: no row has this id, or `grounding` was not scored.
        """
        for row, candidate in enumerate(self.samples):
            if candidate.id == sample:
                return grounding_report(candidate, self["grounding"], row, self._scores.values())
        raise UnknownNameError("row of this result", sample, hint="Give the id of a row, as in `samples`.")

    def to_dicts(self, *, inputs: bool = False) -> list[dict[str, Any]]:
        """Return one nested dict per row; ``inputs`` adds question, contexts, response and reference."""
        return [dict(row) for row in nested_row(Batch(self.samples), self._scores, inputs=inputs)]

    def to_columns(self, *, inputs: bool = False) -> dict[str, list[Any]]:
        """Return flat columns without details; ``inputs`` adds question, contexts, response and reference."""
        columns = flat_columns(Batch(self.samples), self._scores, inputs=inputs)
        return {name: list(values) for name, values in columns.items()} if self.samples else {}

    def to_pandas(self, *, inputs: bool = False) -> pd.DataFrame:
        """Return a pandas frame of ``to_columns``; needs the extra ``pandas``."""
        with require_extra("to_pandas()", "pandas"):
            import pandas as pd
        return pd.DataFrame(self.to_columns(inputs=inputs))

    def to_polars(self, *, inputs: bool = False) -> pl.DataFrame:
        """Return a polars frame of ``to_columns``, metadata as JSON text; needs the extra ``polars``."""
        with require_extra("to_polars()", "polars"):
            import polars as pl
        return pl.DataFrame(_with_json_metadata(self.to_columns(inputs=inputs)), infer_schema_length=None)

    def to_arrow(self, *, inputs: bool = False) -> pa.Table:
        """Return an Arrow table of ``to_columns``, metadata as JSON text; needs the extra ``parquet``."""
        with require_extra("to_arrow()", "parquet"):
            import pyarrow as pa
        return pa.table(_with_json_metadata(self.to_columns(inputs=inputs)))


@dataclass(frozen=True, eq=False)
class Result(ScoreTable):
    """Scores of every row, by metric.

    ``result["sgi"].values`` is a float64 array with NaN where there is no value; ``.status``, ``.reasons``
    and ``.details`` explain why.

    Attributes:
        signature: one line with everything that can change a number: models, judge, version.
        rejected: rows that could not be read (only with ``on_error="skip"``).
        evidence: judgements of each row, by the metric's canonical string.
        usage: requests, tokens and cost of the judge.
        provenance: the models, judge and prompts that computed each metric, by its canonical string.
        columns: the field that each column of the data became.
    """

    samples: tuple[Sample, ...]
    metrics: tuple[AnyMetric, ...]
    signature: str
    rejected: tuple[RejectedRow, ...]
    _scores: Mapping[str, Scores] = field(repr=False)
    _accumulator: Accumulator = field(repr=False)
    evidence: Mapping[str, Judgements] = field(default_factory=dict, repr=False)
    usage: Usage = field(default_factory=Usage)
    provenance: Mapping[str, MetricProvenance] = field(default_factory=dict, repr=False)
    columns: ColumnUse = field(default_factory=ColumnUse)

    __repr__ = short_repr

    def __str__(self) -> str:
        return str(self.summary())

    @cached_property
    def _summary(self) -> Summary:
        return summarise(self._accumulator, self.metrics, self.signature)

    def summary(self) -> Summary:
        """Means with intervals and coverage; with labels also AUROCs and those of trivial baselines."""
        return self._summary

    def scored(self, name: str = "result") -> ScoredRun:
        """Return the scores as columns for `compare`, `gate` and `group_by`; messages use ``name``."""
        columns = {
            metric.canonical: replace(
                self._accumulator.column(metric),
                version=metric.spec.version,
                provenance=self.provenance.get(metric.canonical),
            )
            for metric in self.metrics
        }
        ids = tuple(sample.id for sample in self.samples)
        return ScoredRun(
            name=name,
            rows=len(self.samples),
            ids=ids,
            clusters=self._accumulator.clusters.numbers,
            metrics=columns,
            signature=self.signature,
            rejected=len(self.rejected),
            numbered=are_numbers(ids),
            samples=lambda rows: (self.samples[row] for row in rows),
            clustering=self._accumulator.clusters.clustering(),
        )


class _UnknownMetricError(UnknownNameError, KeyError):
    """An UnknownNameError that is also a KeyError, as mappings raise."""


def join_scores(parts: Sequence[Scores]) -> Scores:
    """Return the scores of consecutive batches as one column."""
    return Scores(
        np.concatenate([part.values for part in parts]),  # noqa: PD011 - `values` of Scores
        np.concatenate([part.status for part in parts]),
        tuple(reason for part in parts for reason in part.reasons),
        tuple(details for part in parts for details in part.details),
    )


def _with_json_metadata(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return metadata as JSON text: its keys differ between rows, which typed tables cannot hold."""
    texts = [json_line(value).decode().rstrip() for value in columns.get("metadata", [])]
    return {name: texts if name == "metadata" else values for name, values in columns.items()}
