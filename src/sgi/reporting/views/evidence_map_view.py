"""View of an evidence map: which sentences are not fully supported, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.views.citation_map_view import SIGNS, legend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.metrics.citations.citation_map import CitationVerdict
    from sgi.metrics.grounding.evidence_map import FactEvidence, SentenceEvidence
    from sgi.reporting.views.citation_map_view import LegendEntry, MarkerMark

IN_NO_PASSAGE = "in no passage"
"""The reason given for an unsupported part of a sentence that no passage contradicts."""

MAX_SENTENCES = 100
"""At most this many sentences of a map are shown."""

MOST_PASSAGES = 40
"""At most this many passages are listed as unused."""

MAX_FACTS = 40
"""At most this many facts of a sentence are shown; those that fail come first."""

_FEW_TOGETHER = "few of its words occur together in a passage"
SIGNAL_MEANINGS = {
    "known": _FEW_TOGETHER,
    "known_narrow": _FEW_TOGETHER,
    "known_wide": _FEW_TOGETHER,
    "paired": "its words are next to other words than in the passages",
    "copied": "it copies no long run of words",
    "numbers": "one of its numbers or dates is not in a passage",
    "names": "one of its names is not in a passage",
    "contradicted": "a passage contradicts it",
    "absent": "a fact of it is in no passage",
}
"""What it means that a signal (a feature of the score) lowers the score of a sentence."""

_REASONS = 2
_NAMED = 10  # maximum of low sentences in the verdict
LOW_SCORE = 0.5
"""Support scores of answers below this are shown in red."""
_VERDICTS = {
    "contradicted": "contradicted",
    "unsupported": "unsupported",
    "partly": "partly supported",
    "supported": "supported",
}
"""The verdicts on sentences, worst first, and the words for them."""
_LEAST = 0.005  # log odds; smaller values are shown as 0.00
_QUOTE_CONTEXT = 60  # characters of a passage on each side of a quotation
_SPACES = re.compile(r"\s+")
_AROUND = " \t\n\r\u00a0\u202f,;:"  # not marked at the ends of a part


class Stretch(NamedTuple):
    """A part of a sentence; ``verdict`` and ``reason`` are empty if it is supported and not a marker.

    ``citation`` is the verdict on a citation marker.
    """

    text: str
    verdict: Literal["", "absent", "contradicted"]
    reason: str
    citation: CitationVerdict | Literal[""] = ""

    @property
    def sign(self) -> str:
        """The sign of the verdict on a citation marker; "" for other parts."""
        return SIGNS[self.citation] if self.citation else ""


class Quote(NamedTuple):
    """A quotation from a passage (counted from 1), with up to 60 characters before and after it."""

    passage: int
    before: str
    found: str
    after: str


@dataclass(frozen=True)
class FactView:
    """A number, date or name of a sentence, with the passage text that contradicts it, if any."""

    kind: str
    text: str
    verdict: str
    reason: str
    quote: Quote | None


@dataclass(frozen=True)
class SentenceView:
    """A sentence of a response; sentences and passages count from 1.

    Attributes:
        score: support score in [0, 1]; None if the sentence makes no claim.
        verdict: "supported", "partly supported", "unsupported" or "contradicted"; "" without a claim.
        claim: the statement that was scored in place of "yes" or "no"; otherwise "".
        about_passages: whether it says that something is missing from the passages.
        passage: the passage that supports it best.
        beside: the sentence of that passage that shares most words with it.
        reasons: why the score is low; empty if a mark or a failed check shows it.
        entailment, contradiction: None without a model.
    """

    number: int
    score: float | None
    verdict: str
    claim: str
    about_passages: bool
    stretches: tuple[Stretch, ...]
    passage: int
    beside: str
    facts: tuple[FactView, ...]
    more_facts: int
    reasons: tuple[str, ...]
    entailment: float | None
    contradiction: float | None

    @property
    def text(self) -> str:
        """Text of the sentence."""
        return "".join(part.text for part in self.stretches)

    @property
    def is_unsupported(self) -> bool:
        """Whether the sentence is unsupported or contradicted."""
        return self.verdict in {"unsupported", "contradicted"}

    @property
    def is_partly_supported(self) -> bool:
        """Whether the score of the sentence is between those of unsupported and supported sentences."""
        return self.verdict == "partly supported"

    @property
    def is_marked(self) -> bool:
        """Whether a part of the sentence is unsupported."""
        return any(part.verdict for part in self.stretches)


class UnusedPassage(NamedTuple):
    """A passage, counted from 1, that supports no sentence; the text is empty if unknown."""

    number: int
    text: str


class Part(NamedTuple):
    """What a signal (a feature of the score) adds to the log odds of the score."""

    name: str
    log_odds: float


@dataclass(frozen=True)
class EvidenceMapView:
    """An evidence map; the fields ``more_…`` count what is left out of a large one.

    ``verdict`` names the sentences that are not supported. ``unused`` support no sentence. ``signals`` add to
    the score of the response, lowest first. ``legend`` explains the signs of citation markers.
    """

    verdict: str
    sentences: tuple[SentenceView, ...]
    more_sentences: int
    unused: tuple[UnusedPassage, ...]
    more_unused: int
    signals: tuple[Part, ...]
    legend: tuple[LegendEntry, ...] = ()

    @property
    def left_out(self) -> str:
        """A sentence about what is left out; empty for a complete map."""
        shown, more = len(self.sentences), self.more_sentences
        return f"Only the first {shown} of {shown + more:,} sentences are shown." if more else ""


def evidence_map_view(
    details: Mapping[str, Any], contexts: Sequence[str], markers: Sequence[MarkerMark] = ()
) -> EvidenceMapView | None:
    """Read the evidence map from the details of a score; return None if they have none.

    Args:
        details: the details.
        contexts: all passages of the row, blank ones included.
        markers: the citation markers of the response, with their verdicts.

    >>> from sgi.metrics.grounding.evidence_map import EvidenceMap
    >>> found = EvidenceMap(signals={}, sentences=(), passages=(0, 1), unused=(1,))
    >>> evidence_map_view(found.model_dump(mode="json"), ["It rained.", "It snowed."]).unused
    (UnusedPassage(number=2, text='It snowed.'),)
    >>> evidence_map_view({"sentences": [{"text": "It rained.", "sgi": 1.5}]}, ["It rained."]) is None
    True
    """
    evidence_map = EvidenceMap.read(details)
    if evidence_map is None:
        return None
    parts = [
        Part(name, part.log_odds)
        for name, part in evidence_map.signals.items()
        if abs(part.log_odds) >= _LEAST
    ]
    return EvidenceMapView(
        verdict=_verdict(evidence_map.sentences),
        sentences=tuple(
            _sentence(number, sentence, contexts, markers)
            for number, sentence in enumerate(evidence_map.sentences[:MAX_SENTENCES], start=1)
        ),
        more_sentences=max(0, len(evidence_map.sentences) - MAX_SENTENCES),
        unused=tuple(
            UnusedPassage(place + 1, _passage(contexts, place))
            for place in evidence_map.unused[:MOST_PASSAGES]
        ),
        more_unused=max(0, len(evidence_map.unused) - MOST_PASSAGES),
        signals=tuple(sorted(parts, key=lambda part: part.log_odds)),
        legend=legend(marker.verdict for marker in markers),
    )


def other_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of a score without its evidence map."""
    return EvidenceMap.further(details)


