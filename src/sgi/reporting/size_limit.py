"""Shortens rows so that a report file stays small."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgi.metrics.citations.citation_map import CitationMap
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.formatting import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.reporting.views.row_view import SampleView, ScoreView

TEXT_BUDGET = 3_000_000
"""Maximum characters of texts, details and evidence in a file, over all rows shown in full."""

_MAX_LENGTHS = (100_000, 20_000, 5_000, 1_000, 200)
_ITEMS = 200
_MAX_DEPTH = 12


def fit_to_budget(samples: Sequence[SampleView], *, budget: int = TEXT_BUDGET) -> tuple[SampleView, ...]:
    """Cut the texts of rows so that all rows together fit in ``budget`` characters.

    All texts are cut to the same length, the largest possible one of a few. A cut text, or a list cut to 200
    parts, ends with a note. An evidence map keeps all parts: `evidence_view` limits how many are shown.
    """
    sizes = [[len(text) for text in _texts(sample)] for sample in samples]
    for length in _MAX_LENGTHS:
        if sum(min(size, length) for row in sizes for size in row) <= budget:
            break
    return tuple(_shorten_sample(sample, length) for sample in samples)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of a row."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for item in pair for text in _texts(item))
    elif isinstance(value, (list, tuple)):
        yield from (text for item in value for text in _texts(item))
    elif hasattr(value, "__dataclass_fields__"):
        yield from _texts(vars(value))


def _shorten_sample(sample: SampleView, length: int) -> SampleView:
    return replace(
        sample,
        question=shorten(sample.question, length),
        contexts=tuple(_few([shorten(text, length) for text in sample.contexts])),
        response=shorten(sample.response, length),
        reference=None if sample.reference is None else shorten(sample.reference, length),
        alternatives=tuple(_few([shorten(text, length) for text in sample.alternatives])),
        further=_shorten_value(dict(sample.further), length),
        metadata=_shorten_value(dict(sample.metadata), length),
        reason=shorten(sample.reason, length),
        scores={name: _shorten_score(score, length) for name, score in sample.scores.items()},
    )


def _shorten_score(score: ScoreView, length: int) -> ScoreView:
    return replace(
        score,
        reason=shorten(score.reason, length),
        details=_shorten_details(dict(score.details), length),
        evidence=_shorten_value(dict(score.evidence), length),
    )


def _shorten_details(details: dict[str, Any], length: int) -> Any:
    kind = next((kind for kind in (EvidenceMap, CitationMap) if kind.read(details) is not None), None)
    if kind is None:
        return _shorten_value(details, length)
    rest = kind.further(details)
    parts = {key: value for key, value in details.items() if key not in rest}
    return _shorten_value(parts, length, items=None) | _shorten_value(rest, length)


def _shorten_value(value: Any, length: int, depth: int = 0, items: int | None = _ITEMS) -> Any:
    if isinstance(value, str):
        return shorten(value, length)
    if depth == _MAX_DEPTH:
        return "…" if isinstance(value, (dict, list)) else value
    if isinstance(value, dict):
        return {
            shorten(str(key), length): _shorten_value(item, length, depth + 1, items)
            for key, item in value.items()
        }
    if isinstance(value, list):
        whole = [_shorten_value(item, length, depth + 1, items) for item in value]
        return whole if items is None else _few(whole)
    return value


def _few(items: Iterable[Any]) -> list[Any]:
    values = list(items)
    more = len(values) - _ITEMS
    return values if more <= 0 else [*values[:_ITEMS], f"… [{more:,} more items omitted]"]
