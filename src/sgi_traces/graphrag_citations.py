"""Separate an answer of GraphRAG or a similar tool from its citations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.text.cited_text import split_cited_text
from sgi.text.kind_citations import kind_and_id
from sgi.text.tokenizers import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.text.cited_text import CitedText


def split_citations(
    response: str, ids: Sequence[str], files: Mapping[str, Sequence[str]]
) -> tuple[str, list[dict[str, Any]]] | None:
    """Return the response without its markers and its list of references, and the citations.

    Metrics that compare words then treat methods with and without citations alike. A citation has the passage
    and the span of the statement in the new text; a marker cites the statement that `split_cited_text` says.

    Args:
        response: the answer.
        ids: the ids of the passages, ``KIND:ID``.
        files: the passages of each number that LightRAG cites: the number of a file, not of a passage.

    Returns:
        None if there is nothing to separate, or if a marker names no kind, no file, or no statement.

    >>> split_citations("It is old [Data: Reports (2)]. It is red.", ["report:2"], {})
    ('It is old. It is red.', [{'passage': 'report:2', 'start': 0, 'end': 10}])
    """
    cited = split_cited_text(response, ids=ids)
    if not cited.markers or not cited.statements:
        return None
    attributed = {number for statement in cited.statements for number in statement.markers}
    end = cited.statements[-1].end
    if any(n not in attributed and marker.start < end for n, marker in enumerate(cited.markers)):
        return None
    citations = [*_citations(cited, files)]
    is_known = all("passage" in citation for citation in citations)
    return (cited.plain.strip(), citations) if citations and is_known else None


def _citations(cited: CitedText, files: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Yield the citations; one without a passage if its target is unknown."""
    blank = len(cited.plain) - len(cited.plain.lstrip())
    for (start, end), statement in zip(sentence_spans(cited.plain), cited.statements, strict=True):
        span = {"start": start - blank, "end": end - blank}
        for target in (str(name) for marker in statement.markers for name in cited.markers[marker].targets):
            if kind_and_id(target):
                yield {"passage": target, **span}
            else:
                yield from ({"passage": name, **span} for name in files.get(target, ()))
                yield from () if target in files else (span,)
