"""Compute the features of a batch, each once: the embeddings and entailment probabilities for its metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.engine.in_thread import in_thread
from sgi.engine.token_features import unusable_texts
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.protocols import EntailmentScores, encode
from sgi.kernel.vectors import EntailmentTable, Features, VectorTable, usable_unit_rows
from sgi.models.batching import current_work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Embedder, EntailmentModel
    from sgi.kernel.tokens import TokenTable

Pair = tuple[str, str]

MAX_PAIRS = 64
"""Pairs in one call of an entailment model."""
MAX_CHARACTERS = 200_000
"""Characters of these pairs, unless a single pair has more.

A run that is stopped does not wait for a call; its thread works until the call ends, so calls are short.
"""


@dataclass(frozen=True, eq=False)
class FeatureRequest:
    """The features that a metric needs for its rows, except token vectors.

    Attributes:
        texts: the distinct texts to embed, by the name of the embedder.
        entailment_model: name of the entailment model; empty if the metric needs none.
        pairs: the distinct (premise, hypothesis) pairs.
    """

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    entailment_model: str = ""
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def of(cls, metric: AnyMetric, prepared: Any, configured: tuple[str, ...]) -> Self:
        """Collect the features that a metric needs for the rows that its ``prepare`` returned."""
        entailment = metric.entailment_needs
        return cls(
            metric.texts_by_embedder(prepared, configured),
            entailment.entailment_model if entailment else "",
            tuple(dict.fromkeys(entailment.pairs(prepared))) if entailment else (),
        )


@dataclass(frozen=True, eq=False)
class TextVectors:
    """The vectors of one embedder, the texts without a vector, and the reason if the embedder failed."""

    table: VectorTable
    unusable: frozenset[str] = frozenset()
    failure: str = ""


@dataclass(frozen=True, eq=False)
class Entailments:
    """The probabilities of an entailment model, the hypotheses without one, and the reason if it failed."""

    table: EntailmentTable
    unusable: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True, eq=False)
class BatchFeatures:
    """The features of a batch, by the names of the models that returned them.

    Attributes:
        failures: models that returned nothing, with the reason.
        truncated: the texts that an embedder truncated.
        windowed: the texts that an embedder read in windows.
        configured: the names of the embedders of the run, the primary one first.
    """

    vectors: Mapping[str, TextVectors]
    entailments: Mapping[str, Entailments]
    failures: dict[str, str] = field(default_factory=dict)
    truncated: frozenset[str] = frozenset()
    windowed: frozenset[str] = frozenset()
    configured: tuple[str, ...] = ()

    def select(self, request: FeatureRequest) -> BatchFeatures:
        """Select the features of the models that one metric uses."""
        vectors = {name: self.vectors[name] for name in request.texts if name in self.vectors}
        model = request.entailment_model
        entailments = {model: self.entailments[model]} if model else {}
        return BatchFeatures(vectors, entailments, configured=self.configured)

    @property
    def fatal(self) -> str:
        """Why no row can be scored: every embedder or the entailment model failed; empty if rows can be."""
        embedders = [result.failure for result in self.vectors.values() if result.failure]
        if embedders and len(embedders) == len(self.vectors):
            return " ".join(embedders)
        return " ".join(result.failure for result in self.entailments.values() if result.failure)

    def table(self, tokens: TokenTable | None) -> Features:
        """Build the features that a metric gets; ``tokens`` are its token vectors."""
        return Features(
            {name: result.table for name, result in self.vectors.items() if not result.failure},
            {name: result.failure for name, result in self.vectors.items() if result.failure},
            tokens,
            next((result.table for result in self.entailments.values()), None),
            self.configured,
        )


async def compute_features(
    requests: Sequence[FeatureRequest], resources: Resources, *, further_units: int
) -> BatchFeatures:
    """Embed each distinct text once for each embedder, and classify each distinct pair once.

    ``further_units`` is the number of texts and pairs that are computed afterwards, for the progress.
    """
    texts: dict[str, dict[str, None]] = {}
    pairs: dict[str, dict[Pair, None]] = {}
    for request in requests:
        for name, values in request.texts.items():
            if values:
                texts.setdefault(name, {}).update(dict.fromkeys(values))
        if request.entailment_model:
            pairs.setdefault(request.entailment_model, {}).update(dict.fromkeys(request.pairs))
    current_work().expect(sum(map(len, texts.values())) + sum(map(len, pairs.values())) + further_units)
    vectors = {
        name: await embed(name, resources.embedders[name], [*distinct]) for name, distinct in texts.items()
    }
    entailments = {
        name: await entail(name, resources.entailment_models[name], own) for name, own in pairs.items()
    }
    failures = {name: result.failure for name, result in vectors.items()}
    failures |= {name: result.failure for name, result in entailments.items()}
    tables = [result.table for result in vectors.values()]
    truncated = frozenset[str]().union(*(table.truncated for table in tables))
    windowed = frozenset[str]().union(*(table.windowed for table in tables))
    failures = {name: reason for name, reason in failures.items() if reason}
    return BatchFeatures(vectors, entailments, failures, truncated, windowed, tuple(resources.embedders))


async def embed(name: str, embedder: Embedder, texts: Sequence[str]) -> TextVectors:
    """Embed texts in a thread; texts without a usable vector are listed with the reason."""
    unusable: frozenset[str] = frozenset()
    while True:
        remaining = [text for text in texts if text not in unusable]
        try:
            rows, *flags = await in_thread(encode, embedder, remaining)
            unit, usable = usable_unit_rows(name, remaining, rows)
        except EmbedderError as error:
            named = unusable_texts(error) - unusable
            if not named:
                return TextVectors(VectorTable(name), failure=str(error))
            unusable |= named
        else:
            index = {text: row for row, text in enumerate(compress(remaining, usable))}
            flagged = (frozenset(compress(remaining, flag)) for flag in flags)
            table = VectorTable(name, index, unit, *flagged)
            return TextVectors(table, unusable.union(compress(remaining, ~usable)))


async def entail(name: str, model: EntailmentModel, pairs: Iterable[Pair]) -> Entailments:
    """Classify each distinct pair with an entailment model, in a thread, the longest first.

    A hypothesis that is too long to read with a passage, or gets no probability, is listed with the reason.
    After any other failure no pair has a probability.
    """
    try:
        return await _entail(name, model, list(dict.fromkeys(pairs)))
    except EmbedderError as error:
        return Entailments(_join(name, []), failure=str(error))


async def _entail(name: str, model: EntailmentModel, pairs: Sequence[Pair]) -> Entailments:
    hypotheses = list(dict.fromkeys(hypothesis for _, hypothesis in pairs))
    if not hypotheses:
        return Entailments(_join(name, []))
    readable = await in_thread(model.readable, hypotheses)
    unusable = {
        hypothesis: f"one of its sentences is too long for {name} to read beside a passage"
        for hypothesis, fits in zip(hypotheses, readable, strict=True)
        if not fits
    }
    tables = []
    for call in _calls(pairs):
        tables.append(await _read(name, model, call, unusable))
        current_work().add(len(call))
    return Entailments(_join(name, tables), unusable)


def _calls(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Divide the pairs among calls of the model, the longest first."""
    call: list[Pair] = []
    characters = 0
    for pair in sorted(pairs, key=lambda pair: -len(pair[0]) - len(pair[1])):
        length = len(pair[0]) + len(pair[1])
        if call and (len(call) == MAX_PAIRS or characters + length > MAX_CHARACTERS):
            yield call
            call, characters = [], 0
        call.append(pair)
        characters += length
    if call:
        yield call


async def _read(
    name: str, model: EntailmentModel, pairs: Sequence[Pair], unusable: dict[str, str]
) -> EntailmentTable:
    """Classify the pairs of one call; adds the hypotheses without a probability to ``unusable``."""
    while True:
        remaining = [pair for pair in pairs if pair[1] not in unusable]
        if not remaining:
            return _join(name, [])
        try:
            return EntailmentTable.of(name, remaining, await in_thread(model.entail, remaining))
        except NonFiniteVectorError as error:
            named = set(error.texts) - unusable.keys()
            if not named & {hypothesis for _, hypothesis in remaining}:
                raise
            reason = f"{name} gave no usable probability for one of its sentences"
            unusable.update(dict.fromkeys(named, reason))


def _join(name: str, tables: Sequence[EntailmentTable]) -> EntailmentTable:
    pairs = [pair for table in tables for pair in table.index]
    columns = zip(*(table.scores for table in tables), strict=True) if tables else [[np.zeros(0)]] * 3
    return EntailmentTable.of(name, pairs, EntailmentScores(*(np.concatenate(column) for column in columns)))
