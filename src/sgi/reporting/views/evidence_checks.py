"""Checks of the facts and of the citations of a sentence: verdict, sign, and the reason in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.citations.citation_map import CitationEvidence, CitedPassage
    from sgi.metrics.grounding.evidence_map import FactEvidence

IN_NO_PASSAGE = "in no passage"
"""The reason given for an unsupported part of a sentence that no passage contradicts."""

CITATION_VERDICTS = {
    "right": ("✓", "the passage supports the statement, alone or because the other cited passages need it"),
    "needless": ("~", "the other cited passages support the statement without it"),
    "wrong": ("✗", "the passage does not support the statement"),
    "invalid": ("!", "the passage does not exist"),
    "unchecked": ("–", "the sentence states nothing that a passage could support"),
}
"""The sign and the meaning of each verdict on a citation; colour is never the only sign."""

_FACT_SIGNS = {"supported": "✓", "absent": "?", "contradicted": "✗"}
_QUOTE_CONTEXT = 60  # characters of a passage on each side of a quotation
_SPACES = re.compile(r"\s+")


class Quote(NamedTuple):
    """A quotation from a passage, with up to 60 characters before and after it."""

    before: str
    found: str
    after: str


class Check(NamedTuple):
    """The check of a fact against the passages, or of a citation against one passage.

    ``kind`` is ``number``, ``date``, ``name``, …; "" for a citation, whose ``text`` is its marker. ``quote``
    is the text of the passage that contradicts a fact, if there is text around it.
    """

    kind: str
    text: str
    verdict: str
    reason: str
    quote: Quote | None = None

    @property
    def sign(self) -> str:
        """The symbol of the verdict, such as a tick or a cross."""
        return _FACT_SIGNS[self.verdict] if self.kind else CITATION_VERDICTS[self.verdict][0]


def fact_check(check: FactEvidence, contexts: Sequence[str]) -> Check:
    """Return the check of a fact, with the text that contradicts it."""
    quote = _quote(check, contexts) if check.verdict == "contradicted" else None
    return Check(check.kind, check.fact, check.verdict, fact_reason(check), quote)


def fact_reason(check: FactEvidence) -> str:
    """Return what the passage or the question has in place of a fact, or why it is supported."""
    if check.verdict == "absent":
        return IN_NO_PASSAGE
    where = "the question" if check.passage is None else f"passage {check.passage + 1}"
    rule = f" ({check.how})" if check.how else ""
    if check.verdict == "contradicted" or check.found not in {"", check.fact}:
        return f"{where} has {check.found}{rule}"
    return f"{where} has it" if check.passage is None else f"{where}{rule}"


def _quote(check: FactEvidence, contexts: Sequence[str]) -> Quote | None:
    """Return the passage text that contradicts a fact, with the text around it; None if it is not there."""
    text = "" if check.passage is None else passage_text(contexts, check.passage)
    start, end = check.found_start, check.found_end
    if start is None or end is None or not 0 <= start < end or text[start:end] != check.found:
        return None
    before = _SPACES.sub(" ", text[max(0, start - _QUOTE_CONTEXT) : start])
    after = _SPACES.sub(" ", text[end : end + _QUOTE_CONTEXT])
    if start > _QUOTE_CONTEXT:
        before = f"…{before.partition(' ')[2]}"
    if end + _QUOTE_CONTEXT < len(text):
        after = f"{after.rpartition(' ')[0]}…"
    return Quote(before, check.found, after) if before or after else None


def citation_checks(citation: CitationEvidence) -> list[Check]:
    """Return a check for each passage that a citation names."""
    return [
        Check(
            "",
            citation.text or passage.target,
            passage.verdict,
            f"{passage.verdict}: {_citation_reason(passage)}",
        )
        for passage in citation.passages
    ]


def _citation_reason(passage: CitedPassage) -> str:
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


def passage_text(contexts: Sequence[str], place: int) -> str:
    """Return the text of a passage; "" if there is no such passage."""
    return contexts[place] if 0 <= place < len(contexts) else ""
