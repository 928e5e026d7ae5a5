"""What entailment models make of the pairs of a batch, each distinct pair asked about once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.in_thread import in_thread
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError, UsageError
from sgi.kernel.protocols import EntailmentScores
from sgi.kernel.vectors import EntailmentTable
from sgi.kernel.work_counter import current_work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import EntailmentModel

Pair = tuple[str, str]

AT_ONCE = 64
"""Pairs asked about in one call at most."""
CHARACTERS_AT_ONCE = 200_000
"""Characters of these pairs at most, unless a single pair has more: a long passage is read in many windows.

A run that is stopped waits for no call; its thread works on until the call is done, so that calls are short.
"""


@dataclass(frozen=True, eq=False)
class Entailments:
    """What a model made of some pairs.

    Attributes:
        table: the pairs that it read.
        unusable: hypotheses of which it said nothing usable, with the reason.
        failure: why it said nothing at all.
    """

    table: EntailmentTable
    unusable: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""


def require_entailment_models(metrics: Iterable[AnyMetric], resources: Resources) -> None:
    """Raise a UsageError where a metric wants an entailment model that is not open."""
    for metric in metrics:
        name = metric.entailment_model
        if name is not None and name not in resources.entailment_models:
            message = (
                f"The metric {metric.canonical!r} wants an entailment model that is not open here: {name}."
            )
            raise UsageError(message, hint="Score it with `sgi run` or sgi.evaluate.")


async def entailments(name: str, model: EntailmentModel, pairs: Iterable[Pair]) -> Entailments:
    """What a model makes of these pairs, in a thread; repeats are asked about once, the longest first.

    A hypothesis that the model cannot read beside a passage, or for which it gives no probability, is named
    and left out. Any other failure of the model holds for all pairs: nothing is half known.

    Args:
        name: what reasons call the model.
        model: the model.
        pairs: (premise, hypothesis).
    """
    try:
        return await _asked(name, model, list(dict.fromkeys(pairs)))
    except EmbedderError as error:
        return Entailments(_joined(name, []), failure=str(error))


async def _asked(name: str, model: EntailmentModel, pairs: Sequence[Pair]) -> Entailments:
    hypotheses = list(dict.fromkeys(hypothesis for _, hypothesis in pairs))
    if not hypotheses:
        return Entailments(_joined(name, []))
    fits = await in_thread(model.readable, hypotheses)
    unusable = {
        hypothesis: f"one of its sentences is too long for {name} to read beside a passage"
        for hypothesis, readable in zip(hypotheses, fits, strict=True)
        if not readable
    }
    tables = []
    for call in _calls(pairs):
        tables.append(await _read(name, model, call, unusable))
        current_work().add(len(call))
    return Entailments(_joined(name, tables), unusable)


def _calls(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """The pairs, the longest first, in parts that are asked about at once."""
    call: list[Pair] = []
    characters = 0
    for pair in sorted(pairs, key=lambda pair: -len(pair[0]) - len(pair[1])):
        length = len(pair[0]) + len(pair[1])
        if call and (len(call) == AT_ONCE or characters + length > CHARACTERS_AT_ONCE):
            yield call
            call, characters = [], 0
        call.append(pair)
        characters += length
    if call:
        yield call


async def _read(
    name: str, model: EntailmentModel, pairs: Sequence[Pair], unusable: dict[str, str]
) -> EntailmentTable:
    """The table of these pairs; notes the hypotheses that it has to leave out."""
    while True:
        asked = [pair for pair in pairs if pair[1] not in unusable]
        if not asked:
            return _joined(name, [])
        try:
            scores = await in_thread(model.entail, asked)
            return EntailmentTable.of(name, asked, scores)
        except NonFiniteVectorError as error:
            named = set(error.texts) - unusable.keys()
            if not named & {hypothesis for _, hypothesis in asked}:
                raise
            reason = f"{name} gave no usable probability for one of its sentences"
            unusable.update(dict.fromkeys(named, reason))


def _joined(name: str, tables: Sequence[EntailmentTable]) -> EntailmentTable:
    pairs = [pair for table in tables for pair in table.index]
    columns = zip(*(table.scores for table in tables), strict=True) if tables else [[np.zeros(0)]] * 3
    return EntailmentTable.of(name, pairs, EntailmentScores(*(np.concatenate(column) for column in columns)))