def _verdict(sentences: Sequence[SentenceEvidence]) -> str:
    """Name the sentences with each verdict, worst first."""
    of = f"{len(sentences):,}"
    parts = []
    for verdict, words in _VERDICTS.items():
        numbers = [str(at) for at, each in enumerate(sentences, start=1) if each.verdict == verdict]
        if not numbers or verdict == "supported":
            continue
        if len(numbers) == 1:
            parts.append(f"Sentence {numbers[0]} of {of} is {words}.")
            continue
        more = len(numbers) - _NAMED
        first, last = (numbers[:-1], numbers[-1]) if more <= 0 else (numbers[:_NAMED], f"{more:,} more")
        parts.append(f"Sentences {', '.join(first)} and {last} of {of} are {words}.")
    return " ".join(parts) or "No sentence is unsupported."


def _sentence(
    number: int,
    evidence: SentenceEvidence,
    contexts: Sequence[str],
    markers: Sequence[MarkerMark],
) -> SentenceView:
    checks = list(evidence.checks)
    if len(checks) > MAX_FACTS:
        checks = sorted(checks, key=lambda check: check.verdict == "supported")[:MAX_FACTS]
    return SentenceView(
        number=number,
        score=evidence.score,
        verdict=_VERDICTS.get(evidence.verdict or "", ""),
        claim=evidence.claim,
        about_passages=evidence.about_passages,
        stretches=_stretches(evidence, markers),
        passage=evidence.passage + 1,
        beside=evidence.beside,
        facts=tuple(_fact(check, contexts) for check in checks),
        more_facts=len(evidence.checks) - len(checks),
        reasons=_reasons(evidence),
        entailment=evidence.entailment,
        contradiction=evidence.contradiction,
    )


