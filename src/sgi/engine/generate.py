"""Asks the RAG system under test, one batch of questions at a time, and stores each answer at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from sgi.io.repeated_rows import answer_id
from sgi.kernel.errors import TargetError
from sgi.kernel.sample import Batch, Field
from sgi.store.samples import StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sgi.kernel.protocols import Target
    from sgi.kernel.sample import Sample


@dataclass(frozen=True, eq=False)
class AnsweredBatch:
    """A batch of samples, with the answers of the target if there is one.

    Attributes:
        start: the position of the first sample in the data.
        samples: the samples as they were read.
        batch: the samples with the target's answers as responses; equal to ``samples`` without a target.
        failed: the reason for each row without an answer, by its index in the batch.
    """

    start: int
    samples: tuple[Sample, ...]
    batch: Batch
    failed: Mapping[int, str] = field(default_factory=dict)


async def answer_batch(
    start: int,
    batch: Batch,
    target: Target,
    *,
    known: Mapping[int, StoredAnswer],
    keep: Callable[[Mapping[int, StoredAnswer]], None],
) -> AnsweredBatch:
    """Ask the target every question of a batch, except those with a known answer.

    Rows that are judgements of the same answer share one answer.

    Args:
        start: the position of the first sample.
        batch: the samples.
        target: the RAG system; it limits its own concurrency.
        known: stored answers by position; stored failures are requested again.
        keep: called with each answer and its position, as soon as it arrives.
    """
    answers = {position: answer for position, answer in known.items() if answer.response is not None}
    groups: dict[str, list[int]] = {}
    for position, sample in enumerate(batch.samples, start):
        groups.setdefault(answer_id(sample), []).append(position)

    async def ask(positions: Sequence[int]) -> None:
        answer = await _ask_target(batch.samples[positions[0] - start], target)
        same = dict.fromkeys(positions, answer)
        answers.update(same)
        keep(same)

    async with anyio.create_task_group() as group:
        for positions in groups.values():
            if not all(position in answers for position in positions):
                group.start_soon(ask, positions)
    ordered = [answers[start + row] for row in range(len(batch))]
    samples = tuple(
        sample.with_response(answer.response, answer.contexts, answer.costs, answer.ranking)
        for sample, answer in zip(batch.samples, ordered, strict=True)
    )
    failed = {row: answer.reason for row, answer in enumerate(ordered) if answer.reason is not None}
    return AnsweredBatch(start, batch.samples, Batch(samples), failed)


async def _ask_target(sample: Sample, target: Target) -> StoredAnswer:
    began = time.perf_counter()
    if not sample.has(Field.QUESTION):
        return StoredAnswer(None, reason="the sample has no question to ask")
    try:
        reply = await target.answer(sample.question)
    except TargetError as error:
        return StoredAnswer(None, reason=str(error), seconds=time.perf_counter() - began)
    seconds = time.perf_counter() - began
    return StoredAnswer(
        reply.response, reply.contexts, seconds=seconds, costs=reply.costs, ranking=reply.ranking
    )
