"""Evidence maps with chosen values, as details of a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.metrics.grounding.evidence_map import EvidenceMap, FactEvidence, SentenceEvidence, SignalPart
from sgi.reporting.views.evidence_view import evidence_view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.reporting.views.evidence_view import MapView

LIMIT = 0.5
TALL = "It is 312 m tall. "
SOLD = "It was sold to Spanish investors. "
OPENED = "It opened in 1889."
RESPONSE = TALL + SOLD + OPENED
_TOWER = (
    "The tower of iron stands in the middle of the city of Paris, beside the river that the city has its name"
    " of. The tower is 330 m tall. It opened in 1889, which was a hundred years after the great revolution."
)
CONTEXTS = ("Bananas are yellow.", "", _TOWER)
"""The second is blank."""


def fact(text: str, **parts: Any) -> FactEvidence:
    """A name in the response that no passage contains, with these changes."""
    start = RESPONSE.find(text)
    given = {"kind": "name", "start": start, "end": start + len(text), "verdict": "absent", "passage": None}
    found = {"found": "", "found_start": None, "found_end": None, "how": ""}
    return FactEvidence(fact=text, **{**given, **found, **parts})


def number_fact(text: str, found: str, **parts: Any) -> FactEvidence:
    """A number in the response, and the text ``found`` in the third passage."""
    start = CONTEXTS[2].find(found)
    where = {"passage": 2, "found": found, "found_start": start, "found_end": start + len(found)}
    return fact(text, **{"kind": "number", **where, **parts})


def sentence(text: str, **parts: Any) -> SentenceEvidence:
    """A supported sentence of the response, with these changes; a score below 0.5 makes it unsupported."""
    start = RESPONSE.find(text)
    given = {"text": text.strip(), "start": start, "end": start + len(text.strip())}
    found = {"score": 0.99, "about_passages": False, "passage": 2, "beside": "The tower is 330 m tall."}
    rest: dict[str, Any] = {"contributions": {}, "unbacked": (), "checks": ()}
    values = {**given, **found, **rest, **parts}
    is_contradicted = any(check.verdict == "contradicted" for check in values["checks"])
    if values["score"] is not None:
        below = "contradicted" if is_contradicted else "unsupported"
        values.setdefault("verdict", below if values["score"] < LIMIT else "supported")
    return SentenceEvidence(**values)


def evidence_map(**parts: Any) -> EvidenceMap:
    """The map of a response with a contradicted number, an unsupported stretch, and a correct date."""
    other = number_fact("312 m", "330 m", verdict="contradicted", how="other value")
    right = number_fact("1889", "1889", kind="date", verdict="supported", how="equal")
    given: dict[str, Any] = {
        "signals": {
            "known": SignalPart(value=0.5, log_odds=0.25),
            "numbers": SignalPart(value=-1.0, log_odds=-2.08),
            "names": SignalPart(value=None, log_odds=-0.0),
        },
        "sentences": (
            sentence(TALL, score=0.11, unbacked=((6, 11),), checks=(other,)),
            sentence(SOLD, score=0.02, unbacked=((25, 50),), checks=(fact("Spanish"),)),
            sentence(OPENED, checks=(right,)),
        ),
        "passages": (0, 2),
        "unused": (0,),
    }
    return EvidenceMap(**{**given, **parts})


def details(**parts: Any) -> dict[str, Any]:
    """The same map as stored details."""
    return evidence_map(**parts).model_dump(mode="json")


def view_of(body: Mapping[str, Any], contexts: Sequence[str] = CONTEXTS) -> MapView:
    """The view of the map in stored details."""
    found = EvidenceMap.read(body)
    assert found is not None
    return evidence_view(found, contexts)


def hostile_details(text: str) -> dict[str, Any]:
    """Details of a map that contains only this text, and offsets out of range."""
    other = fact(text, start=-5, end=10**30, verdict="contradicted", passage=0, found=text, how=text)
    bad = sentence(
        text,
        start=0,
        end=len(text),
        score=0.1,
        beside=text,
        passage=7,
        checks=(other, fact(text, start=3, end=9)),
        unbacked=((-3, 4), (9, 2), (len(text), 10**30)),
    )
    return details(
        signals={text: SignalPart(value=1.0, log_odds=1.0)},
        sentences=(bad,),
        unused=(0, 99, -4),
        passages=(5, 0, -1),
    )
