"""Partitions → a run in the database, as ``sgi run`` would have kept it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from sgi.distributed.addresses import as_address
from sgi.distributed.driver import partitions
from sgi.distributed.fragments import FragmentDataset
from sgi.distributed.import_sources import damage_in, require_own_files, with_named_sources
from sgi.distributed.manifest import KeptRun
from sgi.distributed.storage import Folder
from sgi.engine.accumulator import Accumulator
from sgi.engine.plan import batch_digest, batches, merge_metrics, resolve
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
class Kept:
    """What was brought into the database.

    Attributes:
        run: the id of the new run.
        rows: how many rows it holds.
        missing: how many rows of the data are in no partition yet.
    """

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
) -> Kept:
    """Bring a folder of partitions into a database, as one run; its summary is computed from its rows.

    The texts of the rows are read from the data. Only files of the folder and the data that is named here are
    opened: where the folder says that its data is, is not followed.

    Args:
        database: where to.
        place: the folder, as a path or an address.
        data: the data of the run, as it was named when the run was done; None where it lies in the folder.
        name: what to call the run; None for the name it was asked for with, if any.
        incomplete: also take a folder in which partitions are missing; the run is then not finished.

    Raises:
        StoreError: the folder holds no run, or partitions are missing and ``incomplete`` is false; or a file
            is damaged, of another run, or not as it was written.
        UsageError: it is in the database already, or its data is elsewhere and was not named.
        RunMismatchError: the data is not what it was.
        DataError: the data cannot be read any more.
    """
    folder, kept = read_folder(place)
    with damage_in(folder.shown("run.json")):
        done = kept.written(folder)
        missing = kept.rows - sum(manifest.rows for manifest in done.values())
        whole = len(done) == len(kept.pieces) and kept.summary is not None
        if not whole and not incomplete:
            lacking = f"{len(kept.pieces) - len(done)} of {len(kept.pieces)} partitions are missing"
            hint = "Give the same command again to resume it, or import what is there with --incomplete."
            raise StoreError(f"The run in {folder.text} is not finished: {lacking}.", hint=hint)
        spec = checked_spec(kept.spec, folder.shown("run.json"))
        metrics = merge_metrics(resolve(spec.metrics or ()), spec.extra_metrics)
        if tuple(metric.canonical for metric in metrics) != kept.metrics:
            raise StoreError(f"{folder.shown('run.json')} is damaged: its settings name other metrics.")
        kept = with_named_sources(kept, folder, None if data is None else str(data))
        return _import_batches(database, folder, kept, done, spec, metrics, name or spec.name, missing)


def read_folder(place: str | Path) -> tuple[Folder, KeptRun]:
    """A folder of partitions, and the run that its ``run.json`` describes.

    Raises:
        StoreError: it holds no run, or ``run.json`` is damaged.
        UsageError: it holds something else.
    """
    folder = Folder(as_address(str(place)) or str(place))
    with damage_in(folder.shown("run.json")):
        require_own_files(folder)
        kept = KeptRun.read(folder)
    if kept is None:
        raise StoreError(
            f"{folder.text} holds no run.", hint="Name the folder that sgi run --ray wrote into."
        )
    return folder, kept


def _import_batches(
    database: Database,
    folder: Folder,
    kept: KeptRun,
    done: Mapping[int, Manifest],
    spec: RunSpec,
    metrics: tuple[AnyMetric, ...],
    name: str | None,
    missing: int,
) -> Kept:
    """The rows in the database; if anything goes wrong on the way, the run is not there."""
    dataset = _identity(kept, folder, spec.columns)
    _require_new(database, folder, kept, dataset)
    start = RunStart(
        dataset=dataset,
        dataset_name=kept.dataset,
        rows=kept.rows,
        spec={**kept.spec, "imported_from": folder.text},
        spec_hash=kept.spec_hash,
        signature=kept.signature,
        versions=kept.versions,
        metrics=metrics,
        name=name,
        rejected=kept.rejected,
        provenance=kept.provenance,
    )
    accumulator = Accumulator.of(metrics, spec.cluster)
    recorder = create_run(database, start)
    try:
        for at, (batch, made, evidence) in partitions(kept, folder, done, spec.columns):
            accumulator.add(batch, made)
            facts = {"truncated": made.truncated, "failures": made.failures}
            recorder.commit(at, batch.samples, made.scores, **facts, judgements=evidence)
        recorder.save_usage(_total_usage(done.values()))
        if kept.summary is not None and not missing:
            recorder.finish(summarise(accumulator, metrics, kept.signature).to_dict())
        else:
            recorder.stop("partitions were missing when it was imported")
    except BaseException:
        recorder.discard()
        raise
    return Kept(recorder.run, kept.rows - missing, missing)


def _require_new(database: Database, folder: Folder, kept: KeptRun, dataset: str) -> None:
    """A folder whose run came in whole becomes no second run."""
    for record in list_runs(database):
        same = (record.spec_hash, record.dataset) == (kept.spec_hash, dataset)
        if same and record.finished and record.spec.get("imported_from") == folder.text:
            message = f"The run in {folder.text} is in the database already: {record.id}."
            raise UsageError(message, hint=f"sgi show {record.id} shows it.")


def _identity(kept: KeptRun, folder: Folder, columns: Mapping[str, str]) -> str:
    """The hash of all samples, as the engine's plan has it; a RunMismatchError where some are gone."""
    state = blake2b(digest_size=16)
    rows = 0
    for batch in batches(_samples(kept, columns)):
        state.update(batch_digest(batch))
        rows += len(batch)
    if rows != kept.rows:
        hint = "Take the data as it was when the run was done."
        raise RunMismatchError(f"The data of the run in {folder.text} changed: {rows:,} rows.", hint=hint)
    return state.hexdigest()


def _samples(kept: KeptRun, columns: Mapping[str, str]) -> Iterator[Sample]:
    for piece in kept.pieces:
        dataset = FragmentDataset(piece.fragment, columns, piece.taken)
        yield from dataset.samples(on_reject=(lambda _: None) if piece.rejected else None)


def _total_usage(manifests: Iterable[Manifest]) -> dict[str, Usage]:
    """What all partitions asked of the judge, by its fingerprint."""
    total: dict[str, Usage] = {}
    for manifest in manifests:
        for judge, used in manifest.used().items():
            total[judge] = total.get(judge, Usage()) + used
    return total
