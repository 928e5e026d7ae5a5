"""Details of one row: passages with their values, and the details of each score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.kernel.sample import Sample
from sgi.metrics.citations.citation_map import citation_map_in, first_citation_map
from sgi.reporting.main_metric import importance
from sgi.reporting.table import Table
from sgi.reporting.views.citation_map_view import (
    citation_map_view,
    first_citation_maps,
    marker_marks,
    other_citation_details,
)
from sgi.reporting.views.evidence_map_view import evidence_map_view, other_details
from sgi.text.conversation import with_earlier_passages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.reporting.views.citation_map_view import CitationMapView
    from sgi.reporting.views.evidence_map_view import EvidenceMapView, SentenceView
    from sgi.reporting.views.row_view import SampleView, ScoreView

_YES_NO = {"verdict", "supported", "relevant", "attributed"}
"""Keys of details whose values 0 and 1 mean no and yes."""


@dataclass(frozen=True)
class PassageValue:
    """Value of a metric for one passage; ``counts`` is True if the score of the row is this value."""

    metric: str
    value: float | None
    counts: bool


@dataclass(frozen=True)
class Passage:
    """A passage of a row, with one value per metric that scores passages."""

    text: str
    values: tuple[PassageValue, ...]


def passages(sample: SampleView) -> tuple[Passage, ...]:
    """Return the passages of a row, with the values of the metrics that score passages."""
    scores = {name: score for name, score in sample.scores.items() if _values_passages(sample, score)}
    return tuple(
        Passage(text, tuple(_passage_value(name, score, at) for name, score in scores.items()))
        for at, text in enumerate(sample.contexts)
    )


def _values_passages(sample: SampleView, score: ScoreView) -> bool:
    values = score.details.get("passages")
    return (
        isinstance(values, list)
        and len(values) == len(sample.contexts) > 0
        and all(value is None or isinstance(value, (int, float)) for value in values)
        and support(sample, score) is None  # its passages are indices, not values
        and "score" not in score.details  # calibrated: the values belong to the inner metric
    )


def _passage_value(name: str, score: ScoreView, at: int) -> PassageValue:
    return PassageValue(name, score.details["passages"][at], score.details.get("passage") == at)


def by_importance(scores: Mapping[str, ScoreView]) -> list[tuple[str, ScoreView]]:
    """Return the scores of a row, the most important metric first."""
    return sorted(scores.items(), key=lambda pair: importance(pair[0]))


class ResponsePart(NamedTuple):
    """A part of a response: a sentence of its evidence map, or text between sentences (None)."""

    text: str
    sentence: SentenceView | None


def response_parts(sample: SampleView) -> list[ResponsePart]:
    """Return the response as text and sentences of the first evidence map of the row.

    Text that no sentence of the map covers stays text, so the parts together are the response.
    """
    maps = (support(sample, score) for score in sample.scores.values())
    evidence = next((one for one in maps if one is not None), None)
    parts, rest = [], sample.response
    for sentence in () if evidence is None else evidence.sentences:
        start = rest.find(sentence.text)
        if start >= 0 and sentence.text:
            parts += [ResponsePart(rest[:start], None), ResponsePart(sentence.text, sentence)]
            rest = rest[start + len(sentence.text) :]
    return [part for part in (*parts, ResponsePart(rest, None)) if part.text]


def support(sample: SampleView, score: ScoreView) -> EvidenceMapView | None:
    """Return the evidence map of a score; None if it has none."""
    markers = marker_marks(first_citation_map(other.details for other in sample.scores.values()))
    return evidence_map_view(score.details, _passages_with_earlier(sample), markers)


def _passages_with_earlier(sample: SampleView) -> tuple[str, ...]:
    """Return the passages of a row and of earlier messages, in the order of ``grounding(history=true)``."""
    turns = sample.further.get("turns")
    if not turns:
        return sample.contexts
    texts = {"question": sample.question, "contexts": sample.contexts, "response": sample.response}
    return with_earlier_passages(Sample(id=sample.id, turns=turns, **texts)).contexts


def cited(sample: SampleView, name: str) -> CitationMapView | None:
    """Return the citation map of a score; None if it has none, or if an earlier score has the same map."""
    if name not in first_citation_maps(_details(sample)):
        return None
    return citation_map_view(sample.scores[name].details)


def _details(sample: SampleView) -> dict[str, Mapping[str, Any]]:
    return {name: score.details for name, score in sample.scores.items()}


def remarks(sample: SampleView, score: ScoreView) -> dict[str, Any]:
    """Return the details of a score, except what the passages or the evidence map show."""
    if support(sample, score) is not None:
        return other_details(score.details)
    if citation_map_in(score.details) is not None:
        name = next(name for name, other in sample.scores.items() if other is score)
        return other_citation_details(name, _details(sample))
    hidden = {"passages", "passage"} if _values_passages(sample, score) else set()
    return {key: value for key, value in score.details.items() if key not in hidden}


def as_tree(value: Any) -> Any:
    """Convert a JSON value for display: a list of flat mappings becomes a `Table`, a scalar becomes text.

    >>> as_tree([{"text": "It rained.", "sgi": 1.5}]).rows
    (('It rained.', '1.5000'),)
    """
    if isinstance(value, dict):
        return {str(key): as_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return _table(value) if is_table(value) else [as_tree(item) for item in value]
    return scalar_text(value)


def is_table(values: Sequence[Any]) -> bool:
    """Return whether a JSON list holds flat mappings only."""
    return bool(values) and all(
        isinstance(value, dict)
        and value
        and not any(isinstance(item, (dict, list)) for item in value.values())
        for value in values
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = tuple(dict.fromkeys(key for row in rows for key in row))
    cells = [_column(key, rows) for key in columns]
    names = tuple(map(str, columns))
    return Table(names, zip(*cells, strict=True), title="Parts", left=names)


def _column(key: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    values = [row.get(key) for row in rows]
    if is_yes_no(key, rows):
        values = [None if value is None else bool(value) for value in values]
    return list(map(scalar_text, values))


def is_yes_no(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether all values of a key are booleans, or 1 and 0 for a key that is a yes-no question.

    >>> is_yes_no("verdict", [{"verdict": 1}, {}]), is_yes_no("verdict", [{"verdict": 1}, {"verdict": 0.5}])
    (True, False)
    """
    values = [row[key] for row in rows if row.get(key) is not None]
    flags = all(isinstance(value, bool) for value in values)
    return bool(values) and (flags or (key in _YES_NO and all(value in {0, 1} for value in values)))


def scalar_text(value: Any) -> str:
    """Return a JSON scalar as text."""
    match value:
        case str():
            return value
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4f}"
        case _:
            return str(value)
