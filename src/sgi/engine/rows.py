"""Scores as rows: nested for JSON Lines, flat for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.engine.groups import class_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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
    keys = class_keys(scores)
    for row, sample in enumerate(batch.samples):
        flat: dict[str, JsonValue] = {"id": sample.id, "label": sample.label, "metadata": sample.metadata}
        if inputs:
            flat |= {
                "question": sample.question,
                "contexts": list(sample.contexts),
                "response": sample.response,
                "reference": sample.reference,
            }
        for metric, made in scores.items():
            flat[metric] = float(made.values[row]) if made.ok[row] else None
            flat[f"{metric}_status"] = str(made.status[row])
            flat[f"{metric}_reason"] = made.reasons[row] or None
            if metric in keys:
                flat[f"{metric}_{keys[metric]}"] = made.details[row].get(keys[metric])
        yield flat


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
