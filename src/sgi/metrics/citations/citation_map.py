"""The citation map of a response: which statements their cited passages support, which citations are right.

A set of passages supports a statement if one of them alone supports it, or if all together do. A citation is

* right: the passage alone supports the statement, or the cited passages support it only with this one;
* needless: the other cited passages support the statement, and this passage alone does not;
* wrong: the cited passages do not support the statement, and this passage alone does not either;
* invalid: the passage does not exist;
* unchecked: it cites no statement that passages could support.

A citation of several statements has the best verdict of all its statements, for each passage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import BaseModel

from sgi.kernel.details import DetailsModel
from sgi.metrics.citations.cited_row import RowValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.metrics.citations.cited_row import Citation, CitedRow, Statement, Target
    from sgi.metrics.citations.oracle import Oracle

CitationVerdict = Literal["right", "wrong", "needless", "invalid", "unchecked"]
"""The verdict on a citation, or on a passage that it names."""

_DIGITS = 4
_BEST_FIRST: tuple[CitationVerdict, ...] = ("right", "needless", "wrong", "unchecked", "invalid")
_WORST_FIRST: tuple[CitationVerdict, ...] = ("invalid", "wrong", "needless", "unchecked", "right")


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


class CitationMap(DetailsModel, frozen=True):
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
    return next(filter(None, map(CitationMap.read, details)), None)


class _Checked(NamedTuple):
    """A statement with the verdict on each context that it cites."""

    score: float | None
    verdicts: Mapping[int, CitationVerdict]
    alone: Mapping[int, float]
    supported: bool | None


def citation_map(row: CitedRow, oracle: Oracle, threshold: float) -> CitationMap:
    """Check every statement of a row with its citations."""
    checked = [_check(statement, oracle, threshold) for statement in row.statements]
    statements = [
        StatementEvidence(
            text=statement.text,
            start=statement.start,
            end=statement.end,
            claims=statement.claims,
            cited=statement.cited,
            supported=result.supported,
            score=None if result.score is None else round(result.score, _DIGITS),
        )
        for statement, result in zip(row.statements, checked, strict=True)
    ]
    citations = [_citation(citation, checked) for citation in row.citations]
    return CitationMap(
        statements=tuple(statements), citations=tuple(citations), threshold=threshold, unread=row.unread
    )


def _check(statement: Statement, oracle: Oracle, threshold: float) -> _Checked:
    if not statement.claims:
        return _Checked(None, {}, {}, supported=None)
    cited = statement.cited
    if not cited:
        return _Checked(None, {}, {}, supported=False)
    alone = {context: oracle.score(statement, (context,)) for context in cited}
    best = max(alone.values())
    if best >= threshold:
        verdicts: dict[int, CitationVerdict] = {
            context: "right" if score >= threshold else "needless" for context, score in alone.items()
        }
        return _Checked(best, verdicts, alone, supported=True)
    together = oracle.score(statement, cited) if len(cited) > 1 else best
    if together < threshold:
        return _Checked(max(best, together), dict.fromkeys(cited, "wrong"), alone, supported=False)
    verdicts = {}
    for context in cited:
        rest = tuple(other for other in cited if other != context)
        needed = len(rest) == 1 or oracle.score(statement, rest) < threshold
        verdicts[context] = "right" if needed else "needless"
    return _Checked(together, verdicts, alone, supported=True)


def _citation(citation: Citation, checked: Sequence[_Checked]) -> CitationEvidence:
    passages = tuple(
        _passage(target, [checked[at] for at in citation.statements]) for target in citation.targets
    )
    verdicts = {passage.verdict for passage in passages}
    return CitationEvidence(
        text=citation.text,
        start=citation.start,
        end=citation.end,
        statements=citation.statements,
        verdict=next(verdict for verdict in _WORST_FIRST if verdict in verdicts),
        passages=passages,
    )


def _passage(target: Target, checked: Sequence[_Checked]) -> CitedPassage:
    place = target.passage
    if place is None:
        return CitedPassage(target=target.name, passage=None, verdict="invalid")
    verdicts = {result.verdicts[place] for result in checked if place in result.verdicts}
    scores = [result.alone[place] for result in checked if place in result.alone]
    return CitedPassage(
        target=target.name,
        passage=place,
        verdict=next((verdict for verdict in _BEST_FIRST if verdict in verdicts), "unchecked"),
        score=round(max(scores), _DIGITS) if scores else None,
    )


def recall_value(found: CitationMap) -> RowValue:
    """Return the share of the counted statements that are supported."""
    supported = [part.supported for part in found.statements if part.claims]
    return RowValue(supported.count(True) / len(supported), details=found.model_dump(mode="json"))


def precision_value(found: CitationMap) -> RowValue:
    """Return the share of the counted citations that are right."""
    verdicts = [part.verdict for citation in found.citations for part in citation.passages]
    counted = [verdict for verdict in verdicts if verdict != "unchecked"]
    if not counted:
        return RowValue(None, "no statement that could be supported has a citation")
    return RowValue(counted.count("right") / len(counted), details=found.model_dump(mode="json"))
