"""Write and read partitions: the results of each fragment, in files that are written atomically.

Partition ``part-000007`` consists of ``part-000007.jsonl`` (one row per sample, as written by ``sgi run``)
and, if needed, ``part-000007.rejected.jsonl`` and ``part-000007.evidence.jsonl``. The manifest
``part-000007.json`` is written last, with a digest of each file. A partition without a matching manifest is
not complete.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import orjson
from pydantic import AfterValidator, ValidationError

from sgi.distributed.scan import combine_digests
from sgi.engine.export import output_rows
from sgi.engine.pipeline import Pipeline, rejected_row
from sgi.engine.plan import batch_digest
from sgi.engine.score import BatchScores
from sgi.io.write import json_line
from sgi.kernel.errors import StoreError
from sgi.kernel.json_shapes import AnyText, Count, Finite, JsonObject, Rows, first_problem, validate
from sgi.kernel.metric import Scores, Status
from sgi.kernel.protocols import Usage, usage_of
from sgi.kernel.sample import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.distributed.fragments import FragmentDataset
    from sgi.distributed.storage import Folder
    from sgi.engine.plan import Plan
    from sgi.engine.resources import Resources
    from sgi.io.rows import RejectedRow
    from sgi.io.write import RowWriter

_REMOVE_HINT = "Remove it, and run the same command again."
_NO_FAILURE_LIMIT = 1.0
"""Workers never stop for failed rows: only the driver knows the share over all rows."""


def partition_name(number: int) -> str:
    """Return the name of a partition; names sort in the order of the fragments."""
    return f"part-{number:06d}"


@dataclass
class BatchRecord:
    """The number of rows of a batch, those with long texts by field, and the models that failed."""

    rows: Rows
    truncated: dict[AnyText, Rows]
    failures: dict[AnyText, AnyText]
    windowed: dict[AnyText, Rows] = field(default_factory=dict)


@dataclass
class Cell:
    """A score in a partition: a value, or the reason why it is missing."""

    value: Finite | None
    status: Literal["ok", "undefined", "missing", "failed"]
    reason: AnyText = ""
    details: JsonObject = field(default_factory=dict)


def _value_or_reason(cell: Cell) -> Cell:
    if {cell.status == Status.OK.value, cell.value is not None, not cell.reason} != {cell.value is not None}:
        raise ValueError("value, status and reason contradict each other")
    return cell


@dataclass
class Row:
    """A row of a partition."""

    id: AnyText
    scores: dict[AnyText, Annotated[Cell, AfterValidator(_value_or_reason)]]


Evidence = dict[AnyText, JsonObject | None]
"""Judgements of a row, by metric."""


@dataclass
class Manifest:
    """Manifest of a partition.

    Attributes:
        run: hash that identifies the run.
        fragment: hash of the fragment's samples.
        failed: number of failed rows by metric.
        reason: reason of the last failure.
        usage: judge usage by judge fingerprint.
        files: digests of the other files, by name.
    """

    run: AnyText
    fragment: AnyText
    rows: Rows = 0
    rejected: Rows = 0
    failed: dict[AnyText, Rows] = field(default_factory=dict)
    reason: AnyText = ""
    batches: list[BatchRecord] = field(default_factory=list)
    usage: dict[AnyText, dict[AnyText, Count | Finite | None]] = field(default_factory=dict)
    files: dict[AnyText, AnyText] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the manifest as a line of JSON."""
        return json_line(asdict(self))

    @classmethod
    def of(cls, text: bytes, file: str) -> Self:
        """Parse a manifest; raises StoreError if it is damaged."""
        try:
            return cls.from_values(json.loads(text))
        except ValidationError as errors:
            raise StoreError(f"{file} is damaged: {first_problem(errors)}.", hint=_REMOVE_HINT) from errors
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"{file} is damaged.", hint=_REMOVE_HINT) from error

    @classmethod
    def from_values(cls, values: object) -> Self:
        """Parse the values that `to_json` writes; raises ValueError or TypeError if they are invalid."""
        manifest: Self = validate(cls, values)
        manifest.used()
        return manifest

    def add(self, batch_scores: BatchScores, rows: int) -> None:
        """Add the counts of a batch."""
        self.rows += rows
        truncated, windowed = dict(batch_scores.truncated), dict(batch_scores.windowed)
        self.batches.append(BatchRecord(rows, truncated, dict(batch_scores.failures), windowed))
        for name, scores in batch_scores.scores.items():
            lost = np.flatnonzero(scores.status == Status.FAILED.value)
            if lost.size:
                self.failed[name] = self.failed.get(name, 0) + int(lost.size)
                self.reason = scores.reasons[int(lost[-1])]

    def changed_file(self, folder: Folder) -> str | None:
        """Return the name of a file that is missing or was changed; None if there is none."""
        names = folder.names()
        for name, digest in self.files.items():
            if name not in names or folder.digest(name) != digest:
                return name
        return None

    def used(self) -> dict[str, Usage]:
        """The usage of the judge, by its fingerprint."""
        return {judge: Usage(**counts) for judge, counts in self.usage.items()}  # type: ignore[arg-type]


