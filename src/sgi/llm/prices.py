"""What tokens cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.environment import setting

if TYPE_CHECKING:
    from sgi.llm.spec import JudgeSpec

_MILLION = 1_000_000
_PRICED = 1000
"""Tokens of the request whose price is looked up: far below where dearer tiers begin."""


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens.

    >>> Price(2.5, 10.0).of(1000, 100)
    0.0035
    """

    sent: float
    written: float

    def of(self, sent: float, written: float) -> float:
        """US dollars for so many tokens."""
        return (sent * self.sent + written * self.written) / _MILLION


def price_of(spec: JudgeSpec) -> Price | None:
    """What the judge's tokens cost: as the spec says, else as published for its service; None if not known.

    Published prices are those that come with ``genai-prices``, for requests of common length; nothing is
    fetched. Servers of one's own have no published price.
    """
    if spec.input_price is not None and spec.output_price is not None:
        return Price(spec.input_price, spec.output_price)
    kind, name, url = spec.named
    if url or kind == "ollama" or (kind == "openai" and setting("OPENAI_BASE_URL")):
        return None
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    try:
        known = calc_price(Usage(input_tokens=_PRICED, output_tokens=_PRICED), name, provider_id=kind)
    except LookupError:
        return None
    scale = _MILLION / _PRICED
    return Price(float(known.input_price) * scale, float(known.output_price) * scale)
