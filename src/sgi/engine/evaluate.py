"""Evaluate rows in Python; the scores are returned as a `Run`."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

import anyio
import anyio.to_thread

from sgi.engine.calibration_file import read_calibration
from sgi.engine.cascade import detector_metrics, parse_cascade
from sgi.engine.grounding_report import grounding_report
from sgi.engine.open_resources import ResourceOptions
from sgi.engine.pipeline import Pipeline, open_pipeline
from sgi.engine.plan import check_repeat_judge, expand, plan, require_judged
from sgi.engine.progress import default_listener
from sgi.engine.run import Run
from sgi.engine.spec import MAX_FAILURES, MAX_REPEAT
from sgi.engine.summarise import summarise
from sgi.io.dataset import open_dataset
from sgi.io.split_contexts import SplitContexts
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.conversation import SESSION
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric, Scores
from sgi.kernel.protocols import usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from pydantic import BaseModel

    from sgi.engine.calibration_file import CalibrationFile
    from sgi.engine.cascade import Cascade
    from sgi.engine.grounding_report import GroundingReport
    from sgi.engine.open_resources import EmbedderLike, JudgeLike
    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.score import BatchScores
    from sgi.io.dataset import DataLike
    from sgi.io.readers import Dataset
    from sgi.io.rows import RejectedRow
    from sgi.io.split_contexts import Separator
    from sgi.kernel.sample import Batch, Sample

    CalibrationLike = str | Path | CalibrationFile
    CascadeLike = str | Mapping[str, Any] | Cascade


T = TypeVar("T")


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
    allow_empty: bool
    per_turn: bool
    split_contexts: Separator | None
    repeat_judge: int
    cluster: str | None
    cache: bool | str | Path
    listener: Listener


async def aevaluate(
    data: DataLike,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    **options: Unpack[Options],
) -> Run:
    """Score data in a thread, so that the event loop continues; takes the arguments of :func:`evaluate`."""
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
    allow_empty: bool = False,
    per_turn: bool = False,
    split_contexts: Separator | None = None,
    repeat_judge: int = 1,
    cluster: str | None = None,
    cache: bool | str | Path = True,
    listener: Listener | None = None,
) -> Run:
    """Score data with metrics; also inside a running event loop (in notebooks and servers).

    Args:
        data: a path, a list of dicts or Samples, a pandas, polars or Arrow frame, or a Hugging Face Dataset.
        metrics: names such as ``"rouge_l(beta=1.2)"``, or metrics; None selects by the fields of the data.
        embedder: a name, a folder or an embedder, or several, the primary first; None: the bundled one.
        columns: field → column, if the columns' names are not recognised; see `sgi.io.open_dataset`.
        encoding: encoding of a text file; None for UTF-8, or that of its byte order mark.
        on_error: ``"raise"`` stops at a row that cannot be read; ``"skip"`` lists it in ``.rejected``.
        judge: a name such as ``"openai:NAME@URL"``, a mapping of its settings, or a judge.
        retry_failed: ask the judge again where its cached replies are unusable.
        calibration: a file from ``sgi calibrate``; adds its metric, with probability and verdict.
        cascade: ``"alpha=0.05"`` or a mapping: only rows that `grounding` does not clear go to the judge.
        max_failures: the share of failed rows above which the evaluation stops, in [0, 1].
        allow_empty: score also a metric whose columns have no value in any row: all rows are ``missing``.
        per_turn: score each turn of a conversation, not only the last; its turns form one cluster by default.
        split_contexts: how contexts that are one text are split: ``"dashes"``, ``"bars"``, ``"numbers"`` or
            ``"blank-lines"``.
        repeat_judge: how often the judge is asked about each answer; each judgement is a row.
        cluster: what dependent rows share: ``"question"`` (default), ``"contexts"``, ``"row"`` or a column.
        cache: a file for vectors and replies, your user cache (True), or memory during this call (False).
        listener: takes progress events; None shows a progress bar in a notebook.

    Raises:
        DataError: the data cannot be read; the message names file, line, id and field.
        UsageError: an argument is invalid, or no row has the fields of a metric.
        EmbedderError, JudgeError: more than ``max_failures`` of the rows failed.

    >>> evaluate([{"response": "Paris.", "reference": "paris"}], ["squad_em"])["squad_em"].values.tolist()
    [1.0]
    """
    _check_limits(on_error, max_failures, repeat_judge)
    rejected: list[RejectedRow] | None = [] if on_error == "skip" else None
    rows = SplitContexts(open_dataset(data, columns=columns, encoding=encoding), split_contexts)
    dataset = expand(rows, per_turn=per_turn, repeat_judge=repeat_judge)
    rule, clusters = parse_cascade(cascade), cluster or (SESSION if per_turn else BY_QUESTION)
    fitted = None if calibration is None else read_calibration(calibration)
    run_plan = _plan(dataset, metrics, fitted, rule, clusters, rejected, allow_empty=allow_empty)
    check_repeat_judge(repeat_judge, run_plan.metrics, run_plan.cluster)
    options = ResourceOptions(embedder, judge, None, fitted, cache=cache, retry_failed=retry_failed)
    pipeline_context = _open(dataset, run_plan, options, rule, columns, rejected, max_failures, listener)
    return run_outside_loop(partial(_collect, pipeline_context, rejected or ()))


def _check_limits(on_error: str, max_failures: float, repeat_judge: int) -> None:
    if on_error not in {"raise", "skip"}:
        raise UsageError(f"`on_error` must be 'raise' or 'skip', not {on_error!r}.")
    if not 0 <= max_failures <= 1:
        raise UsageError(f"`max_failures` must be a share from 0 to 1, not {max_failures!r}.")
    if not 1 <= repeat_judge <= MAX_REPEAT:
        raise UsageError(f"`repeat_judge` must be from 1 to {MAX_REPEAT}, not {repeat_judge!r}.")


def _plan(
    dataset: Dataset,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None,
    calibration: CalibrationFile | None,
    cascade: Cascade | None,
    cluster: str,
    rejected: list[RejectedRow] | None,
    *,
    allow_empty: bool,
) -> Plan:
    named = [metrics] if isinstance(metrics, (str, AnyMetric)) else metrics
    extra = (
        *(calibration.metrics() if calibration else ()),
        *(detector_metrics(named or ()) if cascade else ()),
    )
    on_reject = None if rejected is None else rejected.append
    run_plan = plan(
        dataset, named, on_reject=on_reject, cluster=cluster, extra=extra, allow_empty=allow_empty
    )
    if cascade is not None:
        require_judged(run_plan.metrics)
    return run_plan


def _open(
    dataset: Dataset,
    run_plan: Plan,
    options: ResourceOptions,
    cascade: Cascade | None,
    columns: Mapping[str, str] | None,
    rejected: list[RejectedRow] | None,
    max_failures: float,
    listener: Listener | None,
) -> AbstractAsyncContextManager[Pipeline]:
    return open_pipeline(
        dataset,
        run_plan,
        options,
        cascade=cascade,
        columns=columns,
        skip_rejected=rejected is not None,
        max_failures=max_failures,
        listener=listener or default_listener(),
    )


async def _collect(
    pipeline_context: AbstractAsyncContextManager[Pipeline], rejected: Sequence[RejectedRow]
) -> Run:
    samples: list[Sample] = []
    parts: list[Mapping[str, Scores]] = []
    evidence: dict[str, list[BaseModel | None]] = {}

    def take(batch: Batch, batch_scores: BatchScores) -> None:
        samples.extend(batch.samples)
        parts.append(batch_scores.scores)
        for name, rows in batch_scores.evidence.items():
            evidence.setdefault(name, []).extend(rows)

    async with pipeline_context as pipeline:
        accumulator = await pipeline.score(take)
        resources, metrics = pipeline.resources, pipeline.plan.metrics
        signature = resources.signature(metrics, n=len(samples))
        scores = {
            metric.canonical: Scores.join([part[metric.canonical] for part in parts]) for metric in metrics
        }
        return Run.of(
            "result",
            [sample.id for sample in samples],
            [
                replace(
                    accumulator.column(metric),
                    version=metric.spec.version,
                    provenance=resources.provenance(metric),
                )
                for metric in metrics
            ],
            accumulator.clusters.numbers,
            signature=signature,
            rejected=rejected,
            clustering=accumulator.clusters.clustering(),
            samples=samples,
            scores=scores,
            compute_summary=partial(summarise, accumulator, metrics, signature),
            evidence={name: tuple(rows) for name, rows in evidence.items()},
            usage=usage_of(resources.judge),
            columns=pipeline.plan.columns,
        )


def run_outside_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the coroutine in this thread, or in a new thread if this one has a running event loop."""
    if not _loop_is_running():
        return anyio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, work).result()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def check(
    response: str,
    contexts: str | Sequence[str],
    *,
    question: str = "",
    embedder: EmbedderLike | None = None,
    nli: str = "",
) -> GroundingReport:
    """Score how well passages support one response, and show what they do not support.

    If the response has citation markers, such as ``[1]``, they are checked too.

    Args:
        response: the response.
        contexts: the passages, or one passage.
        question: the question, if there is one.
        embedder: a name, a folder or an embedder; None for the bundled model.
        nli: an entailment model: a profile (`sgi models entailment`), a folder or ``owner/model``.

    >>> report = check("The tower is 312 m tall.", "The tower is 330 m tall.")
    >>> report.unsupported, report.evidence.sentences[0].checks[0].verdict
    (('The tower is 312 m tall.',), 'contradicted')
    """
    from sgi.kernel.sample import Sample
    from sgi.metrics.citations.support import CitationRecall
    from sgi.metrics.grounding.detector import Grounding
    from sgi.text.citation_markers import find_markers

    passages = (contexts,) if isinstance(contexts, str) else tuple(contexts)
    sample = Sample(id="response", question=question, contexts=passages, response=response)
    metrics: list[AnyMetric] = [Grounding(nli)]
    if find_markers(response):
        metrics.append(CitationRecall(nli=nli))
    result = evaluate([sample], metrics, embedder, max_failures=1.0)
    return grounding_report(sample, result[metrics[0].canonical], 0, result.values())
