"""The citation map of a response: its statements, and the verdict on each of its citations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CitationVerdict = Literal["right", "wrong", "needless", "invalid", "unchecked"]
"""The verdict on a citation: see `sgi.metrics.citations.citation_verdicts`."""


class CitedPassage(BaseModel, frozen=True, extra="forbid"):
    """A passage that a citation names.

    Attributes:
        target: the position (from 1) or the id that the citation names.
        passage: index of the context, from 0; None if it does not exist.
        verdict: the verdict on this part of the citation.
        score: how well the passage alone supports the statement; None if it was not computed.
    """

    target: str
    passage: int | None
    verdict: CitationVerdict
    score: float | None = None


class CitationEvidence(BaseModel, frozen=True, extra="forbid"):
    """A citation: a marker in the response, or an entry of the column ``citations``.

    Attributes:
        text: the marker; "" for an entry of the column.
        start: start of the marker or of the cited span in the response, in characters; None without a span.
        end: end of this span.
        statements: indices of the statements that it cites.
        verdict: the worst verdict of its passages.
        passages: the passages that it names.
    """

    text: str
    start: int | None
    end: int | None
    statements: tuple[int, ...]
    verdict: CitationVerdict
    passages: tuple[CitedPassage, ...]


class StatementEvidence(BaseModel, frozen=True, extra="forbid"):
    """A statement of the response.

    Attributes:
        text: the statement without its markers.
        start: start in the response, in characters.
        end: end in the response.
        claims: whether it states something that passages could support; other statements are not counted.
        cited: indices of the existing contexts that it cites.
        supported: whether these passages together support it; None if it is not counted.
        score: the score of that decision; None if it is not counted or cites no existing passage.
    """

    text: str
    start: int
    end: int
    claims: bool
    cited: tuple[int, ...]
    supported: bool | None
    score: float | None


class CitationMap(BaseModel, frozen=True, extra="forbid"):
    """Statements and citations of a response, with their verdicts.

    Attributes:
        statements: the statements, in order.
        citations: the citations, in order.
        threshold: the smallest score with which passages support a statement.
        unread: superscripts after years, which can be citations or exponents and do not count.
    """

    statements: tuple[StatementEvidence, ...]
    citations: tuple[CitationEvidence, ...]
    threshold: float
    unread: tuple[str, ...] = ()


def first_citation_map(details: Iterable[Mapping[str, object]]) -> CitationMap | None:
    """Return the first citation map in the details of the scores of a row, or None."""
    return next(filter(None, map(citation_map_in, details)), None)


def citation_map_in(details: Mapping[str, object]) -> CitationMap | None:
    """Return the citation map from the details of a score, or None if the details hold none."""
    fields = CitationMap.model_fields
    if not details.keys() >= {name for name, field in fields.items() if field.is_required()}:
        return None
    try:
        return CitationMap.model_validate({name: details[name] for name in fields if name in details})
    except ValidationError:
        return None
