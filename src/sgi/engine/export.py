"""Convert scores to rows (nested for JSON Lines, flat for tables), and export stored runs."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.engine.run_recorder import require_texts
from sgi.engine.summarise import class_keys
from sgi.io.write import check_target, csv_lines, json_line, open_writer, write_chunks
from sgi.kernel.errors import StoreError, UsageError
from sgi.kernel.sample import FURTHER_FIELDS, Field
from sgi.store.stored_batches import further_fields, stored_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Batch, Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.stored_batches import StoredBatch


def output_rows(
    batch: Batch, scores: Mapping[str, Scores], output: Path | None, *, inputs: bool
) -> Iterator[Mapping[str, JsonValue]]:
    """Return one row for each sample: nested for JSON Lines, flat for other formats."""
    nested = output is None or output.suffix.lower() == ".jsonl"
    return (nested_row if nested else flat_row)(batch, scores, inputs=inputs)


def nested_row(
    batch: Batch, scores: Mapping[str, Scores], *, inputs: bool = False
) -> Iterator[Mapping[str, JsonValue]]:
    """Yield ``{id, label, metadata, scores: {metric: {value, status, reason, details}}}`` for each row."""
    for row, sample in enumerate(batch.samples):
        yield {
            **_sample_fields(sample, inputs=inputs),
            "scores": {m: _cell(s, row) for m, s in scores.items()},
        }


def flat_row(
    batch: Batch, scores: Mapping[str, Scores], *, inputs: bool = False
) -> Iterator[Mapping[str, JsonValue]]:
    """Return ``{id, label, metadata, metric, metric_status, metric_reason, …}``; all rows have equal keys.

    A metric with classes has one more column, named by `MetricSpec.category`, such as ``metric_verdict``;
    None if a row has no class. Further details are only in nested rows.
    """
    columns = flat_columns(batch, scores, inputs=inputs)
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def flat_columns(
    batch: Batch, scores: Mapping[str, Scores], *, inputs: bool = False, further: Iterable[str] = ()
) -> dict[str, Sequence[JsonValue]]:
    """Return the columns of `flat_row`.

    With ``inputs``, there is a column for each of `FURTHER_FIELDS` that is in a row or in ``further``. Apart
    from these, batches with the same metrics have the same columns.
    """
    keys = class_keys(scores)
    samples = batch.samples
    columns: dict[str, Sequence[JsonValue]] = {
        "id": [sample.id for sample in samples],
        "label": [sample.label for sample in samples],
        "metadata": [sample.metadata for sample in samples],
    }
    if inputs:
        columns |= {
            "question": [sample.question for sample in samples],
            "contexts": [list(sample.contexts) if sample.has(Field.CONTEXTS) else None for sample in samples],
            "response": [sample.response for sample in samples],
            "reference": [sample.reference for sample in samples],
        }
        rows = [sample.further_values() for sample in samples]
        present = {*further, *(name for row in rows for name in row)}
        columns |= {name: [row.get(name) for row in rows] for name in FURTHER_FIELDS if name in present}
    for metric, metric_scores in scores.items():
        values = zip(metric_scores.values.tolist(), metric_scores.ok.tolist(), strict=True)
        columns[metric] = [value if ok else None for value, ok in values]
        columns[f"{metric}_status"] = metric_scores.status.tolist()
        columns[f"{metric}_reason"] = [reason or None for reason in metric_scores.reasons]
        if metric in keys:
            columns[f"{metric}_{keys[metric]}"] = [body.get(keys[metric]) for body in metric_scores.details]
    return columns


def _sample_fields(sample: Sample, *, inputs: bool) -> dict[str, JsonValue]:
    if inputs:
        return sample.model_dump(mode="json", exclude_unset=True)
    facts: dict[str, JsonValue] = {"id": sample.id}
    if sample.label is not None:
        facts["label"] = sample.label
    if sample.metadata:
        facts["metadata"] = sample.metadata
    return facts


def _cell(scores: Scores, row: int) -> dict[str, JsonValue]:
    if not scores.reasons[row]:
        cell: dict[str, JsonValue] = {"value": float(scores.values[row]), "status": "ok"}
    else:
        cell = {"value": None, "status": str(scores.status[row]), "reason": scores.reasons[row]}
    if scores.details[row]:
        cell["details"] = dict(scores.details[row])
    return cell


def export(database: Database, record: RunRecord, path: Path, *, inputs: bool = False) -> int:
    """Write the stored rows of a run to a file (.jsonl, .csv or .parquet), and return their number.

    The file is written completely or not at all. ``inputs`` adds question, contexts, response and reference.

    Raises:
        UsageError: the file has another suffix, or cannot be written.
        StoreError: the run was changed or deleted meanwhile.
    """
    check_target(path)
    kind = path.suffix.casefold()
    if kind != ".parquet":
        write_chunks(path, export_chunks(database, record, kind.removeprefix("."), inputs=inputs))
        return record.scored
    with open_writer(path) as writer:
        for stored in exported_batches(database, record, inputs=inputs):
            writer.write(flat_row(stored.batch, stored.scores, inputs=inputs))
    return record.scored


def export_chunks(
    database: Database, record: RunRecord, kind: str, *, inputs: bool = False
) -> Iterator[bytes]:
    """Yield the stored rows of a run as chunks of a ``jsonl`` or ``csv`` file (``kind``), batch by batch.

    Raises:
        StoreError: the run was changed or deleted meanwhile; the chunks so far are incomplete.
    """
    first = True
    further = further_fields(database, record) if inputs and kind == "csv" else ()
    for stored in exported_batches(database, record, inputs=inputs):
        if kind == "jsonl":
            yield b"".join(map(json_line, nested_row(stored.batch, stored.scores, inputs=inputs)))
            continue
        columns = flat_columns(stored.batch, stored.scores, inputs=inputs, further=further)
        rows = zip(*columns.values(), strict=True)
        yield csv_lines(chain([columns], rows) if first else rows)
        first = False


def exported_batches(database: Database, record: RunRecord, *, inputs: bool) -> Iterator[StoredBatch]:
    """Yield the stored batches of a run, with their texts if ``inputs`` is set.

    Raises:
        UsageError: ``inputs`` is set, and the run stores no texts.
        StoreError: the run was changed or deleted meanwhile.
    """
    if inputs:
        require_texts(record, "`inputs`")
    rows = 0
    for stored in stored_batches(database, record, texts=inputs):
        yield stored
        rows += len(stored.batch)
    if rows != record.scored:
        message = f"{record.label} changed during the export: {rows:,} rows were read, not {record.scored:,}."
        raise StoreError(message, hint="Export it again.")


def require_not_data(record: RunRecord, out: Path) -> None:
    """Raise a UsageError if an output would replace the data of the run."""
    data = record.spec.get("data")
    if isinstance(data, str) and Path(data).resolve() == out.resolve():
        raise UsageError(
            f"{out} holds the data of the run, and would be overwritten.", hint="Choose another file."
        )
