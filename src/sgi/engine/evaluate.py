"""Evaluate data in Python: rows in, a Result out."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import anyio
import anyio.to_thread
import numpy as np

from sgi.engine.calibration_file import read_calibration
from sgi.engine.cascade import beside, detector_of, parse_cascade
from sgi.engine.open_judge import with_judge
from sgi.engine.pipeline import score_stream
from sgi.engine.plan import plan, require_judged
from sgi.engine.progress import Finished, Started, default_listener
from sgi.engine.resources import open_models
from sgi.engine.results import Result, grounding_report
from sgi.engine.routing import Router, fit_threshold
from sgi.engine.spec import MAX_FAILURES
from sgi.io.dataset import open_dataset
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric, Scores
from sgi.kernel.protocols import Usage, usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from sgi.engine.accumulator import Accumulator
    from sgi.engine.calibration_file import CalibrationFile
    from sgi.engine.cascade import Cascade
    from sgi.engine.judge_batch import Evidence
    from sgi.engine.open_judge import JudgeLike
    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.resources import EmbedderLike, Resources
    from sgi.engine.results import GroundingReport
    from sgi.engine.score import BatchScores
    from sgi.io.dataset import DataLike, Dataset
    from sgi.io.rows import Rejected
    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.sample import Batch, Sample

    CalibrationLike = str | Path | CalibrationFile
    CascadeLike = str | Mapping[str, Any] | Cascade


class Options(TypedDict, total=False):
    """The keyword arguments of `evaluate`."""

    columns: Mapping[str, str] | None
    encoding: str | None
    on_error: Literal["raise", "skip"]
    judge: JudgeLike | None
    retry_failed: bool
    calibration: CalibrationLike | None
    cascade: CascadeLike | None
    max_failures: float
    cluster: str
    cache: bool | str | Path
    listener: Listener


async def aevaluate(
    data: DataLike,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    **options: Unpack[Options],
) -> Result:
    """Score data with metrics beside other work; see :func:`evaluate`, which takes the same arguments.

    The work runs in a thread, so that the event loop goes on meanwhile.
    """
    return await anyio.to_thread.run_sync(partial(evaluate, data, metrics, embedder, **options))


def evaluate(
    data: DataLike,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    judge: JudgeLike | None = None,
    retry_failed: bool = False,
    calibration: CalibrationLike | None = None,
    cascade: CascadeLike | None = None,
    max_failures: float = MAX_FAILURES,
    cluster: str = BY_QUESTION,
    cache: bool | str | Path = True,
    listener: Listener | None = None,
) -> Result:
    """Score data with metrics. Works inside a running event loop too (in notebooks and servers).

    Args:
        data: a path, a list of dicts or Samples, a pandas, polars or Arrow frame, or a Hugging Face Dataset.
        metrics: names such as ``"sgi"`` or ``"rouge_l(beta=1.2)"``, or metrics; None takes what the data's
            fields allow of grounding, sgi, semantic_similarity and lexical_aggregate.
        embedder: a name, a folder or an embedder, or several, the primary one first; None for the embedded
            model. It is only loaded if a metric needs vectors.
        columns: field → column, where the data's names are not recognised; see `sgi.io.open_dataset` for
            paths, joined columns and fields to drop. ``.columns`` of the result says what was used.
        encoding: of a text file; None for UTF-8, or what its byte order mark says.
        on_error: ``"raise"`` stops at the first row that cannot be read; ``"skip"`` puts it in ``.rejected``.
        judge: what judged metrics ask: a name such as ``"openai:NAME"`` or ``"openai:NAME@URL"``, a mapping
            of its settings, or a judge of your own.
        retry_failed: ask the judge once more where the replies that are kept were bad.
        calibration: the file that ``sgi calibrate`` wrote: its metric is scored too, and beside it the
            probability and the verdict it makes of that.
        cascade: ``"alpha=0.05"`` or ``{"alpha": 0.05, "labelled": PATH}``: the judge is asked only about
            rows that the metric ``grounding`` does not clear, and of unsupported rows like the labelled ones
            at most the share alpha is cleared. Without ``labelled``, the labels are those of the data.
        max_failures: the share of failed rows above which the evaluation stops, in [0, 1].
        cluster: which rows are not independent, for intervals and tests: ``"question"`` (rows with the same
            question), ``"contexts"`` (rows with the same passages), ``"row"`` (none), or a metadata column.
        cache: where vectors of models known by name, and replies of judges known by name, are kept: a file,
            the user's cache (True), or nowhere beyond this call (False). Vectors of an embedder of your own
            stay in memory for this call.
        listener: is called with each event of the progress; None draws a bar in a notebook, and nothing
            elsewhere.

    Returns:
        Scores by metric, with status and reason for each row.

    Raises:
        DataError: the data cannot be read; says file, line, id and field.
        UsageError: a metric or embedder is unknown, or no row has the fields a metric needs.
        UnknownNameError: no row has the column that ``cluster`` names.
        EmbedderError, JudgeError: more than ``max_failures`` of the rows failed.

    >>> rows = [{"response": "The capital is Paris.", "reference": "Paris is the capital."}]
    >>> evaluate(rows, ["content_f1"])["content_f1"].values.tolist()
    [1.0]
    """
    if on_error not in {"raise", "skip"}:
        raise UsageError(f"on_error is 'raise' or 'skip', not {on_error!r}.")
    if not 0 <= max_failures <= 1:
        raise UsageError(f"max_failures is a share from 0 to 1, not {max_failures!r}.")
    rejected: list[Rejected] = []
    skipping = on_error == "skip"
    dataset = open_dataset(data, columns=columns, encoding=encoding)
    named = [metrics] if isinstance(metrics, (str, AnyMetric)) else metrics
    fitted = None if calibration is None else read_calibration(calibration)
    rule = parse_cascade(cascade)
    planned = plan(
        dataset,
        named,
        on_reject=rejected.append if skipping else None,
        cluster=cluster,
        beside=(*(fitted.metrics() if fitted else ()), *(beside(named or ()) if rule else ())),
    )
    if rule is not None:
        require_judged(planned.metrics)
    taken = _Taken()
    with open_models(planned.metrics, embedder, cache=cache) as resources:
        work = _Work(
            dataset,
            planned,
            resources,
            judge,
            cache,
            retry_failed,
            fitted,
            taken,
            cascade=rule,
            columns=columns,
            skipping=skipping,
            limit=max_failures,
            cluster=cluster,
            listener=default_listener() if listener is None else listener,
        )
        accumulator = _outside_any_loop(work.score)
    scores = {metric.canonical: _joined(taken.parts, metric.canonical) for metric in planned.metrics}
    samples, evidence = tuple(taken.samples), taken.evidence()
    return Result(
        samples,
        planned.metrics,
        work.signature,
        tuple(rejected),
        scores,
        accumulator,
        evidence,
        work.usage,
        work.provenance,
        planned.columns,
    )


class _Taken:
    """The rows and scores of all batches, in order."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.parts: list[Mapping[str, Scores]] = []
        self._evidence: dict[str, list[BaseModel | None]] = {}

    def take(self, batch: Batch, made: BatchScores) -> None:
        self.samples.extend(batch.samples)
        self.parts.append(made.scores)
        for name, found in made.evidence.items():
            self._evidence.setdefault(name, []).extend(found)

    def evidence(self) -> dict[str, Evidence]:
        return {name: tuple(found) for name, found in self._evidence.items()}


