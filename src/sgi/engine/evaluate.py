"""Evaluate rows in Python; the scores are returned as a `Run`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import anyio
import anyio.to_thread

from sgi.engine.grounding_report import grounding_report
from sgi.engine.open_resources import given_options
from sgi.engine.pipeline import Pipeline, open_pipeline
from sgi.engine.plan import open_option_dataset, plan_run
from sgi.engine.progress import default_listener
from sgi.engine.run import Run
from sgi.engine.summarise import summarise
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric, Scores
from sgi.kernel.protocols import usage_of
from sgi.kernel.registry import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from contextlib import AbstractAsyncContextManager

    from pydantic import BaseModel

    from sgi.engine.grounding_report import GroundingReport
    from sgi.engine.open_resources import OptionKeywords
    from sgi.engine.run_options import EmbedderLike
    from sgi.engine.score import BatchScores
    from sgi.io.dataset import DataLike
    from sgi.io.rows import RejectedRow
    from sgi.kernel.sample import Batch, Sample


T = TypeVar("T")


_OF_STORED_RUNS = ("db", "inputs", "name", "no_texts", "out", "rejects", "tags")
"""Options of stored runs and of files of scores."""


async def aevaluate(
    data: DataLike,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    **options: Unpack[OptionKeywords],
) -> Run:
    """Score data in a thread, so that the event loop continues.

    Args:
        data: the rows, as in `evaluate`.
        metrics: names or metrics, as in `evaluate`.
        embedder: one embedder or several, as in `evaluate`.
        **options: further options, as in `evaluate`.

    Returns:
        The run, as from `evaluate`.

    Raises:
        DataError, UsageError, EmbedderError, JudgeError: as in `evaluate`.

    >>> rows = [{"response": "Paris.", "reference": "paris"}]
    >>> asyncio.run(aevaluate(rows, "squad_em"))["squad_em"].mean
    1.0
    """
    return await anyio.to_thread.run_sync(partial(evaluate, data, metrics, embedder, **options))


def evaluate(
    data: DataLike,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    **options: Unpack[OptionKeywords],
) -> Run:
    """Score data with metrics, in memory. `sgi.run` also stores the scores.

    The function also works inside a running event loop, as in notebooks.

    Args:
        data: a path, a list of dicts or Samples, a pandas, polars or Arrow frame, or a Hugging Face Dataset.
        metrics: names such as ``"rouge_l(beta=1.2)"``, or metrics; None selects by the fields of the data.
        embedder: a name, a folder or an embedder, or several, the primary first; None: the bundled one.
        **options: fields of `sgi.engine.run_options.RunOptions` that are not about stored runs or files:
            ``columns`` (field → column, if the columns' names are not recognised), ``encoding``, ``on_error``
            (``"stop"`` at a row that cannot be read, or ``"skip"`` lists it in ``.rejected``), ``judge`` (a
            name such as ``"openai:NAME@URL"``, a mapping of its settings, or a judge), ``retry_failed``,
            ``calibration`` (a file from ``sgi judge calibrate``), ``cascade`` (``"alpha=0.05"``), ``define``,
            ``nli``, ``target``, ``repeat``, ``repeat_judge``, ``per_turn``, ``split_contexts``, ``cluster``
            (``"question"``, ``"contexts"``, ``"row"`` or a column), ``max_failures`` (in [0, 1]),
            ``long_texts``, ``threads``, ``cache`` (a file for vectors and replies, your user cache (True), or
            memory during this call (False)), and ``allow_empty`` (score also a metric whose columns have no
            value in any row: all rows are ``missing``). ``listener`` takes progress events; None shows a
            progress bar in a notebook.

    Returns:
        The run: a mapping from each metric to its scores. ``run["sgi"].values`` is float64, shape (n,), NaN
        where a row has no value; ``.status`` and ``.reasons`` say why. ``.mean``, ``.interval`` and
        ``.coverage`` summarise the metric; ``run.summary()`` summarises all metrics.

    Raises:
        DataError: the data cannot be read; the message names file, line, id and field.
        UsageError: an argument is invalid, or no row has the fields of a metric.
        EmbedderError, JudgeError: more than ``max_failures`` of the rows failed.

    >>> rows = [{"response": "Paris.", "reference": "paris"}, {"response": "Rome.", "reference": "Paris"}]
    >>> scores = evaluate(rows, ["squad_em"])["squad_em"]
    >>> scores.values.tolist(), scores.mean
    ([1.0, 0.0], 0.5)
    """
    if others := [name for name in _OF_STORED_RUNS if name in options]:
        hint = "Use `sgi.run` to store a run or write a file."
        raise UsageError(f"`evaluate` has no option {others[0]!r}.", hint=hint)
    listener = options.pop("listener", None) or default_listener()
    chosen = given_options(options, embedder, source="sgi.evaluate")
    rejected: list[RejectedRow] = []
    dataset = open_option_dataset(chosen, data)
    named = [metrics] if isinstance(metrics, (str, AnyMetric)) else metrics
    run_plan = plan_run(
        chosen,
        dataset,
        None if named is None else resolve(named, chosen.definitions.metrics),
        on_reject=rejected.append,
    )
    pipeline_context = open_pipeline(dataset, run_plan, chosen, listener=listener)
    return run_outside_loop(partial(_collect, pipeline_context, rejected))


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
    *,
    question: str = "",
    contexts: Sequence[str],
    response: str,
    embedder: EmbedderLike | None = None,
    nli: str = "",
) -> GroundingReport:
    """Score how well passages support one response, and show what they do not support.

    If the response has citation markers, such as ``[1]``, they are checked too.

    Args:
        question: the question; empty if there is none.
        contexts: the passages, a list of texts.
        response: the response.
        embedder: a name, a folder or an embedder; None for the bundled model.
        nli: an entailment model: a profile (`sgi study models entailment`), a folder or ``owner/model``.

    Returns:
        The report: ``value`` is the score of the metric `grounding`, in [0, 1], higher = better supported;
        ``unsupported`` lists the sentences that the passages do not support; ``evidence`` has the details.
        Without a value, such as for a blank response, ``value`` is None and ``reason`` says why.

    Raises:
        UsageError: an argument has the wrong type, or the entailment model is unknown.
        EmbedderError: a model cannot be opened.

    >>> report = check(contexts=["The tower is 330 m tall."], response="The tower is 312 m tall.")
    >>> report.unsupported, report.evidence.sentences[0].checks[0].verdict
    (('The tower is 312 m tall.',), 'contradicted')
    """
    from sgi.kernel.sample import Sample
    from sgi.metrics.citations.support import CitationRecall
    from sgi.metrics.grounding.detector import Grounding
    from sgi.text.citation_markers import find_markers

    _require_text("question", question)
    _require_text("response", response)
    if isinstance(contexts, (str, bytes)) or not isinstance(contexts, Sequence):
        message = f"`contexts` must be a list of texts, not a {type(contexts).__name__}."
        raise UsageError(message, hint='Write contexts=["…"], with a text for each passage.')
    for number, passage in enumerate(contexts):
        _require_text(f"contexts[{number}]", passage)
    sample = Sample(id="response", question=question, contexts=tuple(contexts), response=response)
    metrics: list[AnyMetric] = [Grounding(nli)]
    if find_markers(response):
        metrics.append(CitationRecall(nli=nli))
    result = evaluate([sample], metrics, embedder, max_failures=1.0)
    return grounding_report(sample, result[metrics[0].canonical], 0, result.values())


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        written = 'contexts=["…"]' if name.startswith("contexts") else f'{name}="…"'
        hint = f"Write {written}. `sgi.evaluate` scores several rows."
        raise UsageError(f"`{name}` must be a text, not a {type(value).__name__}.", hint=hint)
