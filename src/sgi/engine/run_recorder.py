"""Records a run in the store: creates or resumes it, commits batches, and removes texts on request."""

from __future__ import annotations

import platform
from dataclasses import replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from sgi.engine.score import BatchScores
from sgi.kernel.errors import RunMismatchError, SgiError, UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.metric_column import FieldDifference, provenance_differences
from sgi.kernel.protocols import DurableJudge, Usage, usage_of
from sgi.kernel.signature import dataset_without_texts, package_version, placeholder, without_texts
from sgi.store.run_queries import find_run, run_provenance, run_usage
from sgi.store.stored_batches import read_answers, stored_batch
from sgi.store.writer import Setup, create_run, open_writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel, JsonValue

    from sgi.engine.plan import Plan
    from sgi.engine.resources import Resources
    from sgi.engine.run_options import RunOptions
    from sgi.engine.summary import Summary
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.samples import StoredAnswer
    from sgi.store.writer import Writer


_NUMERICAL = ("numpy", "onnxruntime", "tokenizers")


class Recording:
    """A run in the store, while the engine writes it.

    Args:
        writer: writes its batches.
        metrics: the metrics that are scored.
        judge: the judge, whose usage is stored with each batch; None without a judge.
        no_texts: whether to store placeholders instead of texts.
    """

    def __init__(
        self,
        writer: Writer,
        metrics: Sequence[AnyMetric],
        judge: Judge | None = None,
        *,
        no_texts: bool = False,
    ) -> None:
        self._writer = writer
        self._categories = {metric.canonical: metric.spec.category for metric in metrics}
        self._judge = judge
        self._before = usage_of(judge)
        self._no_texts = no_texts
        self.run = writer.run
        self.done = writer.done
        """The positions of the first rows of the stored batches; the writer changes this set."""
        if isinstance(judge, DurableJudge):
            earlier = sum(run_usage(writer.database, self.run).values(), Usage())
            judge.store_usage(lambda: writer.put_usage(self._usage()), earlier)

    @cached_property
    def _record(self) -> RunRecord:
        return find_run(self._writer.database, self.run)

    def batch(self, start: int, read: Batch) -> tuple[Batch, BatchScores]:
        """Return the stored batch at row ``start``; texts come from ``read`` if the run stores none."""
        stored = stored_batch(self._writer.database, self._record, start)
        batch = read if self._no_texts else stored.batch
        return batch, BatchScores(stored.scores, stored.truncated, stored.failures, windowed=stored.windowed)

    def commit(self, start: int, samples: tuple[Sample, ...], batch_scores: BatchScores) -> None:
        """Commit a batch, and the judge usage since the run was started or resumed, in one transaction."""
        if self._no_texts:
            samples = tuple(sample.with_placeholders() for sample in samples)
            batch_scores = batch_without_texts(batch_scores, self._categories)
        self._writer.put(
            start,
            samples,
            batch_scores.scores,
            truncated=batch_scores.truncated,
            windowed=batch_scores.windowed,
            failures=batch_scores.failures,
            judgements={
                name: [_to_json(judgement) for judgement in rows]
                for name, rows in batch_scores.evidence.items()
            },
            usage=self._usage(),
        )

    def answers(self, start: int, rows: int) -> Mapping[int, StoredAnswer]:
        """Return the stored responses of the target, by position."""
        with self._writer.database.reading() as connection:
            return read_answers(connection, self.run, start, rows)

    def keep(self, answers: Mapping[int, StoredAnswer]) -> None:
        """Store responses of the target, by position."""
        self._writer.put_answers(answers)

    def finish(self, summary: Summary) -> None:
        """Store the summary, and close the run."""
        stored = summary_without_texts(summary) if self._no_texts else summary
        self._writer.finish(stored.to_dict())
        self._writer.database.verify()

    def stop(self, error: BaseException) -> None:
        """Store why the run stopped early; it can be resumed."""
        self._writer.stop(_stop_reason(error, whole=not self._no_texts), self._usage())

    def _usage(self) -> dict[str, Usage]:
        if self._judge is None:
            return {}
        return {self._judge.fingerprint: usage_of(self._judge).since(self._before)}


def begin_recording(database: Database, spec: RunOptions, plan: Plan, resources: Resources) -> Recording:
    """Create the run in the store."""
    writer = create_run(database, run_setup(spec, plan, resources))
    return Recording(writer, plan.metrics, resources.judge, no_texts=spec.no_texts)


def run_setup(spec: RunOptions, plan: Plan, resources: Resources) -> Setup:
    """Return the facts of a run before its first batch."""
    settings, settings_hash = spec.stored_settings(plan.metrics)
    return Setup(
        dataset=_dataset(spec, plan),
        dataset_name=plan.dataset,
        rows=plan.rows,
        spec=settings,
        spec_hash=settings_hash,
        signature=resources.signature(plan.metrics, n=plan.rows),
        versions=versions(),
        metrics=plan.metrics,
        name=spec.name,
        rejected=plan.rejected,
        provenance=resources.run_provenance(plan.metrics),
        tags=spec.tags,
    )


