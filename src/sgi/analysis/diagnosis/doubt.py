"""Computes how much a person should read a row without a cause, from its response and passages alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.analysis.diagnosis.diagnosis_signals import Signal
    from sgi.analysis.diagnosis.spans import Span

SIGNALS_OF_DOUBT = (
    "invalid_citations",
    "contradicted_facts",
    "wrong_citations",
    "refusal",
    "unsupported_sentences",
    "grounding",
)
"""The signals that `find_doubt` reads, if the decision table has them."""

_WRONG_CITATION = 0.9
_REFUSAL = 0.5


class Doubt(NamedTuple):
    """A reason why a person should read a row that has no cause.

    Attributes:
        value: from 0 to 1; 1 for the rows to read first.
        finding: what was found.
        spans: the parts of the row that it is about.
    """

    value: float
    finding: str
    spans: tuple[Span, ...] = ()


def find_doubt(signals: Mapping[str, Signal]) -> Doubt | None:
    """Return the strongest reason to read a row; None if none of its signals is known."""
    known = {name: signals[name] for name in SIGNALS_OF_DOUBT if name in signals}
    for name, value, finding in (
        ("invalid_citations", 1.0, "a citation names a passage that does not exist"),
        ("contradicted_facts", 1.0, "a passage has another value or name: read it"),
        ("wrong_citations", _WRONG_CITATION, "a cited passage may not support its statement: read it"),
        ("refusal", _REFUSAL, "the response refuses; the passages may have the answer"),
    ):
        if name in known and known[name].value:
            return Doubt(value, finding, known[name].spans)
    grounding = known.get("grounding")
    if grounding is None or grounding.value is None:
        return None
    unsupported = known.get("unsupported_sentences")
    spans = unsupported.spans if unsupported else ()
    finding = "may be unsupported: read it" if spans else "no error was found"
    return Doubt(1 - float(grounding.value), f"{finding} (grounding {grounding.text})", spans)
