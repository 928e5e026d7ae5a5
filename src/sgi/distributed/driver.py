"""The driver of a run on a cluster: splits the data, schedules workers, aggregates results."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from sgi.distributed.addresses import as_address, split_query
from sgi.distributed.cluster import LOCAL, connect_cluster
from sgi.distributed.deduplicate_ids import deduplicate_ids
from sgi.distributed.error_codec import decode_error
from sgi.distributed.fragments import Expansion, Fragment, FragmentDataset, fragment_size, split_file
from sgi.distributed.import_sources import wrap_damage
from sgi.distributed.manifest import FragmentRecord, RunManifest
from sgi.distributed.partition import Manifest, partition_name, read_partition
from sgi.distributed.scan import FragmentScan, read_scans, reject_idf_metrics, scan_item, select_metrics
from sgi.distributed.storage import Folder, find_sources
from sgi.distributed.worker import Settings, Task, Worker, open_worker_resources, resolve_cache
from sgi.engine.accumulator import Accumulator
from sgi.engine.pipeline import RunReport
from sgi.engine.plan import check_repeat_judge
from sgi.engine.progress import Advanced, ColumnsRead, Finished, Started, silent
from sgi.engine.run_recorder import versions
from sgi.engine.spec import RunSpec
from sgi.engine.summarise import summarise
from sgi.io.column_use import ColumnUse
from sgi.io.readers import is_converted
from sgi.kernel.errors import EmbedderError, JudgeError, StoreError, UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.protocols import Usage

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.distributed.cluster import Cluster
    from sgi.distributed.storage import Source
    from sgi.engine.progress import Listener
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.provenance import MetricProvenance


@dataclass(frozen=True)
class ClusterConfig:
    """The cluster that scores a run; no field changes a score. The fields are arguments of `run`."""

    address: str = LOCAL
    workers: int | None = None
    cache: bool | str | Path = True
    retry_failed: bool = False
    listener: Listener = silent


def run(
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    metrics: str | Sequence[str] | None = None,
    embedder: str | Sequence[str] | None = None,
    *,
    address: str = LOCAL,
    workers: int | None = None,
    cache: bool | str | Path = True,
    listener: Listener = silent,
    **options: Any,
) -> RunReport:
    """Score data on a Ray cluster, into a folder of partitions; complete partitions are not scored again.

    The rows of all partitions, in order of their names, equal bit for bit those of a single process. If a
    worker dies, another scores its fragment, and starts its share of the judge's ``max_cost`` again.

    Args:
        data: a file, a folder or a pattern, as a path or an address such as ``s3://bucket/rows``.
        out: the folder, as a path or an address.
        metrics: names; None selects the default metrics whose fields the data has.
        embedder: a name or several, the primary one first; None for the embedded model.
        address: ``"local"`` for a new cluster on this machine, ``"auto"`` for a running one, or
            ``"HOST:PORT"``.
        workers: number of workers; None for one per core.
        cache: where vectors are stored: a file, each machine's own cache (True), or nowhere (False).
        listener: takes progress events.
        options: further settings of `RunSpec`: ``judge``, ``calibration``, ``columns``, ``on_error``,
            ``max_failures``, ``inputs``, ``name``.

    Raises MissingExtraError without the extra ``ray``; DataError with file, line, id and field of bad data;
    RunMismatchError if the folder holds another run, or a run of other data; another SgiError for other
    errors that the user can fix (complete partitions stay).

    >>> run("ragtruth:test.jsonl", "scores")
    Traceback (most recent call last):
    sgi.kernel.errors.UsageError: Benchmarks, traces and exports of other tools are read by one process. ...
    """
    arguments = {"data": Path(data), "out": Path(out), "metrics": metrics, "embedders": embedder}
    values = {name: value for name, value in (arguments | options).items() if value is not None}
    return start_run(RunSpec.of(values), ClusterConfig(address, workers, cache, listener=listener))


def start_run(spec: RunSpec, config: ClusterConfig) -> RunReport:
    """Score a run on a cluster into the folder ``spec.out``."""
    _check_spec(spec, config)
    folder = Folder(_absolute(spec.out or Path()))
    before = RunManifest.read(folder)
    sources = find_sources(as_address(str(spec.data)) or str(spec.data), spec.encoding)
    if before is not None:
        before.check_sources(sources, folder)
    with connect_cluster(config.address, config.workers) as cluster:
        fragments = (
            _fragments(sources, cluster.workers) if before is None else [p.fragment for p in before.pieces]
        )
        scans = _survey_all(fragments, spec, cluster, config.listener)
        settings, run_manifest = _prepare_run(spec, config, cluster, fragments, scans, folder)
        if before is not None:
            before.check_same(run_manifest, folder)
        else:
            run_manifest.begin(folder)
        failure_rate = _FailureRate(settings.metrics, spec.max_failures)
        done = run_manifest.complete_partitions(folder)
        failure_rate.add(done.values())
        config.listener(Started("scoring", run_manifest.rows))
        config.listener(Advanced(sum(manifest.rows for manifest in done.values())))
        tasks = [
            Task(number, partition_name(number), fragment, scans[number])
            for number, fragment in enumerate(fragments)
            if number not in done
        ]
        usage = Usage()
        for number, manifest in _score_tasks(tasks, settings, cluster):
            done[number] = manifest
            usage = sum(manifest.used().values(), usage)
            config.listener(Advanced(manifest.rows))
            failure_rate.add([manifest])
        config.listener(Finished("scoring"))
    return replace(
        _summarise_folder(run_manifest, settings, folder, failure_rate.share, usage), columns=_columns(scans)
    )


def read_partitions(
    run_manifest: RunManifest, folder: Folder, done: Mapping[int, Manifest], spec: RunSpec
) -> Iterator[tuple[int, Any]]:
    """Yield the batches of complete partitions, with the position of their first row."""
    start = 0
    for number, piece in enumerate(run_manifest.pieces):
        at = start
        start += piece.rows
        if number not in done:
            continue
        dataset = FragmentDataset.of(piece.fragment, spec, piece.taken)
        name = partition_name(number)
        with wrap_damage(folder.path_of(f"{name}.jsonl")):
            for part in read_partition(folder, name, done[number], dataset, run_manifest.metrics):
                yield at, part
                at += len(part[0])


def _check_spec(spec: RunSpec, config: ClusterConfig) -> None:
    """Raise UsageError if a cluster cannot run this spec, or an address contains a secret."""
    for place in (spec.data, spec.out):
        as_address(str(place))
    if spec.out is None:
        raise UsageError("`out` is required.", hint="Name a folder for the partitions.")
    if spec.no_texts:
        hint = "A run on Ray has no database; its folder holds scores, and details that quote texts."
        raise UsageError("`no_texts` does not apply to a run on Ray.", hint=hint)
    if spec.target is not None:
        hint = "Collect its answers with `sgi run` first, and score them on Ray."
        raise UsageError("A cluster cannot send requests to a target.", hint=hint)
    if spec.cascade is not None:
        raise UsageError(
            "A cascade needs a single process.", hint="Leave out `cascade`, or score without Ray."
        )
    if as_address(str(spec.data)) is None and is_converted(spec.data):
        message = "Benchmarks, traces and exports of other tools are read by one process."
        raise UsageError(message, hint="Score them without Ray.")
    if config.workers is not None and config.workers < 1:
        raise UsageError(f"`workers` is {config.workers}, but must be at least 1.")
    reject_idf_metrics((*(spec.named_metrics or ()), *spec.extra_metrics))


def _absolute(path: Path) -> str:
    return as_address(str(path)) or str(path.resolve())


def _fragments(sources: Sequence[Source], workers: int) -> list[Fragment]:
    size = fragment_size(sum(source.size for source in sources), workers)
    return [fragment for source in sources for fragment in split_file(source, size)]


def _survey_all(
    fragments: Sequence[Fragment], spec: RunSpec, cluster: Cluster, listener: Listener
) -> list[FragmentScan]:
    listener(Started("reading", None))
    skipping = spec.on_error == "skip"
    items = [json.dumps([number, fragment.to_dict(), {}]) for number, fragment in enumerate(fragments)]
    by_number: dict[int, FragmentScan] = {}
    expansion = Expansion.of(spec)
    scan = partial(scan_item, columns=spec.columns, skipping=skipping, expansion=expansion)
    for number, by_number[number] in read_scans(cluster.each(scan, items)):
        listener(Advanced(by_number[number].rows))
    listener(Finished("reading"))
    scans = [by_number[number] for number in range(len(fragments))]
    listener(ColumnsRead(_columns(scans)))
    return deduplicate_ids(
        fragments, scans, spec.columns, cluster.each, skipping=skipping, expansion=expansion
    )


def _columns(scans: Sequence[FragmentScan]) -> ColumnUse:
    return reduce(ColumnUse.merge, (ColumnUse.from_dict(scan.use) for scan in scans))


def _prepare_run(
    spec: RunSpec,
    config: ClusterConfig,
    cluster: Cluster,
    fragments: Sequence[Fragment],
    scans: Sequence[FragmentScan],
    folder: Folder,
) -> tuple[Settings, RunManifest]:
    several = len({fragment.source for fragment in fragments}) > 1
    name = Path(split_query(_absolute(spec.data))[0] if several else fragments[0].source.shown).name
    skipping = spec.on_error == "skip"
    metrics = select_metrics(
        name,
        fragments,
        scans,
        spec.named_metrics,
        spec.extra_metrics,
        cluster=spec.cluster,
        skipping=skipping,
    )
    check_repeat_judge(spec.repeat_judge, metrics, spec.cluster)
    stored = _stored_spec(spec, metrics)
    settings = Settings(
        stored,
        "",
        folder.text,
        resolve_cache(config.cache),
        cluster.workers,
        cluster.threads,
        config.retry_failed,
    )
    signature, provenance = anyio.run(_signature_and_provenance, settings, sum(scan.rows for scan in scans))
    run_manifest = RunManifest(
        stored,
        spec.identity(metrics),
        signature,
        versions(),
        name,
        tuple(metric.canonical for metric in metrics),
        tuple(
            FragmentRecord(fragment, scan.digest, scan.rows, scan.rejected, scan.taken)
            for fragment, scan in zip(fragments, scans, strict=True)
        ),
        provenance=provenance,
    )
    return replace(settings, run=run_manifest.identity), run_manifest


def _stored_spec(spec: RunSpec, metrics: Sequence[AnyMetric]) -> dict[str, Any]:
    """Return the spec as a single process stores it; addresses stay unchanged."""
    resolved = spec.model_copy(update={"data": Path(), "out": None, "rejects": None}).with_metrics(metrics)
    places = {"data": _absolute(spec.data), "out": _absolute(spec.out or Path())}
    return resolved.to_dict() | places


async def _signature_and_provenance(settings: Settings, rows: int) -> tuple[str, dict[str, MetricProvenance]]:
    async with open_worker_resources(settings) as resources:
        provenance = {metric.canonical: resources.provenance(metric) for metric in settings.metrics}
        return resources.signature(settings.metrics, n=rows), provenance


def _score_tasks(
    tasks: Sequence[Task], settings: Settings, cluster: Cluster
) -> Iterator[tuple[int, Manifest]]:
    if not tasks:
        return

    for text in cluster.with_actors(partial(Worker, settings), [task.to_json() for task in tasks]):
        values = json.loads(text)
        if "error" in values:
            raise decode_error(values["error"])
        yield values["number"], Manifest.from_values(values["manifest"])


class _FailureRate:
    """Counts the failed rows over all partitions."""

    def __init__(self, metrics: Sequence[AnyMetric], most: float) -> None:
        self._judged = {metric.canonical for metric in metrics if isinstance(metric, JudgedMetric)}
        self._most = most
        self._rows = 0
        self._failed: dict[str, int] = {}

    @property
    def share(self) -> float:
        return max(self._failed.values(), default=0) / max(self._rows, 1)

    def add(self, manifests: Any) -> None:
        reason = ""
        for manifest in manifests:
            self._rows += manifest.rows
            for name, rows in manifest.failed.items():
                self._failed[name] = self._failed.get(name, 0) + rows
            reason = manifest.reason or reason
        if self.share <= self._most:
            return
        worst = max(self._failed, key=lambda name: self._failed[name])
        kind = JudgeError if worst in self._judged else EmbedderError
        raise kind(
            f"{100 * self.share:.3g}% of {self._rows:,} rows failed, more than {100 * self._most:.3g}%. "
            f"The last reason: {reason or 'unknown'}",
            hint="Fix the cause and run into another folder, or raise `max_failures`.",
        )


def _summarise_folder(
    run_manifest: RunManifest, settings: Settings, folder: Folder, failures: float, usage: Usage
) -> RunReport:
    """Compute the summary from the partitions that are in the folder now."""
    run_manifest.check_still(folder)
    done = run_manifest.partitions(folder)
    missing = next((number for number in range(len(run_manifest.pieces)) if number not in done), None)
    if missing is not None:
        gone = f"{folder.path_of(partition_name(missing))}.json was removed during the run."
        raise StoreError(gone, hint="Run the same command again to resume.")
    accumulator = Accumulator.of(settings.metrics, settings.run_spec.cluster)
    for _, (batch, scores, _) in read_partitions(run_manifest, folder, done, settings.run_spec):
        accumulator.add(batch, scores)
    summary = summarise(accumulator, settings.metrics, run_manifest.signature)
    replace(run_manifest, summary=summary.to_dict()).end(folder)
    folder.sweep()
    return RunReport(summary, failures, run_manifest.rejected, None, usage)
