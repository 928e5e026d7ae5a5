"""A row with its statements, its citations, and normalised passages; and its value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sgi.kernel.metric import Scores
from sgi.metrics.grounding.analysis import ResponseText
from sgi.metrics.grounding.normalize_unicode import normalize_text
from sgi.metrics.grounding.prepared_row import NO_CLAIMS, PreparedRow
from sgi.text.citation_markers import unread_markers
from sgi.text.cited_text import split_cited_text
from sgi.text.kind_citations import PASSAGE_KINDS, kind_and_id, kinds_of
from sgi.text.linear_pattern import LinearPattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.sample_parts import Citation as ColumnEntry
    from sgi.text.cited_text import CitedText

BLANK = "the response is blank"
NO_PASSAGES = "there are no passages"
NO_CITATIONS = "the response cites nothing"
UNREAD = "the response cites nothing that can be read; a number after a year, as in 1889², can be an exponent"
NO_KINDS = (
    "the response cites kinds of passages, as in report:2, and no id of a passage has a kind (`context_ids`)"
)
NO_NUMBERS = (
    "the response cites numbers, and passages of several kinds are not numbered: name them in `citations`"
)


class Target(NamedTuple):
    """A passage that a citation names, and the index of this context; None if it does not exist."""

    name: str
    passage: int | None


class Citation(NamedTuple):
    """A citation, with the indices of the statements it belongs to; see `CitationEvidence`."""

    text: str
    start: int | None
    end: int | None
    statements: tuple[int, ...]
    targets: tuple[Target, ...]


class Statement(NamedTuple):
    """A statement with its analysis; ``cited`` are the indices of the contexts that it cites."""

    start: int
    end: int
    text: str
    analysis: ResponseText
    claims: bool
    cited: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CitedRow:
    """A row with its statements and citations.

    Citations are those of the column ``citations`` if one of them has a span or the response has no marker,
    otherwise the markers of the response.

    Attributes:
        pattern: the syntax of inline ids; "" for none.
        results: computed citation maps; metrics with the same settings share them.
    """

    sample: Sample
    pattern: str
    results: dict[Any, Any]

    @cached_property
    def text(self) -> CitedText:
        """The response, split into statements and markers."""
        pattern = LinearPattern(self.pattern) if self.pattern else None
        return split_cited_text(self.sample.response, pattern=pattern, ids=self._positions)

    @cached_property
    def row(self) -> PreparedRow:
        """The row without markers, with normalised texts."""
        return PreparedRow.of(self.sample.with_response(self.text.plain))

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The index of each passage by its id."""
        return {name: at for at, name in enumerate(self.sample.context_ids)}

    @cached_property
    def _kinds(self) -> frozenset[str]:
        """The kinds of the passages, by their ids."""
        return kinds_of(self.sample.context_ids)

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], int]:
        """The index of each passage by its kind and id."""
        pairs = [(kind_and_id(name), at) for at, name in enumerate(self.sample.context_ids)]
        return {pair: at for pair, at in reversed(pairs) if pair is not None}

    @cached_property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of the response, in order."""
        cited_by: dict[int, list[int]] = {}
        for number, statement in enumerate(self.text.statements):
            for marker in statement.markers:
                cited_by.setdefault(marker, []).append(number)
        markers = tuple(
            Citation(
                self.sample.response[marker.start : marker.end],
                marker.start,
                marker.end,
                tuple(cited_by.get(number, ())),
                tuple(map(self._target, marker.targets)),
            )
            for number, marker in enumerate(self.text.markers)
        )
        entries = self.sample.citations
        if entries and (not markers or any(entry.start is not None for entry in entries)):
            return tuple(self._from_column(entries))
        return markers

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Texts that can be markers or exponents and are read as neither; see `unread_markers`."""
        return () if self.sample.citations else tuple(unread_markers(self.sample.response))

    @property
    def unread_details(self) -> dict[str, list[str]]:
        """The details of a score about `unread`; empty if there is nothing."""
        return {"unread": [*self.unread]} if self.unread else {}

    @property
    def no_citations(self) -> str:
        """Why there are no citations; "" if there are some."""
        return "" if self.citations else UNREAD if self.unread else NO_CITATIONS

    def _from_column(self, entries: Sequence[ColumnEntry]) -> Iterator[Citation]:
        """Yield the entries of the column; without a span, they cite the statements that no span cites."""
        cited = [self._overlapped(entry) for entry in entries]
        with_span = {number for statements in cited for number in statements}
        others = tuple(number for number in range(len(self.text.statements)) if number not in with_span)
        for entry, statements in zip(entries, cited, strict=True):
            own = others if entry.start is None else statements
            yield Citation("", entry.start, entry.end, own, (self._target(entry.passage),))

    def _overlapped(self, entry: ColumnEntry) -> tuple[int, ...]:
        """Return the statements that the span of an entry overlaps."""
        if entry.start is None or entry.end is None:
            return ()
        return tuple(
            number
            for number, statement in enumerate(self.text.statements)
            if statement.start < entry.end and entry.start < statement.end
        )

    def _target(self, name: int | str) -> Target:
        number = self._positions.get(str(name))
        if number is None and isinstance(name, str):
            number = self._position_by_kind(name)
        elif number is None and len(self._kinds) > 1:
            number = self._by_kind.get(("source", str(name)))
        elif number is None and isinstance(name, int) and 1 <= name <= len(self.sample.contexts):
            number = name - 1
        return Target(str(name), number)

    def _position_by_kind(self, name: str) -> int | None:
        """Return the index of the passage ``KIND:ID``; if no id has a kind, a source is found by its id."""
        pair = kind_and_id(name)
        if pair is None:
            return None
        is_alone = pair[0] == "source" and not self._kinds
        return self._by_kind.get(pair, self._positions.get(pair[1]) if is_alone else None)

    @cached_property
    def unnamed(self) -> str:
        """Why it is unknown which passages the citations name; "" if it is known."""
        if not self.sample.contexts:
            return ""
        missing = [
            (each.text, target.name)
            for each in self.citations
            for target in each.targets
            if target.passage is None
        ]
        kinds = {pair[0] for _, name in missing if (pair := kind_and_id(name)) is not None}
        if not self._kinds and not kinds.isdisjoint(PASSAGE_KINDS):
            return NO_KINDS
        numbers = any(marker and name.isdecimal() for marker, name in missing)
        return NO_NUMBERS if len(self._kinds) > 1 and numbers else ""

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the response, with the passages that they cite."""
        cited: list[dict[int, None]] = [{} for _ in self.text.statements]
        for citation in self.citations:
            found = [target.passage for target in citation.targets if target.passage is not None]
            for number in citation.statements:
                cited[number] |= dict.fromkeys(found)
        statements = []
        for part, own in zip(self.text.statements, cited, strict=True):
            analysis = ResponseText.of(normalize_text(part.text).text, language=self.row.language.code)
            statements.append(
                Statement(part.start, part.end, part.text, analysis, analysis.claims_something, tuple(own))
            )
        return tuple(statements)

    def forget(self) -> None:
        """Drop the cached analysis of the passages; it needs much more memory than the passages."""
        for passage in self.row.passages:
            passage.text.results.clear()  # type: ignore[attr-defined]

    @property
    def reason(self) -> str:
        """Why there are no statements to check; "" if there are some."""
        if not self.sample.response.strip():
            return BLANK
        return "" if any(statement.claims for statement in self.statements) else NO_CLAIMS


def cited_rows(batch: Batch, pattern: str) -> tuple[CitedRow, ...]:
    """Prepare the rows of a batch."""
    return tuple(CitedRow(sample, pattern, {}) for sample in batch.samples)


@dataclass(frozen=True)
class RowValue:
    """The value of a row, or the reason why it is undefined, with details."""

    value: float | None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def scores_of(rows: Sequence[RowValue]) -> Scores:
    """Convert the values of all rows to scores."""
    reasons = dict.fromkeys(row.reason for row in rows if row.value is None)
    return Scores.of(
        np.array([np.nan if row.value is None else row.value for row in rows], dtype=np.float64),
        undefined={
            reason: np.array([row.value is None and row.reason == reason for row in rows], dtype=np.bool_)
            for reason in reasons
        },
        details=[row.details for row in rows],
    )
