"""Scores as rows: nested for JSON Lines, flat for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.engine.groups import class_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Batch, Sample


def output_rows(
    batch: Batch, scores: Mapping[str, Scores], output: Path | None, *, inputs: bool
) -> Iterator[Mapping[str, JsonValue]]:
    """One row for each sample, in the shape that suits the file: nested for JSON Lines, else flat."""
    nested = output is None or output.suffix.lower() == ".jsonl"
    return (nested_row if nested else flat_row)(batch, scores, inputs=inputs)


def nested_row(
    batch: Batch, scores: Mapping[str, Scores], *, inputs: bool = False
) -> Iterator[Mapping[str, JsonValue]]:
    """``{id, label, metadata, scores: {metric: {value, status, reason, details}}}``, without absent parts."""
    for row, sample in enumerate(batch.samples):
        yield {**_facts(sample, inputs=inputs), "scores": {m: _cell(s, row) for m, s in scores.items()}}


def flat_row(
    batch: Batch, scores: Mapping[str, Scores], *, inputs: bool = False
) -> Iterator[Mapping[str, JsonValue]]:
    """``{id, label, metadata, metric, metric_status, metric_reason, …}``; the same columns in every row.

    A metric that puts rows into classes has one column more, by the name of `MetricSpec.category`: the class,
    such as ``metric_verdict`` of a calibrated metric, ``flagged`` or ``passed``; None where a row has none.
    Further details, such as the threshold, are in nested rows alone.
    """
    columns = flat_columns(batch, scores, inputs=inputs)
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def flat_columns(
    batch: Batch, scores: Mapping[str, Scores], *, inputs: bool = False
) -> dict[str, Sequence[JsonValue]]:
    """The rows of `flat_row` as columns; batches of the same metrics have the same columns."""
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
            "contexts": [list(sample.contexts) for sample in samples],
            "response": [sample.response for sample in samples],
            "reference": [sample.reference for sample in samples],
        }
    for metric, made in scores.items():
        values = zip(made.values.tolist(), made.ok.tolist(), strict=True)
        columns[metric] = [value if ok else None for value, ok in values]
        columns[f"{metric}_status"] = made.status.tolist()
        columns[f"{metric}_reason"] = [reason or None for reason in made.reasons]
        if metric in keys:
            columns[f"{metric}_{keys[metric]}"] = [body.get(keys[metric]) for body in made.details]
    return columns


def _facts(sample: Sample, *, inputs: bool) -> dict[str, JsonValue]:
    """What is known of the sample, without what is absent."""
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