async def write_partition(
    folder: Folder,
    name: str,
    manifest: Manifest,
    dataset: FragmentDataset,
    plan: Plan,
    resources: Resources,
    *,
    inputs: bool,
) -> Manifest:
    """Score a fragment, and write its results, the manifest last.

    ``manifest`` names the run and the fragment; if ``inputs`` is set, the texts are also written. Raises
    SgiError as `Pipeline.score` does, except for the share of failed rows.
    """
    usage_before = usage_of(resources.judge)
    opened: dict[str, RowWriter] = {}
    with ExitStack() as stack:

        def writer(kind: str) -> RowWriter:
            if kind not in opened:
                opened[kind] = stack.enter_context(folder.writer(f"{name}{kind}.jsonl"))
            return opened[kind]

        def take(batch: Batch, batch_scores: BatchScores) -> None:
            writer("").write(output_rows(batch, batch_scores.scores, Path("rows.jsonl"), inputs=inputs))
            if batch_scores.evidence:
                writer(".evidence").write(_evidence_rows(batch_scores, len(batch)))
            manifest.add(batch_scores, len(batch))

        def reject(row: RejectedRow) -> None:
            manifest.rejected += 1
            writer(".rejected").write([rejected_row(row)])

        writer("")
        on_reject = reject if plan.rejected else None
        await Pipeline(dataset, plan, resources, on_reject=on_reject, max_failures=_NO_FAILURE_LIMIT).score(
            take
        )
    manifest.files = {file: folder.digest(file) for file in (f"{name}{kind}.jsonl" for kind in opened)}
    if resources.judge is not None:
        manifest.usage = {resources.judge.fingerprint: asdict(usage_of(resources.judge).since(usage_before))}
    folder.put(f"{name}.json", manifest.to_json())
    return manifest


def read_partition(
    folder: Folder, name: str, manifest: Manifest, dataset: FragmentDataset, metrics: Sequence[str]
) -> Iterator[tuple[Batch, BatchScores, dict[str, list[Any]]]]:
    """Yield the batches of a partition, with the judgements of each row by metric.

    Raises StoreError if the rows differ from the manifest or the data.
    """
    changed = manifest.changed_file(folder)
    if changed is not None:
        raise StoreError(
            f"{folder.path_of(changed)} has changed since its manifest was written.",
            hint=rerun_hint(folder, name),
        )
    samples = dataset.samples(on_reject=(lambda _: None) if manifest.rejected else None)
    file, evidence_file = f"{name}.jsonl", f"{name}.evidence.jsonl"
    lines = _rows(folder, file, Row) if manifest.rows else iter(())
    judged = _rows(folder, evidence_file, Evidence) if evidence_file in folder.names() else None
    digests: list[str] = []
    for facts in manifest.batches:
        batch = Batch(tuple(islice(samples, facts.rows)))
        rows = list(islice(lines, facts.rows))
        digests.append(batch_digest(batch).hex())
        if [row.id for row in rows] != list(batch.ids):
            raise _other_rows(folder, name)
        if any(not row.scores.keys() >= {*metrics} for row in rows):
            raise StoreError(
                f"{folder.path_of(file)} has no scores for a metric of the run.",
                hint=rerun_hint(folder, name),
            )
        scores = {metric: _scores([row.scores[metric] for row in rows]) for metric in metrics}
        judgements = list(islice(judged or (), facts.rows))
        evidence = {
            metric: [row.get(metric) for row in judgements]
            for metric in (judgements[0] if judgements else ())
        }
        if not evidence.keys() <= {*metrics} or (judgements and len(judgements) != len(rows)):
            raise StoreError(
                f"{folder.path_of(evidence_file)} does not belong to the rows of its partition.",
                hint=rerun_hint(folder, name),
            )
        yield batch, BatchScores(scores, facts.truncated, facts.failures, windowed=facts.windowed), evidence
    if combine_digests(digests) != manifest.fragment:
        raise _other_rows(folder, name)


def rerun_hint(folder: Folder, name: str) -> str:
    """Return the hint for a partition that is damaged or of another run."""
    return f"Remove {folder.path_of(name)}.json and run the same command again to recreate it."


def _other_rows(folder: Folder, name: str) -> StoreError:
    hint = "Use the folder and the data as they were when the run ended."
    return StoreError(f"{folder.path_of(name)}.jsonl does not hold the rows of its data.", hint=hint)


def _evidence_rows(batch_scores: BatchScores, rows: int) -> Iterator[dict[str, Any]]:
    for row in range(rows):
        judgements = {name: judgement[row] for name, judgement in batch_scores.evidence.items()}
        yield {
            name: None if judgement is None else judgement.model_dump(mode="json")
            for name, judgement in judgements.items()
        }


def _scores(cells: Sequence[Cell]) -> Scores:
    return Scores(
        np.array([cell.value for cell in cells], dtype=np.float64),
        np.array([cell.status for cell in cells], dtype="<U9"),
        tuple(cell.reason for cell in cells),
        tuple(cell.details for cell in cells),
    )


def _rows(folder: Folder, file: str, kind: Any) -> Iterator[Any]:
    for number, line in enumerate(folder.lines(file), 1):
        try:
            yield validate(kind, _read(line))
        except ValidationError as errors:
            raise _damage_error(folder, file, number, first_problem(errors)) from errors
        except (ValueError, RecursionError) as error:
            raise _damage_error(folder, file, number, "it is not JSON") from error


def _damage_error(folder: Folder, file: str, line: int, reason: str) -> StoreError:
    hint = rerun_hint(folder, file.partition(".")[0])
    return StoreError(f"{folder.path_of(file)}:{line}: the line is damaged: {reason}.", hint=hint)


def _read(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:  # lone surrogates, which Python's reader takes
        return json.loads(line)
