"""Evidence map as Markdown: the unsupported parts, with reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.reporting.formatting import beginning
from sgi.reporting.markdown import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.reporting.views.evidence_map_view import EvidenceMapView, FactView, SentenceView, Stretch

_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def evidence_map_markdown(view: EvidenceMapView, *, longest: int) -> Iterator[str]:
    """Yield list items: sentences that are not supported or have an unsupported **part**, and why."""
    yield f"  - {view.verdict}"
    if view.left_out:
        yield f"  - {view.left_out}"
    for sentence in view.sentences:
        if sentence.is_unsupported or sentence.is_partly_supported or sentence.is_marked:
            score = (
                "" if sentence.score is None else f" ({sentence.verdict}, support score {sentence.score:.2f})"
            )
            yield f"  - sentence {sentence.number}{score}: {_mark(sentence, longest)}"
            yield from (f"    - {_fact(fact)}" for fact in sentence.facts if fact.verdict != "supported")
            if sentence.more_facts:
                yield f"    - and {sentence.more_facts:,} more facts"
            if sentence.reasons:
                yield f"    - why: {'; '.join(sentence.reasons)}"
    if view.legend:
        yield f"  - citations: {'; '.join(f'{entry.sign} {entry.verdict}' for entry in view.legend)}"
    for passage in view.unused:
        yield f"  - passage {passage.number} supports no sentence: {escape(beginning(passage.text, longest))}"
    if view.more_unused:
        yield f"  - {view.more_unused:,} more passages support no sentence"


def _mark(sentence: SentenceView, longest: int) -> str:
    """Return the sentence with its unsupported parts in bold, or its start if it is long."""
    shown, left = "", longest
    for part in sentence.stretches:
        shown += _stretch(part._replace(text=part.text[:left]))
        left -= len(part.text)
        if left < 0:
            return f"{shown.strip()} …"
    return shown.strip()


def _stretch(part: Stretch) -> str:
    """Put a part in bold; spaces at its edges stay outside the asterisks, as Markdown requires."""
    if not part.verdict or not part.text.strip():
        return escape(part.text) + part.sign
    edges = _EDGES.fullmatch(part.text)
    before, words, after = ("", part.text, "") if edges is None else edges.groups()
    return f"{escape(before)}**{escape(words)}**{escape(after)}"


def _fact(fact: FactView) -> str:
    check = f"{fact.kind} {escape(fact.text)}: {escape(fact.reason)}"
    if fact.quote is None or not (fact.quote.before or fact.quote.after):
        return check
    around = escape(fact.quote.before), escape(fact.quote.found), escape(fact.quote.after)
    return f"{check}: “{around[0]}**{around[1]}**{around[2]}”"
