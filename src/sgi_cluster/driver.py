"""The driver of a run on a cluster: checks the data, hands batches to workers, and writes their scores."""

from __future__ import annotations

import pickle
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from sgi.engine.accumulator import Accumulator
from sgi.engine.open_resources import given_options, open_resources
from sgi.engine.pipeline import RunReport, reject_writer
from sgi.engine.plan import batches, open_option_dataset, plan_run, planned_batches
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.run_recorder import run_setup
from sgi.engine.summarise import summarise
from sgi.engine.token_features import with_frequencies
from sgi.io.write import open_writer
from sgi.kernel.durable_files import make_folder
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.protocols import Usage
from sgi_cluster.cluster import LOCAL, check_address, connect_cluster
from sgi_cluster.result_folder import SCORES, require_empty, result_rows, write_manifest
from sgi_cluster.worker import Worker, share_judge, unpickle

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.run_options import RunOptions
    from sgi.kernel.sample import Sample
    from sgi.store.writer import Setup


def run(
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    metrics: str | Sequence[str] | None = None,
    embedder: str | Sequence[str] | None = None,
    *,
    address: str = LOCAL,
    workers: int | None = None,
    listener: Listener = silent,
    **options: Any,
) -> RunReport:
    """Score data on a Ray cluster, into a folder that `sgi_cluster.import_folder` reads.

    The scores are identical, bit for bit, to the scores of a single process. If a worker dies, another one
    scores its batch, and starts its share of the judge's ``max_cost`` again.

    Args:
        data: a file, as for `sgi.evaluate`; only this machine reads it.
        out: an empty or new folder; only this machine writes it.
        metrics: names; None selects the default metrics whose fields the data has.
        embedder: a name or several, the primary one first; None for the embedded model.
        address: ``"local"`` for a new cluster on this machine, ``"auto"`` for a running one, or
            ``"HOST:PORT"``.
        workers: number of workers; None for one per core.
        listener: takes progress events.
        options: fields of `RunOptions`: ``judge``, ``calibration``, ``columns``, ``on_error``,
            ``max_failures``, ``inputs``, ``name``, and ``cache``: where vectors and judge replies are stored:
            a file, each machine's own cache (True), or nowhere (False).

    Raises MissingExtraError without the extra ``ray``; DataError with file, line, id and field of bad data;
    another SgiError for other errors that the user can fix.

    >>> run("rows.jsonl", "scores", target="app:answer")
    Traceback (most recent call last):
    sgi.kernel.errors.UsageError: A run on Ray does not support `target`. ...
    """
    values = {"data": Path(data), "out": Path(out), "metrics": metrics, **options}
    chosen = given_options(values, embedder, source="a run on Ray")
    return start_run(chosen, address, workers, listener)


def start_run(
    options: RunOptions, address: str = LOCAL, workers: int | None = None, listener: Listener = silent
) -> RunReport:
    """Score a run on a cluster into the folder ``options.out``."""
    if options.out is None:
        raise UsageError("`out` is required.", hint="Name a folder for the scores.")
    for name in ("target", "cascade", "no_texts"):
        if getattr(options, name):
            hint = "Leave it out, or score without Ray."
            raise UsageError(f"A run on Ray does not support `{name}`.", hint=hint)
    if workers is not None and workers < 1:
        raise UsageError(f"`workers` is {workers}, but must be at least 1.")
    require_empty(options.out)
    check_address(address)
    planned = anyio.run(plan_cluster_run, options, listener)
    with connect_cluster(address, workers) as cluster:
        judge = None if options.judge is None else share_judge(options.judge, cluster.workers)
        limits = {"judge": judge, "threads": max(1, int(cluster.cores))}
        worker = replace(planned.worker, options=planned.worker.options.model_copy(update=limits))
        count = len(planned.plan.digests)
        with closing(cluster.score(partial(read_items, planned.options), worker, count)) as items:
            return write_scores(planned, items, listener)


@dataclass(frozen=True)
class PlannedScoring:
    """A planned run; ``worker`` has the limits of all workers together."""

    options: RunOptions
    plan: Plan
    start: Setup
    worker: Worker


async def plan_cluster_run(options: RunOptions, listener: Listener = silent) -> PlannedScoring:
    """Read and check the data, and open the models and the judge once to check them."""
    plan = plan_run(options, listener=listener)
    options = options.with_metrics(plan.metrics)
    async with open_resources(plan.metrics, options) as opened:
        resources = await with_frequencies(_samples(options), plan.metrics, opened)
        start = run_setup(options, plan, resources)
    return PlannedScoring(options, plan, start, Worker(plan.metrics, options, resources.frequencies))


def read_items(options: RunOptions) -> Iterator[bytes]:
    """Yield the pickled batches of the data."""
    return map(pickle.dumps, batches(_samples(options)))


def _samples(options: RunOptions) -> Iterator[Sample]:
    """Yield the samples; the plan has reported the rows that cannot be read."""
    return open_option_dataset(options).samples(on_reject=lambda _: None)


def write_scores(run: PlannedScoring, items: Iterable[bytes], listener: Listener = silent) -> RunReport:
    """Write the scored batches into the folder of the run, and return its report."""
    options, plan, folder = run.options, run.plan, run.options.out or Path()
    accumulator, usage = Accumulator.of(plan.metrics, plan.cluster), Usage()
    make_folder(folder)
    listener(Started("scoring", plan.rows))
    with open_writer(folder / SCORES) as writer, reject_writer(options.rejects) as on_reject:
        read = planned_batches(open_option_dataset(options), plan, on_reject or (lambda _: None))
        for (_, batch), digest, item in zip(read, plan.digests, items, strict=True):
            scored = unpickle(item)
            if scored.digest != digest:
                raise DataError("The data changed while it was scored.", file=plan.dataset)
            accumulator.add(batch, scored.scores, scored.error_type)
            accumulator.check_failures(options.max_failures)
            writer.write(result_rows(batch, scored, inputs=options.inputs))
            usage = sum((Usage(**used) for used in scored.usage.values()), usage)
            listener(Advanced(len(batch)))
    write_manifest(folder, run.start)
    listener(Finished("scoring"))
    summary = summarise(accumulator, plan.metrics, run.start.signature)
    share, cached = accumulator.failures().share, accumulator.cached_failures
    return RunReport(summary, share, plan.rejected, None, usage, cached, plan.columns)
