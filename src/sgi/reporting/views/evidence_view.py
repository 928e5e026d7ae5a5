"""View of an evidence map or a citation map: its sentences, what supports each of them, and what does not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.metrics.citations.citation_map import CitationMap
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.views.evidence_checks import (
    CITATION_VERDICTS,
    IN_NO_PASSAGE,
    citation_checks,
    fact_check,
    fact_reason,
    passage_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.metrics.citations.citation_map import CitationEvidence, StatementEvidence
    from sgi.metrics.grounding.evidence_map import SentenceEvidence
    from sgi.reporting.views.evidence_checks import Check

MAX_SENTENCES = 100
"""At most this many sentences of a map are shown."""

MAX_UNUSED = 40
"""At most this many passages are listed as unused."""

MAX_CHECKS = 40
"""At most this many facts of a sentence are shown; those that fail come first."""

LOW_SCORE = 0.5
"""Support scores of answers below this are shown in red."""

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

_VERDICTS = {
    "contradicted": "contradicted",
    "unsupported": "unsupported",
    "partly": "partly supported",
    "supported": "supported",
}
"""The verdicts on sentences, worst first, and the words for them."""
_CLAIMS_NOTHING = "claims nothing"
_REASONS = 2
_NAMED = 10  # maximum of low sentences in the summary
_UNREAD = 10  # maximum of markers that are not read
_LEAST = 0.005  # log odds; smaller values are shown as 0.00
_AROUND = " \t\n\r\u00a0\u202f,;:"  # not marked at the ends of a part


class Stretch(NamedTuple):
    """A part of a sentence with its verdict; a supported part without a marker has an empty one."""

    text: str
    verdict: str = ""
    reason: str = ""

    @property
    def sign(self) -> str:
        """The symbol of the verdict on a citation marker; "" for other parts."""
        return CITATION_VERDICTS.get(self.verdict, ("",))[0]


@dataclass(frozen=True)
class SentenceView:
    """A sentence of a response, counted from 1.

    Attributes:
        verdict: the words of the verdict, such as "partly supported" or "claims nothing".
        stretches: the parts of the text.
        checks: its facts, or its citations.
        more_checks: how many facts are left out.
        reasons: why the score is low; empty if a mark or a failed check shows it.
        evidence: what the evidence map has on it; None in a citation map.
    """

    number: int
    verdict: str
    stretches: tuple[Stretch, ...]
    checks: tuple[Check, ...]
    more_checks: int = 0
    reasons: tuple[str, ...] = ()
    evidence: SentenceEvidence | None = None

    @property
    def text(self) -> str:
        """Text of the sentence."""
        return "".join(part.text for part in self.stretches)

    @property
    def is_unsupported(self) -> bool:
        """Whether the sentence is unsupported or contradicted."""
        return self.verdict in {"unsupported", "contradicted", "not supported", "not cited"}

    @property
    def is_partly_supported(self) -> bool:
        """Whether the score is between the thresholds of unsupported and of supported sentences."""
        return self.verdict == "partly supported"

    @property
    def is_marked(self) -> bool:
        """Whether a part of the sentence is unsupported."""
        return any(part.verdict and not part.sign for part in self.stretches)

    @property
    def entailment(self) -> str:
        """The result of an entailment model for the sentence; "" without one."""
        evidence = self.evidence
        if evidence is None or evidence.entailment is None:
            return ""
        against = "" if evidence.contradiction is None else f", contradicted {evidence.contradiction:.2f}"
        return f"entailed {evidence.entailment:.2f}{against}"


@dataclass(frozen=True)
class MapView:
    """An evidence map or a citation map.

    Attributes:
        summary: which sentences are not supported; in a citation map, how many are, and right citations.
        sentences: the sentences.
        left_out: a note on sentences that are left out; "" for a complete map.
        legend: verdict, sign and meaning of the citation markers that occur.
        is_of_citations: whether it is a citation map, in which the following fields are empty.
        unused: number, from 1, and text of the passages that support no sentence.
        more_unused: how many of them are left out.
        signals: what each signal adds to the log odds of the score of the response, lowest first.
    """

    summary: str
    sentences: tuple[SentenceView, ...]
    left_out: str
    legend: tuple[tuple[str, str, str], ...]
    is_of_citations: bool = False
    unused: tuple[tuple[int, str], ...] = ()
    more_unused: int = 0
    signals: tuple[tuple[str, float], ...] = ()


class ScoreMap(NamedTuple):
    """The evidence map or citation map of a score, None if it has none, and its other details."""

    view: MapView | None
    further: dict[str, Any]


def score_maps(details: Mapping[str, Mapping[str, Any]], contexts: Sequence[str]) -> dict[str, ScoreMap]:
    """Return the maps in the details of the scores of a row, by score.

    Recall and precision of citations with the same settings have the same map: only the first shows it.

    Args:
        details: the details of each score.
        contexts: all passages of the row, blank ones included.

    >>> score_maps({"grounding": {"sentences": [{"text": "It rained."}]}}, ["It rained."])["grounding"]
    ScoreMap(view=None, further={'sentences': [{'text': 'It rained.'}]})
    """
    citations = {name: CitationMap.read(body) for name, body in details.items()}
    first = next(filter(None, citations.values()), None)
    shown_with: dict[CitationMap, str] = {}
    maps = {}
    for name, body in details.items():
        evidence, cited = EvidenceMap.read(body), citations[name]
        if evidence is not None:
            maps[name] = ScoreMap(evidence_view(evidence, contexts, first), EvidenceMap.further(body))
        elif cited is None:
            maps[name] = ScoreMap(None, dict(body))
        elif (other := shown_with.setdefault(cited, name)) == name:
            maps[name] = ScoreMap(citation_view(cited), CitationMap.further(body))
        else:
            further = {"citations": f"shown with {other}", **CitationMap.further(body)}
            maps[name] = ScoreMap(None, further)
    return maps


def evidence_view(
    found: EvidenceMap, contexts: Sequence[str], citations: CitationMap | None = None
) -> MapView:
    """Return the view of an evidence map, with the verdicts on the citation markers of the response.

    >>> found = EvidenceMap(signals={}, sentences=(), passages=(0, 1), unused=(1,))
    >>> evidence_view(found, ["It rained.", "It snowed."]).unused
    ((2, 'It snowed.'),)
    """
    markers = [] if citations is None else [each for each in citations.citations if each.text]
    parts = [(name, part.log_odds) for name, part in found.signals.items() if abs(part.log_odds) >= _LEAST]
    return MapView(
        summary=_evidence_summary(found.sentences),
        sentences=tuple(
            _sentence(number, sentence, contexts, markers)
            for number, sentence in enumerate(found.sentences[:MAX_SENTENCES], start=1)
        ),
        left_out=_left_out(len(found.sentences)),
        legend=_legend(marker.verdict for marker in markers),
        unused=tuple((place + 1, passage_text(contexts, place)) for place in found.unused[:MAX_UNUSED]),
        more_unused=max(0, len(found.unused) - MAX_UNUSED),
        signals=tuple(sorted(parts, key=lambda part: part[1])),
    )


def citation_view(found: CitationMap) -> MapView:
    """Return the view of a citation map."""
    checks: dict[int, list[Check]] = {}
    for citation in found.citations:
        for number in citation.statements:
            checks.setdefault(number, []).extend(citation_checks(citation))
    return MapView(
        summary=_citation_summary(found),
        sentences=tuple(
            _statement(number, statement, checks.get(number, ()))
            for number, statement in enumerate(found.statements[:MAX_SENTENCES])
        ),
        left_out=_left_out(len(found.statements)),
        legend=_legend(passage.verdict for each in found.citations for passage in each.passages),
        is_of_citations=True,
    )


def _left_out(total: int) -> str:
    return (
        f"Only the first {MAX_SENTENCES} of {total:,} sentences are shown." if total > MAX_SENTENCES else ""
    )


def _legend(verdicts: Iterable[str]) -> tuple[tuple[str, str, str], ...]:
    occurring = set(verdicts)
    return tuple((each, *about) for each, about in CITATION_VERDICTS.items() if each in occurring)


def _evidence_summary(sentences: Sequence[SentenceEvidence]) -> str:
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


def _citation_summary(found: CitationMap) -> str:
    counted = [statement.supported for statement in found.statements if statement.supported is not None]
    verdicts = [passage.verdict for citation in found.citations for passage in citation.passages]
    checked = len(verdicts) - verdicts.count("unchecked")
    statements = _share(counted.count(True), len(counted), "statement", "supported by the passages cited")
    right = _share(verdicts.count("right"), checked, "citation", "right")
    return " ".join([statements, right if checked else "No citation was checked.", *_unread(found.unread)])


def _unread(texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    what = "1 marker was" if len(texts) == 1 else f"{len(texts):,} markers were"
    listed = ", ".join([*texts[:_UNREAD], *(["…"] if len(texts) > _UNREAD else [])])
    return [f"{what} not read, because numbers after years can be exponents: {listed}."]


def _share(count: int, total: int, noun: str, state: str) -> str:
    plural = "" if total == 1 else "s"
    return f"{count:,} of {total:,} {noun}{plural} {'is' if 1 in {count, total} else 'are'} {state}."


def _sentence(
    number: int, evidence: SentenceEvidence, contexts: Sequence[str], markers: Sequence[CitationEvidence]
) -> SentenceView:
    checks = list(evidence.checks)
    if len(checks) > MAX_CHECKS:
        checks = sorted(checks, key=lambda check: check.verdict == "supported")[:MAX_CHECKS]
    nothing = "says that something is not in the passages" if evidence.about_passages else _CLAIMS_NOTHING
    return SentenceView(
        number=number,
        verdict=_VERDICTS.get(evidence.verdict or "", nothing),
        stretches=_stretches(evidence, markers),
        checks=tuple(fact_check(check, contexts) for check in checks),
        more_checks=len(evidence.checks) - len(checks),
        reasons=_reasons(evidence),
        evidence=evidence,
    )


def _statement(number: int, statement: StatementEvidence, checks: Sequence[Check]) -> SentenceView:
    if statement.supported is None:
        verdict = _CLAIMS_NOTHING
    elif statement.supported:
        verdict = "supported"
    else:
        verdict = "not supported" if checks else "not cited"
    return SentenceView(number + 1, verdict, (Stretch(statement.text),), tuple(checks))


def _reasons(evidence: SentenceEvidence) -> tuple[str, ...]:
    """Return why a score is low, by the signals that lower it most; empty if unsupported parts are marked."""
    is_marked = evidence.unbacked or any(check.verdict != "supported" for check in evidence.checks)
    if is_marked or evidence.verdict in (None, "supported"):
        return ()
    against = sorted((part, name) for name, part in evidence.contributions.items() if part <= -_LEAST)
    reasons = dict.fromkeys(SIGNAL_MEANINGS[name] for _, name in against if name in SIGNAL_MEANINGS)
    return tuple(islice(reasons, _REASONS))


def _stretches(evidence: SentenceEvidence, markers: Sequence[CitationEvidence]) -> tuple[Stretch, ...]:
    """Split the sentence where marks begin and end; later kinds of marks take precedence.

    The order is: missing support, a failed check, a citation marker.
    """
    text, clear = evidence.text, Stretch("")
    marks = [(*span, Stretch("", "absent", IN_NO_PASSAGE)) for span in evidence.unbacked]
    marks += [
        (check.start, check.end, Stretch("", check.verdict, fact_reason(check)))
        for check in evidence.checks
        if check.verdict != "supported"
    ]
    for marker in markers:
        if marker.start is None or marker.end is None or marker.start < evidence.start:
            continue
        if text[marker.start - evidence.start : marker.end - evidence.start] == marker.text:
            reason = "; ".join(check.reason for check in citation_checks(marker))
            marks.append((marker.start, marker.end, Stretch("", marker.verdict, reason)))
    mark_of_character = [clear] * len(text)
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
        pieces = (clear._replace(text=before), shown._replace(text=core), clear._replace(text=after))
        stretches += [piece for piece in pieces if piece.text]
    return tuple(stretches)
