"""Decides which statements are supported by the passages that they cite, and which citations are right.

A set of passages supports a statement if one of them alone supports it, or if all together do. A citation is

* right: the passage alone supports the statement, or the cited passages support it only with this one;
* needless: the other cited passages support the statement, and this passage alone does not;
* wrong: the cited passages do not support the statement, and this passage alone does not either;
* invalid: the passage does not exist;
* unchecked: it cites no statement that passages could support.

A citation of several statements has the best verdict of all its statements, for each passage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.citations.citation_map import (
    CitationEvidence,
    CitationMap,
    CitationVerdict,
    CitedPassage,
    StatementEvidence,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.metrics.citations.cited_row import Citation, CitedRow, Statement, Target
    from sgi.metrics.citations.oracle import Oracle

_DIGITS = 4
_BEST_FIRST: tuple[CitationVerdict, ...] = ("right", "needless", "wrong", "unchecked", "invalid")
_WORST_FIRST: tuple[CitationVerdict, ...] = ("invalid", "wrong", "needless", "unchecked", "right")


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
