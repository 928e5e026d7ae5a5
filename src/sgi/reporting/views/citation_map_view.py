"""View of a citation map: which statements their citations support, and which citations are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.metrics.citations.citation_map import CitationMap, CitationVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.metrics.citations.citation_map import CitationEvidence, CitedPassage, StatementEvidence

MAX_STATEMENTS = 100
"""At most this many statements of a map are shown."""
MAX_UNREAD = 10

SIGNS: dict[CitationVerdict, str] = {
    "right": "✓",
    "needless": "~",
    "wrong": "✗",
    "invalid": "!",
    "unchecked": "–",
}
"""The sign of each verdict on a citation; colour is never the only sign."""

MEANINGS: dict[CitationVerdict, str] = {
    "right": "the passage supports the statement, alone or because the other cited passages need it",
    "needless": "the other cited passages support the statement without it",
    "wrong": "the passage does not support the statement",
    "invalid": "the passage does not exist",
    "unchecked": "the sentence states nothing that a passage could support",
}


class CitationNote(NamedTuple):
    """The verdict on one cited passage: its sign, the marker, and a reason with the score."""

    verdict: CitationVerdict
    sign: str
    marker: str
    reason: str


@dataclass(frozen=True)
class CitedStatementView:
    """A statement, counted from 1, and its citations; ``result`` says whether they support it."""

    number: int
    text: str
    result: str
    is_supported: bool | None
    notes: tuple[CitationNote, ...]


class LegendEntry(NamedTuple):
    """A verdict with its sign and meaning."""

    verdict: CitationVerdict
    sign: str
    meaning: str


@dataclass(frozen=True)
class CitationMapView:
    """A citation map: a summary, the statements with their citations, and the verdicts that occur."""

    verdict: str
    statements: tuple[CitedStatementView, ...]
    more_statements: int
    legend: tuple[LegendEntry, ...]


class MarkerMark(NamedTuple):
    """A marker in the response: its span, its text, its verdict, and a reason."""

    start: int
    end: int
    text: str
    verdict: CitationVerdict
    reason: str


def citation_map_view(details: Mapping[str, Any]) -> CitationMapView | None:
    """Read the citation map from the details of a score; return None if they have none."""
    found = CitationMap.read(details)
    if found is None:
        return None
    notes: dict[int, list[CitationNote]] = {}
    for citation in found.citations:
        for number in citation.statements:
            notes.setdefault(number, []).extend(_notes(citation))
    shown = found.statements[:MAX_STATEMENTS]
    return CitationMapView(
        verdict=_verdict(found),
        statements=tuple(
            _statement(number, statement, notes.get(number, ())) for number, statement in enumerate(shown)
        ),
        more_statements=len(found.statements) - len(shown),
        legend=legend(passage.verdict for citation in found.citations for passage in citation.passages),
    )


def legend(verdicts: Iterable[str]) -> tuple[LegendEntry, ...]:
    """Return the entries of the verdicts that occur, in a fixed order."""
    occurring = set(verdicts)
    return tuple(
        LegendEntry(verdict, sign, MEANINGS[verdict])
        for verdict, sign in SIGNS.items()
        if verdict in occurring
    )


def marker_marks(found: CitationMap | None) -> tuple[MarkerMark, ...]:
    """Return the markers of a response with their verdicts."""
    if found is None:
        return ()
    return tuple(
        MarkerMark(
            citation.start,
            citation.end,
            citation.text,
            citation.verdict,
            "; ".join(note.reason for note in _notes(citation)),
        )
        for citation in found.citations
        if citation.text and citation.start is not None and citation.end is not None
    )


def first_citation_maps(details: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the scores whose citation map no earlier score has.

    Recall and precision with the same settings have the same map.
    """
    maps: dict[CitationMap, str] = {}
    for name, body in details.items():
        found = CitationMap.read(body)
        if found is not None:
            maps.setdefault(found, name)
    return [*maps.values()]


def other_citation_details(name: str, details: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the details of a score without its citation map, and the score that shows an equal map.

    Args:
        name: the name of the score.
        details: the details of all scores of the row, by name.
    """
    own = CitationMap.read(details[name])
    rest = {key: value for key, value in details[name].items() if key not in CitationMap.model_fields}
    shown = next(other for other, body in details.items() if CitationMap.read(body) == own)
    return rest if shown == name else {"citations": f"shown with {shown}", **rest}


def _verdict(found: CitationMap) -> str:
    counted = [statement.supported for statement in found.statements if statement.supported is not None]
    verdicts = [
        passage.verdict
        for citation in found.citations
        for passage in citation.passages
        if passage.verdict != "unchecked"
    ]
    statements = _share(counted.count(True), len(counted), "statement", "supported by the passages cited")
    right = _share(verdicts.count("right"), len(verdicts), "citation", "right")
    citations = right if verdicts else "No citation was checked."
    return " ".join([statements, citations, *([_unread(found.unread)] if found.unread else [])])


def _unread(texts: Sequence[str]) -> str:
    what = "1 marker was" if len(texts) == 1 else f"{len(texts):,} markers were"
    more = "" if len(texts) <= MAX_UNREAD else ", …"
    listed = f"{', '.join(texts[:MAX_UNREAD])}{more}"
    return f"{what} not read, because numbers after years can be exponents: {listed}."


def _share(count: int, total: int, noun: str, state: str) -> str:
    plural = "" if total == 1 else "s"
    return f"{count:,} of {total:,} {noun}{plural} {'is' if 1 in {count, total} else 'are'} {state}."


def _statement(
    number: int, statement: StatementEvidence, notes: Sequence[CitationNote]
) -> CitedStatementView:
    if statement.supported is None:
        result = "states nothing"
    elif statement.supported:
        result = "supported"
    else:
        result = "not supported" if notes else "not cited"
    return CitedStatementView(number + 1, statement.text, result, statement.supported, tuple(notes))


def _notes(citation: CitationEvidence) -> list[CitationNote]:
    return [
        CitationNote(
            passage.verdict,
            SIGNS[passage.verdict],
            citation.text or passage.target,
            f"{passage.verdict}: {_reason(passage)}",
        )
        for passage in citation.passages
    ]


def _reason(passage: CitedPassage) -> str:
    if passage.passage is None:
        return f"passage {passage.target} does not exist"
    name = f"passage {passage.passage + 1}"
    score = "" if passage.score is None else f", score {passage.score:.2f}"
    match passage.verdict:
        case "right":
            return f"{name} supports the statement{score}"
        case "needless":
            return f"the other cited passages support the statement without {name}{score}"
        case "wrong":
            return f"{name} does not support the statement{score}"
        case _:
            return f"{name}; the sentence states nothing that a passage could support"
