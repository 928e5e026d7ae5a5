"""Evaluate data in Python: rows in, a Result out."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Literal

import anyio
import numpy as np

from sgi.engine.plan import plan
from sgi.engine.progress import Finished, Started, silent
from sgi.engine.result import Result
from sgi.engine.run import MAX_FAILURES, score_stream
from sgi.engine.tools import open_tools
from sgi.io.dataset import open_dataset
from sgi.kernel.metric import Scores
from sgi.kernel.signature import run_signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sgi.engine.batch import BatchScores
    from sgi.engine.progress import Listener
    from sgi.engine.tools import EmbedderLike
    from sgi.io.dataset import DataLike
    from sgi.io.rows import Rejected
    from sgi.kernel.metric import Metric
    from sgi.kernel.sample import Batch, Sample


async def aevaluate(
    data: DataLike,
    metrics: Sequence[str | Metric] | None = None,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    max_failures: float = MAX_FAILURES,
    cache: bool | str | Path = True,
    listener: Listener = silent,
) -> Result:
    """Score data with metrics; see :func:`evaluate`, of which this is the asynchronous form."""
    rejected: list[Rejected] = []
    skipping = on_error == "skip"
    dataset = open_dataset(data, columns=columns)
    planned = plan(dataset, metrics, on_reject=rejected.append if skipping else None)
    samples: list[Sample] = []
    parts: list[Mapping[str, Scores]] = []

    def take(batch: Batch, made: BatchScores) -> None:
        samples.extend(batch.samples)
        parts.append(made.scores)

    listener(Started("scoring", planned.rows))
    with open_tools(planned.metrics, embedder, cache=cache) as tools:
        ledger = await score_stream(
            dataset,
            planned.metrics,
            tools,
            take=take,
            on_reject=(lambda _: None) if skipping else None,
            max_failures=max_failures,
            listener=listener,
        )
    listener(Finished("scoring"))
    signature = run_signature(tools.fingerprints, n=len(samples))
    scores = {metric.canonical: _joined(parts, metric.canonical) for metric in planned.metrics}
    return Result(tuple(samples), planned.metrics, signature, tuple(rejected), scores, ledger)


def evaluate(
    data: DataLike,
    metrics: Sequence[str | Metric] | None = None,
    embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    max_failures: float = MAX_FAILURES,
    cache: bool | str | Path = True,
    listener: Listener = silent,
) -> Result:
    """Score data with metrics. Works inside a running event loop too (in notebooks and servers).

    Args:
        data: a path, a list of dicts or Samples, a pandas, polars or Arrow frame, or a Hugging Face Dataset.
        metrics: names such as ``"sgi"`` or ``"rouge_l(beta=1.2)"``, or metrics; None takes what the data's
            fields allow of sgi, semantic_similarity and lexical_aggregate.
        embedder: a name, a folder or an embedder, or several, the primary one first; None for the embedded
            model. It is only loaded if a metric needs vectors.
        columns: field → column, where the data's names are not recognised.
        on_error: ``"raise"`` stops at the first row that cannot be read; ``"skip"`` puts it in ``.rejected``.
        max_failures: the share of failed rows above which the evaluation stops, in [0, 1].
        cache: the vector cache: a file, the user's own (True), or none beyond this call (False).
        listener: hears of the progress.

    Returns:
        Scores by metric, with status and reason for each row.

    Raises:
        DataError: the data cannot be read; says file, line, id and field.
        UsageError: a metric or embedder is unknown, or no row has the fields a metric needs.
        EmbedderError: more than ``max_failures`` of the rows failed.

    >>> rows = [{"response": "The capital is Paris.", "reference": "Paris is the capital."}]
    >>> evaluate(rows, ["content_f1"])["content_f1"].values.tolist()
    [1.0]
    """
    work = partial(
        aevaluate,
        data,
        metrics,
        embedder,
        columns=columns,
        on_error=on_error,
        max_failures=max_failures,
        cache=cache,
        listener=listener,
    )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, work).result()


def _joined(parts: Sequence[Mapping[str, Scores]], name: str) -> Scores:
    columns = [part[name] for part in parts]
    return Scores(
        np.concatenate([column.values for column in columns]),
        np.concatenate([column.status for column in columns]),
        tuple(reason for column in columns for reason in column.reasons),
        tuple(detail for column in columns for detail in column.details),
    )