def _reasons(evidence: SentenceEvidence) -> tuple[str, ...]:
    """Return why a score is low, by the signals that lower it most; empty if unsupported parts are marked."""
    is_marked = evidence.unbacked or any(check.verdict != "supported" for check in evidence.checks)
    if is_marked or evidence.verdict in (None, "supported"):
        return ()
    against = sorted((part, name) for name, part in evidence.contributions.items() if part <= -_LEAST)
    reasons = dict.fromkeys(SIGNAL_MEANINGS[name] for _, name in against if name in SIGNAL_MEANINGS)
    return tuple(islice(reasons, _REASONS))


def _stretches(evidence: SentenceEvidence, markers: Sequence[MarkerMark]) -> tuple[Stretch, ...]:
    """Split the sentence where marks begin and end; later kinds of marks take precedence.

    The order is: missing support, a failed check, a citation marker.
    """
    text = evidence.text
    clear, absent = Stretch("", "", ""), Stretch("", "absent", IN_NO_PASSAGE)
    mark_of_character = [clear] * len(text)
    marks = [(*span, absent) for span in evidence.unbacked]
    marks += [
        (check.start, check.end, Stretch("", check.verdict, _reason(check)))
        for check in evidence.checks
        if check.verdict != "supported"
    ]
    marks += [
        (marker.start, marker.end, Stretch("", "", marker.reason, marker.verdict))
        for marker in markers
        if text[marker.start - evidence.start : marker.end - evidence.start] == marker.text
        and marker.start >= evidence.start
    ]
    for start, end, mark in marks:
        first, last = (min(len(text), max(0, at - evidence.start)) for at in (start, end))
        mark_of_character[first:last] = [mark] * (last - first)
    stretches: list[Stretch] = []
    at = 0
    for mark, places in groupby(mark_of_character):
        part = text[at : at + len(list(places))]
        at += len(part)
        shown = mark if any(map(str.isalnum, part)) else clear  # do not mark spaces and punctuation
        core = part if shown == clear else part.strip(_AROUND)
        before, _, after = part.partition(core)
        stretches += [
            each._replace(text=piece)
            for each, piece in ((clear, before), (shown, core), (clear, after))
            if piece
        ]
    return tuple(stretches)


def _fact(check: FactEvidence, contexts: Sequence[str]) -> FactView:
    quote = _quote(check, contexts) if check.verdict == "contradicted" else None
    return FactView(check.kind, check.fact, check.verdict, _reason(check), quote)


def _reason(check: FactEvidence) -> str:
    if check.verdict == "absent":
        return IN_NO_PASSAGE
    where = "the question" if check.passage is None else f"passage {check.passage + 1}"
    rule = f" ({check.how})" if check.how else ""
    if check.verdict == "contradicted" or check.found not in {"", check.fact}:
        return f"{where} has {check.found}{rule}"
    return f"{where} has it" if check.passage is None else f"{where}{rule}"


def _quote(check: FactEvidence, contexts: Sequence[str]) -> Quote | None:
    """Return the passage text that contradicts a fact, with the text around it if the passage is known."""
    if check.passage is None:
        return None
    text, start, end = _passage(contexts, check.passage), check.found_start, check.found_end
    if start is None or end is None or not 0 <= start < end or text[start:end] != check.found:
        return Quote(check.passage + 1, "", check.found, "")
    before = _SPACES.sub(" ", text[max(0, start - _QUOTE_CONTEXT) : start])
    after = _SPACES.sub(" ", text[end : end + _QUOTE_CONTEXT])
    if start > _QUOTE_CONTEXT:
        before = f"…{before.partition(' ')[2]}"
    if end + _QUOTE_CONTEXT < len(text):
        after = f"{after.rpartition(' ')[0]}…"
    return Quote(check.passage + 1, before, check.found, after)


def _passage(contexts: Sequence[str], place: int) -> str:
    return contexts[place] if 0 <= place < len(contexts) else ""
