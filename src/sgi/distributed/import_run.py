"""Import a folder of partitions into the database, as ``sgi run`` would store it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from sgi.distributed.addresses import as_address
from sgi.distributed.driver import read_partitions
from sgi.distributed.fragments import FragmentDataset
from sgi.distributed.import_sources import require_own_files, resolve_sources, wrap_damage
from sgi.distributed.manifest import RunManifest
from sgi.distributed.storage import Folder
from sgi.engine.accumulator import Accumulator
from sgi.engine.plan import batch_digest, batches, merge_metrics
from sgi.engine.stored_spec import checked_spec
from sgi.engine.summarise import summarise
from sgi.kernel.errors import RunMismatchError, StoreError, UsageError
from sgi.kernel.protocols import Usage
from sgi.store.run_queries import list_runs
from sgi.store.run_writer import RunStart, create_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from sgi.distributed.partition import Manifest
    from sgi.engine.spec import RunSpec
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database


@dataclass(frozen=True)
class ImportedRun:
    """Result of an import: id of the new run, imported rows, and rows of the data without a partition."""

    run: str
    rows: int
    missing: int


def import_partitions(
    database: Database,
    place: str | Path,
    *,
    data: str | Path | None = None,
    name: str | None = None,
    incomplete: bool = False,
) -> ImportedRun:
    """Import a folder of partitions into a database as one run; the summary is computed from the rows.

    Texts are read from the data. Only files of the folder and the data named here are opened; paths in the
    folder are not followed.

    Args:
        database: target database.
        place: path or address of the folder.
        data: path or address of the run's data, as it was given to the run; None if the data is in the
            folder.
        name: name of the run; None for its original name.
        incomplete: whether a folder with missing partitions is imported, as an unfinished run.

    Raises StoreError if the folder holds no run, partitions are missing (without ``incomplete``), or a file
    is damaged or of another run; UsageError if the run is in the database already, or its data is outside of
    the folder and ``data`` is None; RunMismatchError if the data changed; DataError if it cannot be read.
    """
    folder, run_manifest = read_folder(place)
    with wrap_damage(folder.path_of("run.json")):
        done = run_manifest.partitions(folder)
        missing = run_manifest.rows - sum(manifest.rows for manifest in done.values())
        whole = len(done) == len(run_manifest.pieces) and run_manifest.summary is not None
        if not whole and not incomplete:
            lacking = (
                f"{len(run_manifest.pieces) - len(done)} of {len(run_manifest.pieces)} partitions are missing"
            )
            hint = "Run the same command again to resume it, or import what is there with `incomplete`."
            raise StoreError(f"The run in {folder.text} is not finished: {lacking}.", hint=hint)
        spec = checked_spec(run_manifest.spec, folder.path_of("run.json"))
        metrics = merge_metrics(spec.named_metrics or (), spec.extra_metrics)
        if tuple(metric.canonical for metric in metrics) != run_manifest.metrics:
            raise StoreError(f"{folder.path_of('run.json')} is damaged: its settings name other metrics.")
        run_manifest = resolve_sources(run_manifest, folder, None if data is None else str(data))
        return _import_batches(
            database, folder, run_manifest, done, spec, metrics, name or spec.name, missing
        )


def read_folder(place: str | Path) -> tuple[Folder, RunManifest]:
    """Read a folder of partitions and its ``run.json``.

    Raises StoreError if there is no run or ``run.json`` is damaged, UsageError if the folder has other files.
    """
    folder = Folder(as_address(str(place)) or str(place))
    with wrap_damage(folder.path_of("run.json")):
        require_own_files(folder)
        run_manifest = RunManifest.read(folder)
    if run_manifest is None:
        raise StoreError(f"{folder.text} holds no run.", hint="Name the folder of a run on Ray.")
    return folder, run_manifest


def _import_batches(
    database: Database,
    folder: Folder,
    run_manifest: RunManifest,
    done: Mapping[int, Manifest],
    spec: RunSpec,
    metrics: tuple[AnyMetric, ...],
    name: str | None,
    missing: int,
) -> ImportedRun:
    """Write the rows into the database as a run; after an error, the run is not in the database."""
    dataset = _dataset_hash(run_manifest, folder, spec)
    _require_new(database, folder, run_manifest, dataset)
    start = RunStart(
        dataset=dataset,
        dataset_name=run_manifest.dataset,
        rows=run_manifest.rows,
        spec={**run_manifest.spec, "imported_from": folder.text},
        spec_hash=run_manifest.spec_hash,
        signature=run_manifest.signature,
        versions=run_manifest.versions,
        metrics=metrics,
        name=name,
        rejected=run_manifest.rejected,
        provenance=run_manifest.provenance,
    )
    accumulator = Accumulator.of(metrics, spec.cluster)
    recorder = create_run(database, start)
    try:
        for at, (batch, scores, evidence) in read_partitions(run_manifest, folder, done, spec):
            accumulator.add(batch, scores)
            facts = {"truncated": scores.truncated, "failures": scores.failures, "windowed": scores.windowed}
            recorder.commit(at, batch.samples, scores.scores, **facts, judgements=evidence)
        recorder.save_usage(_total_usage(done.values()))
        if run_manifest.summary is not None and not missing:
            recorder.finish(summarise(accumulator, metrics, run_manifest.signature).to_dict())
        else:
            recorder.stop("partitions were missing when it was imported")
    except BaseException:
        recorder.discard()
        raise
    return ImportedRun(recorder.run, run_manifest.rows - missing, missing)


def _require_new(database: Database, folder: Folder, run_manifest: RunManifest, dataset: str) -> None:
    for record in list_runs(database):
        same = (record.spec_hash, record.dataset) == (run_manifest.spec_hash, dataset)
        if same and record.finished and record.spec.get("imported_from") == folder.text:
            message = f"The run in {folder.text} is in the database already: {record.id}."
            raise UsageError(message, hint=f"sgi show {record.id} shows it.")


def _dataset_hash(run_manifest: RunManifest, folder: Folder, spec: RunSpec) -> str:
    """Return the hash of all samples, as `sgi run` does; RunMismatchError if the number of rows changed."""
    state = blake2b(digest_size=16)
    rows = 0
    for batch in batches(_samples(run_manifest, spec)):
        state.update(batch_digest(batch))
        rows += len(batch)
    if rows != run_manifest.rows:
        hint = "Use the data as it was at the time of the run."
        raise RunMismatchError(f"The data of the run in {folder.text} changed: {rows:,} rows.", hint=hint)
    return state.hexdigest()


def _samples(run_manifest: RunManifest, spec: RunSpec) -> Iterator[Sample]:
    for piece in run_manifest.pieces:
        dataset = FragmentDataset.of(piece.fragment, spec, piece.taken)
        yield from dataset.samples(on_reject=(lambda _: None) if piece.rejected else None)


def _total_usage(manifests: Iterable[Manifest]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for manifest in manifests:
        for judge, used in manifest.used().items():
            total[judge] = total.get(judge, Usage()) + used
    return total