def _dataset(spec: RunOptions, plan: Plan) -> str:
    return dataset_without_texts(plan.identity) if spec.no_texts else plan.identity


def resume_recording(
    database: Database,
    record: RunRecord,
    spec: RunOptions,
    plan: Plan,
    resources: Resources,
) -> Recording:
    """Resume the recording of a stored run.

    Raises:
        RunBusyError: another process writes the run.
        RunMismatchError: the data, the spec, a model or the version of the package changed.
    """
    check_same(database, record, spec, plan, resources)
    writer = open_writer(database, record, take_over=spec.take_over)
    if spec.retry_failed:
        writer.reopen_failed()
    return Recording(writer, plan.metrics, resources.judge, no_texts=record.no_texts)


def check_same(
    database: Database, record: RunRecord, spec: RunOptions, plan: Plan, resources: Resources
) -> None:
    """Raise a RunMismatchError that says what changed since the run began, if anything did."""
    package, now = record.versions.get("sgi", ""), package_version()
    changed = ["its data"] if record.dataset != _dataset(spec, plan) else []
    differences = [FieldDifference("version of SGI", package or "not recorded", now)] * (package != now)
    if record.spec_hash != spec.identity(plan.metrics):
        changed.append("its settings")
    else:
        then = run_provenance(database, record)
        differences += provenance_differences(then, resources.run_provenance(plan.metrics))
        if differences:
            changed.append(f"what computes its scores ({'; '.join(map(str, differences))})")
    if changed:
        raise mismatch_error(record, " and ".join(changed))


def mismatch_error(record: RunRecord, changed: str) -> RunMismatchError:
    """Return the error of a run that cannot be resumed, since something changed."""
    return RunMismatchError(
        f"The run {record.label} cannot be resumed: {changed} changed.",
        hint="Start a new run.",
    )


def _stop_reason(error: BaseException, *, whole: bool) -> str:
    """Return why a run stopped; unless ``whole``, a message that can quote texts is reduced to its type."""
    if not isinstance(error, Exception):
        return "interrupted"
    if not whole:
        return f"{type(error).__name__}; {REASON_NOT_KEPT}"
    return str(error) if isinstance(error, SgiError) else f"{type(error).__name__}: {error}"


def _to_json(evidence: BaseModel | None) -> dict[str, JsonValue] | None:
    return None if evidence is None else evidence.model_dump(mode="json")


def versions() -> dict[str, str]:
    """Return the versions of the packages that compute the scores."""
    versions = {"sgi": package_version(), "python": platform.python_version()}
    for name in _NUMERICAL:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # tokenizers is in the extra `models`
            continue
    return versions


REASON_NOT_KEPT = "the reason is not kept, since it can quote texts"
"""Stored in place of the reason of a failed row or model."""


def batch_without_texts(batch_scores: BatchScores, categories: Mapping[str, str]) -> BatchScores:
    """Remove the texts from the details, reasons and evidence of a batch."""
    scores = {
        name: scores_without_texts(metric_scores, categories.get(name, ""))
        for name, metric_scores in batch_scores.scores.items()
    }
    return replace(
        batch_scores,
        scores=scores,
        failures=dict.fromkeys(batch_scores.failures, REASON_NOT_KEPT),
        evidence={},
    )


def scores_without_texts(scores: Scores, category: str = "") -> Scores:
    """Keep the numbers and the class (``category``) of the details, and reasons that quote no text.

    >>> failed = Scores.without_value(Status.FAILED, ["the judge replied 'Paris'"])
    >>> scores_without_texts(failed).reasons
    ('the reason is not kept, since it can quote texts',)
    """
    failed = (scores.status == Status.FAILED.value).tolist()
    reasons = tuple(
        REASON_NOT_KEPT if lost else reason for lost, reason in zip(failed, scores.reasons, strict=True)
    )
    details = tuple(_only_numbers(body, category) for body in scores.details)
    return Scores(scores.values, scores.status, reasons, details)


def _only_numbers(body: Mapping[str, JsonValue], category: str) -> dict[str, JsonValue]:
    numbers = {name: without_texts(value) for name, value in body.items() if not isinstance(value, str)}
    return numbers | {category: body[category]} if category in body else numbers


def summary_without_texts(summary: Summary) -> Summary:
    """Return the summary with a placeholder for the question of the dominant cluster."""
    dominant = summary.clustering.dominant
    if dominant is None:
        return summary
    question = replace(dominant, text=placeholder(dominant.text))
    return replace(summary, clustering=replace(summary.clustering, dominant=question))


def require_texts(record: RunRecord, purpose: str) -> None:
    """Raise a UsageError if the run stores no texts; ``purpose`` is the subject of the message."""
    if record.no_texts:
        raise UsageError(
            f"{purpose} needs the texts, but the run {record.label} stores none.",
            hint="Score the data in a run without `no_texts`.",
        )
