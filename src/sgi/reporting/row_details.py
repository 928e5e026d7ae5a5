"""Details of one row: passages with their values, and the details of each score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.kernel.sample import Sample
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.formatting import importance
from sgi.reporting.table import Table
from sgi.reporting.views.evidence_view import score_maps
from sgi.text.conversation import with_earlier_passages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.reporting.views.evidence_view import ScoreMap, SentenceView
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
        and EvidenceMap.read(score.details) is None  # its passages are indices, not values
        and "score" not in score.details  # calibrated: the values belong to the inner metric
    )


def _passage_value(name: str, score: ScoreView, at: int) -> PassageValue:
    return PassageValue(name, score.details["passages"][at], score.details.get("passage") == at)


def by_importance(scores: Mapping[str, ScoreView]) -> list[tuple[str, ScoreView]]:
    """Return the scores of a row, the most important metric first."""
    return sorted(scores.items(), key=lambda pair: importance(pair[0]))


class ResponsePart(NamedTuple):
    """A part of a response: a sentence with its evidence, or a text between sentences (evidence None)."""

    text: str
    sentence: SentenceView | None


def response_parts(response: str, maps: Iterable[ScoreMap]) -> list[ResponsePart]:
    """Return the response as text and sentences of the first evidence map of the row.

    Text that no sentence of the map covers stays text, so the parts together are the response.
    """
    views = (one.view for one in maps if one.view is not None)
    evidence = next((view for view in views if not view.is_of_citations), None)
    parts, rest = [], response
    for sentence in () if evidence is None else evidence.sentences:
        start = rest.find(sentence.text)
        if start >= 0 and sentence.text:
            parts += [ResponsePart(rest[:start], None), ResponsePart(sentence.text, sentence)]
            rest = rest[start + len(sentence.text) :]
    return [part for part in (*parts, ResponsePart(rest, None)) if part.text]


def row_maps(sample: SampleView) -> dict[str, ScoreMap]:
    """Return the maps of each score of a row, and its other details without the values of passages."""
    contexts: Sequence[str] = sample.contexts
    if turns := sample.further.get("turns"):
        texts = {"question": sample.question, "contexts": contexts, "response": sample.response}
        contexts = with_earlier_passages(Sample(id=sample.id, turns=turns, **texts)).contexts
    maps = score_maps({name: score.details for name, score in sample.scores.items()}, contexts)
    for name, score in sample.scores.items():
        if _values_passages(sample, score):
            for key in ("passages", "passage"):
                maps[name].further.pop(key, None)
    return maps


def as_tree(value: Any) -> Any:
    """Convert a JSON value for display: a list of flat mappings becomes a `Table`, a scalar becomes text.

    Rows have their ``index`` or their number; columns with "yes" and "no" come first.

    >>> as_tree([{"text": "It rained.", "verdict": 1}]).rows
    (('1', 'yes', 'It rained.'),)
    """
    if isinstance(value, dict):
        return {str(key): as_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return _table(value) if _is_table(value) else [as_tree(item) for item in value]
    return _scalar_text(value)


def _is_table(values: Sequence[Any]) -> bool:
    """Return whether a JSON list holds flat mappings only."""
    return bool(values) and all(
        isinstance(value, dict)
        and value
        and not any(isinstance(item, (dict, list)) for item in value.values())
        for value in values
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "index"]
    yes_no = {key for key in keys if _is_yes_no(key, rows)}
    keys.sort(key=lambda key: key not in yes_no)
    cells = (
        (
            str(row.get("index", number)),
            *(
                _scalar_text(bool(row[key]) if key in yes_no and row.get(key) is not None else row.get(key))
                for key in keys
            ),
        )
        for number, row in enumerate(rows, 1)
    )
    names = ("#", *map(str, keys))
    return Table(names, cells, title="Parts", left=names)


def _is_yes_no(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether all values of a key are booleans, or 1 and 0 for a key that is a yes-no question."""
    values = [row[key] for row in rows if row.get(key) is not None]
    flags = all(isinstance(value, bool) for value in values)
    return bool(values) and (flags or (key in _YES_NO and all(value in {0, 1} for value in values)))


def _scalar_text(value: Any) -> str:
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
