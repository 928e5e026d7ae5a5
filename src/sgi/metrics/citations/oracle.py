"""Decide whether passages support a statement: with the grounding detector, or with an entailment model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from sgi.metrics.grounding.analysis import ResponseAnalysis
from sgi.metrics.grounding.grounding_model import grounding_model, sigmoid
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.metrics.grounding.signals import signals_of, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.vectors import EntailmentTable
    from sgi.metrics.citations.cited_row import CitedRow, Statement

GROUNDING_THRESHOLD = 0.3
"""Smallest support score with which passages support a statement; see docs/internals/results/citations.md."""

ENTAILMENT_THRESHOLD = 0.5
"""Smallest probability of entailment with which passages support a statement."""

Pair = tuple[str, str]


class Oracle(Protocol):
    """Scores how well passages support a statement."""

    def score(self, statement: Statement, contexts: Sequence[int], /) -> float:
        """Return the score, from 0 to 1, of these contexts together; blank contexts support nothing."""


@dataclass(frozen=True, eq=False)
class GroundingOracle:
    """The support score of a statement as a response to the question, with the cited passages alone."""

    row: CitedRow
    indices: dict[tuple[int, ...], PassageIndex] = field(default_factory=dict)

    @cached_property
    def _places(self) -> dict[int, int]:
        """The index among the passages that are not blank, by the index of the context."""
        return {context: place for place, context in enumerate(self.row.row.positions)}

    def _index(self, places: tuple[int, ...]) -> PassageIndex:
        """Return the index of these passages; statements share the index of a single passage."""
        if places not in self.indices:
            index = PassageIndex.of([self.row.row.passages[place].text for place in places])
            if len(places) > 1:
                return index
            self.indices[places] = index
        return self.indices[places]

    def score(self, statement: Statement, contexts: Sequence[int], /) -> float:
        """Return the support score of these contexts together."""
        prepared = self.row.row
        places = [self._places[context] for context in contexts if context in self._places]
        if not places:
            return 0.0
        analysis = ResponseAnalysis.of(statement.analysis, self._index(tuple(places)), prepared.question)
        return float(sigmoid(grounding_model().logistic.log_odds(table([signals_of(analysis)])))[0])


@dataclass(frozen=True, eq=False)
class EntailmentOracle:
    """The probability that the passages, joined by line breaks, entail a statement (Gao et al., 2023)."""

    row: CitedRow
    entailments: EntailmentTable

    def score(self, statement: Statement, contexts: Sequence[int], /) -> float:
        """Return the probability of entailment by these contexts together."""
        pair = _pair(self.row, statement, contexts)
        return 0.0 if not pair[0] else float(self.entailments.pairs([pair]).entailment[0])


def entailment_pairs(row: CitedRow) -> Iterator[Pair]:
    """List the (passages, statement) pairs that may be used: each passage, all passages, all but one."""
    for statement in row.statements:
        if statement.claims and statement.cited:
            cited = statement.cited
            rests = [[other for other in cited if other != one] for one in cited] if len(cited) > 1 else []
            pairs = (_pair(row, statement, part) for part in chain(([one] for one in cited), [cited], rests))
            yield from (pair for pair in pairs if pair[0])


def _pair(row: CitedRow, statement: Statement, contexts: Sequence[int]) -> Pair:
    texts = [row.sample.contexts[context] for context in contexts]
    return "\n".join(text for text in texts if text.strip()), statement.text