@dataclass(eq=False)
class _Work:
    """The scoring of a dataset, inside the event loop in which a judge lives."""

    dataset: Dataset
    planned: Plan
    resources: Resources
    judge: JudgeLike | None
    cache: bool | str | Path
    again: bool
    calibration: CalibrationFile | None
    taken: _Taken
    cascade: Cascade | None
    columns: Mapping[str, str] | None
    skipping: bool
    limit: float
    cluster: str
    listener: Listener
    signature: str = ""
    usage: Usage = field(default_factory=Usage)
    provenance: Mapping[str, MetricProvenance] = field(default_factory=dict)

    async def score(self) -> Accumulator:
        metrics = self.planned.metrics
        async with with_judge(
            self.resources, metrics, self.judge, cache=self.cache, again=self.again
        ) as resources:
            if self.calibration is not None:
                self.calibration.check(resources)
            router = await self._screen(resources)
            self.listener(Started("scoring", self.planned.rows))
            accumulator = await score_stream(
                self.dataset,
                self.planned,
                resources,
                take=self.taken.take,
                router=router,
                on_reject=(lambda _: None) if self.skipping else None,
                max_failures=self.limit,
                cluster=self.cluster,
                listener=self.listener,
            )
            self.listener(Finished("scoring"))
            self.usage = usage_of(resources.judge)
            self.signature = resources.signature(metrics, n=len(self.taken.samples))
            self.provenance = {metric.canonical: resources.provenance(metric) for metric in metrics}
        return accumulator

    async def _screen(self, resources: Resources) -> Router | None:
        """Which rows the judge is not asked about, learnt from labels."""
        metrics = self.planned.metrics
        if self.cascade is None:
            return None
        found = await fit_threshold(
            self.cascade,
            detector_of(metrics),
            resources,
            self.dataset,
            columns=self.columns,
            cluster=self.cluster,
            on_reject=(lambda _: None) if self.skipping else None,
            listener=self.listener,
        )
        return Router.of(found, metrics)


def _outside_any_loop(work: Callable[[], Coroutine[Any, Any, Accumulator]]) -> Accumulator:
    """Run the coroutine to its end; where this thread has a running loop, in a thread without one."""
    if not _in_a_loop():
        return anyio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, work).result()


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _joined(parts: Sequence[Mapping[str, Scores]], name: str) -> Scores:
    columns = [part[name] for part in parts]
    return Scores(
        np.concatenate([column.values for column in columns]),
        np.concatenate([column.status for column in columns]),
        tuple(reason for column in columns for reason in column.reasons),
        tuple(detail for column in columns for detail in column.details),
    )


def evidence_map(
    response: str,
    contexts: str | Sequence[str],
    *,
    question: str = "",
    embedder: EmbedderLike | None = None,
    nli: str = "",
) -> GroundingReport:
    """Is every sentence of a response supported by its passages? The Python side of ``sgi check``.

    Args:
        response: the response.
        contexts: the passages, or one passage.
        question: the question, where there is one.
        embedder: a name, a folder or an embedder; None for the embedded model.
        nli: an entailment model that reads sentences and passages too: a folder or ``owner/model``.

    >>> report = evidence_map("The tower is 312 m tall.", "The tower is 330 m tall.")
    >>> report.doubtful, report.evidence.sentences[0].checks[0].verdict
    (('The tower is 312 m tall.',), 'contradicted')
    """
    from sgi.kernel.sample import Sample
    from sgi.metrics.grounding.detector import Grounding

    passages = (contexts,) if isinstance(contexts, str) else tuple(contexts)
    sample = Sample(id="response", question=question, contexts=passages, response=response)
    metric = Grounding(nli)
    scores = evaluate([sample], metric, embedder, max_failures=1.0)[metric.canonical]
    return grounding_report(sample, scores, 0)
